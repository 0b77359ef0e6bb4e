package report

import (
	"fmt"
	"slices"
	"strings"

	"tunebench/internal/table"
	"tunebench/internal/view"
)

// Markdown returns the table for a pull request: a title, the settings that all
// experiments share, the table, the failures with their reasons, and the notes.
func Markdown(t table.Table, o Options) []byte {
	all := lines(t, o.Unit)
	var notes footnotes
	settings := varying(t, o)
	columns := markdownColumns(all, settings, &notes, o)
	var out strings.Builder
	fmt.Fprintf(&out, "## Fine-tuning benchmarks\n\n%s.\n\n", view.Summary(t))
	writeCaption(&out, t, all, settings, o)
	if len(all) > 0 {
		g := newGrid(columns, leastMarkdown)
		for i := -2; i < len(all); i++ {
			out.WriteString(g.markdownLine(i) + "\n")
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
func writeCaption(out *strings.Builder, t table.Table, all []line, shown []string, o Options) {
	if names := deviceNames(all); names != "" {
		fmt.Fprintf(out, "On %s.\n", escape(names))
	}
	var everywhere, somewhere []string
	for _, s := range view.Settings(t) {
		set := s.Set()
		if len(set) != 1 || slices.Contains(shown, s.Name) || view.Matches(s.Name, o.Drop) {
			continue
		}
		switch text := code(plain(s.Name + " " + spelled(set[0]))); {
		case s.Varies():
			somewhere = append(somewhere, text)
		default:
			everywhere = append(everywhere, text)
		}
	}
	writeList(out, "The same for all", everywhere)
	writeList(out, "The same wherever it is set", somewhere)
	if text, _ := legend(all, o.Unit); text != "" {
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

// markdownColumns are those of the terminal, and one for each other setting that
// differs between the rows.
func markdownColumns(all []line, settings []string, notes *footnotes, o Options) []column {
	_, letters := legend(all, o.Unit)
	var columns []column
	for _, s := range visibleSpecs(specs(settings, o.Unit, letters), all, o) {
		c := column{header: escape(s.long), right: s.right}
		for _, l := range all {
			c.cells = append(c.cells, escape(s.cell(l)))
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
