package report

import (
	"fmt"
	"slices"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/table"
)

// Markdown returns the table for a pull request: a title, the settings that all
// experiments share, the table, the failures with their reasons, and the notes.
func Markdown(t table.Table) []byte {
	all := lines(t)
	var notes footnotes
	columns := markdownColumns(t, all, &notes)
	var out strings.Builder
	fmt.Fprintf(&out, "## Fine-tuning benchmarks\n\n%s.\n\n", summary(t))
	writeCaption(&out, t, all)
	if len(all) > 0 {
		for i := -2; i < len(all); i++ {
			out.WriteString(markdownLine(columns, i) + "\n")
		}
		out.WriteString("\n")
	}
	writeFailures(&out, all)
	writeLedgers(&out, all)
	if len(notes.texts) > 0 {
		out.WriteString("### Notes\n\n")
		for i, note := range notes.texts {
			fmt.Fprintf(&out, "%d. %s\n", i+1, code(note))
		}
		out.WriteString("\n")
	}
	return []byte(strings.TrimRight(out.String(), "\n") + "\n")
}

// writeCaption tells what is the same for all rows, so that the table need not.
func writeCaption(out *strings.Builder, t table.Table, all []line) {
	if names := deviceNames(all); names != "" {
		fmt.Fprintf(out, "On %s.\n", escape(names))
	}
	rows := described(t)
	same := constants(rows)
	var everywhere, somewhere []string
	for _, name := range otherSettings(t, rows) {
		values := distinct(name, rows)
		if len(values) != 1 || name == memory.DeviceName {
			continue
		}
		text := code(plain(name + " " + spelled(values[0])))
		if _, all := same[name]; all {
			everywhere = append(everywhere, text)
			continue
		}
		somewhere = append(somewhere, text)
	}
	writeList(out, "The same for all", everywhere)
	writeList(out, "The same wherever it is set", somewhere)
	if text, _ := legend(all); text != "" {
		fmt.Fprintf(out, "%s; batch: per device.\n", strings.ToUpper(text[:1])+text[1:])
	}
	if text := marks(all); text != "" {
		fmt.Fprintf(out, "Before a figure: %s.\n", escape(text))
	}
	out.WriteString("\n")
}

func writeList(out *strings.Builder, title string, items []string) {
	if len(items) > 0 {
		fmt.Fprintf(out, "%s: %s.\n", title, strings.Join(items, ", "))
	}
}

// spelled shows a value whose line ends or blanks would be lost as a quoted text.
func spelled(value string) string {
	if value != plain(value) {
		return fmt.Sprintf("%q", value)
	}
	return value
}

// described returns the rows whose settings are known.
func described(t table.Table) []table.Row {
	var rows []table.Row
	for _, r := range t.Rows {
		if _, known := r.Cell("framework_config"); known {
			rows = append(rows, r)
		}
	}
	return rows
}

// shownSettings are the settings that have columns of their own.
func shownSettings() []string {
	return []string{"model_name_or_path", "peft_method", "framework_config", "per_device_train_batch_size", "num_gpus", "output_dir"}
}

// markdownColumns are those of the terminal, and one for each other setting that
// differs between the rows.
func markdownColumns(t table.Table, all []line, notes *footnotes) []column {
	_, letters := legend(all)
	columns := []column{
		{header: "experiment"}, {header: "model"}, {header: "method"}, {header: "batch", right: true}, {header: "GPUs", right: true},
		{header: "status"}, {header: "memory (GiB)", right: true}, {header: "largest device", right: true}, {header: "tokens/s", right: true}, {header: "loss", right: true},
	}
	for _, l := range all {
		cells := []string{l.experiment, l.model, l.method, l.batch, l.gpus, l.status, withLetter(l, letters), orDash(l.largest), l.speed, l.loss}
		for i, cell := range cells {
			columns[i].cells = append(columns[i].cells, escape(cell))
		}
	}
	if !slices.ContainsFunc(all, func(l line) bool { return l.largest != "" }) {
		const at = 7
		columns = slices.Delete(columns, at, at+1)
	}
	rows := described(t)
	for _, name := range otherSettings(t, rows) {
		if len(distinct(name, rows)) < 2 {
			continue
		}
		c := column{header: escape(plain(name))}
		for _, l := range all {
			c.cells = append(c.cells, escape(orDash(l.row.Text(name))))
		}
		columns = append(columns, c)
	}
	note := column{header: "note", right: true}
	for _, l := range all {
		note.cells = append(note.cells, notes.mark(l.doubts()))
	}
	if len(notes.texts) > 0 {
		columns = append(columns, note)
	}
	return columns
}

// otherSettings returns the settings that have no column of their own, by name.
func otherSettings(t table.Table, rows []table.Row) []string {
	var names []string
	for _, name := range t.Columns() {
		kind, present := kindOf(name, rows)
		if present && kind == table.Setting && !slices.Contains(shownSettings(), name) {
			names = append(names, name)
		}
	}
	return names
}

// distinct returns the values of a setting, each once, as far as it is set.
func distinct(name string, rows []table.Row) []string {
	var values []string
	for _, r := range rows {
		if v := r.Text(name); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// markdownLine is the line of one experiment, the header for -2, the rule for -1.
func markdownLine(columns []column, i int) string {
	parts := make([]string, len(columns))
	for k, c := range columns {
		switch width := max(c.width(), 3); {
		case i == -2:
			parts[k] = pad(c.header, width, c.right)
		case i == -1 && c.right:
			parts[k] = strings.Repeat("-", width-1) + ":"
		case i == -1:
			parts[k] = strings.Repeat("-", width)
		default:
			parts[k] = pad(c.cells[i], width, c.right)
		}
	}
	return "| " + strings.Join(parts, " | ") + " |"
}

func writeFailures(out *strings.Builder, all []line) {
	first := true
	for _, l := range all {
		reason := l.reason()
		if reason == "" {
			continue
		}
		if first {
			out.WriteString("### Not ended ok\n\n")
			first = false
		}
		fmt.Fprintf(out, "- %s, %s: %s\n", escape(l.experiment), escape(l.status), code(reason))
	}
	if !first {
		out.WriteString("\n")
	}
}
