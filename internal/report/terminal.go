package report

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"tunebench/internal/table"
)

// The least width to which the columns of free text are shortened.
const (
	minModel  = 8
	minMethod = 8
	minWord   = 6
)

// Terminal writes the table for people, no line wider than width columns where the
// figures allow it. Names that are too long lose their middle.
func Terminal(w io.Writer, t table.Table, width int) error {
	all := lines(t)
	var notes footnotes
	columns := terminalColumns(all, &notes, true)
	if natural(columns) > width {
		notes = footnotes{}
		columns = terminalColumns(all, &notes, false)
	}
	gap := fit(columns, width)
	var out strings.Builder
	for i := -1; i < len(all); i++ {
		out.WriteString(textLine(columns, i, gap) + "\n")
	}
	out.WriteString("\n")
	writeWrapped(&out, summary(t), "", width)
	if names := deviceNames(all); names != "" {
		writeWrapped(&out, "on "+names, "", width)
	}
	if text, _ := legend(all); text != "" {
		writeWrapped(&out, text, "", width)
	}
	if text := marks(all); text != "" {
		writeWrapped(&out, text, "", width)
	}
	for i, note := range notes.texts {
		mark := fmt.Sprintf("[%d] ", i+1)
		writeWrapped(&out, mark+note, strings.Repeat(" ", len(mark)), width)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// terminalColumns makes the columns. The largest device of each experiment has one of its
// own where there is room for it, and else a note where it says more than the mean.
func terminalColumns(all []line, notes *footnotes, wide bool) []column {
	_, letters := legend(all)
	columns := []column{
		{header: "exp", least: minWord}, {header: "model", least: minModel}, {header: "method", least: minMethod},
		{header: "batch", right: true}, {header: "gpus", right: true}, {header: "status", least: minWord},
		{header: "GiB", right: true}, {header: "max@device", right: true}, {header: "tok/s", right: true}, {header: "loss", right: true}, {header: "note"},
	}
	marked, several, models := false, false, shortModels(all)
	for _, l := range all {
		texts := l.everything()
		if text := l.unequal(); !wide && text != "" {
			texts = append([]string{text}, texts...)
		}
		mark := notes.mark(texts)
		marked, several = marked || mark != "", several || l.largest != ""
		cells := []string{l.experiment, models[l.model], l.method, l.batch, l.gpus, l.status,
			withLetter(l, letters), orDash(l.largest), l.speed, l.loss, bracketed(mark)}
		for i, cell := range cells {
			columns[i].cells = append(columns[i].cells, cell)
		}
	}
	if !marked {
		columns = columns[:len(columns)-1]
	}
	if !several || !wide {
		const at = 7
		columns = slices.Delete(columns, at, at+1)
	}
	return columns
}

// natural is the width of the columns with nothing shortened.
func natural(columns []column) int {
	total := narrowGap * (len(columns) - 1)
	for _, c := range columns {
		total += c.width()
	}
	return total
}

// shortModels maps models to the names without their owner or folder, as far as those
// still tell them apart.
func shortModels(all []line) map[string]string {
	users := make(map[string]string)
	short := make(map[string]string)
	for _, l := range all {
		if _, known := short[l.model]; known {
			continue
		}
		base := path.Base(l.model)
		if other, taken := users[base]; taken {
			short[l.model], short[other] = l.model, other
			continue
		}
		users[base] = l.model
		short[l.model] = base
	}
	return short
}

func withLetter(l line, letters map[string]string) string {
	if letter := letters[l.source]; letter != "" {
		return l.memory + " " + letter
	}
	return l.memory
}

func bracketed(mark string) string {
	if mark == "" {
		return ""
	}
	return "[" + mark + "]"
}
