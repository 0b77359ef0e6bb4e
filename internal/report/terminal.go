package report

import (
	"fmt"
	"io"
	"path"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/table"
	"tunebench/internal/view"
)

// Terminal writes the table for people, no line wider than width columns where the
// figures allow it. Names that are too long lose their middle.
func Terminal(w io.Writer, t table.Table, width int, o Options) error {
	all := lines(t, o.Unit)
	settings := telling(t, o)
	var notes footnotes
	columns := terminalColumns(all, settings, &notes, o, true)
	if newGrid(columns, 0).total(narrowGap) > width {
		notes = footnotes{}
		columns = terminalColumns(all, settings, &notes, o, false)
	}
	g := fit(columns, width)
	var out strings.Builder
	for i := -1; i < len(all); i++ {
		out.WriteString(g.textLine(i) + "\n")
	}
	out.WriteString("\n")
	writeWrapped(&out, view.Summary(t), "", width)
	if names := deviceNames(all); names != "" {
		writeWrapped(&out, "on "+names, "", width)
	}
	if text, _ := legend(all, o.Unit); text != "" {
		writeWrapped(&out, text, "", width)
	}
	if text := marks(all); text != "" {
		writeWrapped(&out, text, "", width)
	}
	writeNotes(&out, notes.texts, width)
	_, err := io.WriteString(w, out.String())
	return err
}

// maxTerminalNotes is how many notes stand below a table before they would push it out of
// sight. The files have all.
const maxTerminalNotes = 16

func writeNotes(out *strings.Builder, notes []string, width int) {
	room := len(notes)
	if room > maxTerminalNotes+1 {
		room = maxTerminalNotes
	}
	for i, note := range notes[:room] {
		mark := fmt.Sprintf("[%d] ", i+1)
		writeWrapped(out, mark+note, strings.Repeat(" ", len(mark)), width)
	}
	if room < len(notes) {
		writeWrapped(out, fmt.Sprintf("[%d] to [%d]: see %s or the column notes of %s", maxTerminalNotes+1, len(notes), MarkdownFile, RawSummaryFile), "", width)
	}
}

// terminalColumns makes the columns. The largest device of each experiment has one of its
// own where there is room for it, and else a note where it says more than the mean.
func terminalColumns(all []line, settings []string, notes *footnotes, o Options, wide bool) []column {
	_, letters := legend(all, o.Unit)
	models := shortModels(all)
	var columns []column
	for _, s := range visibleSpecs(specs(settings, o.Unit, letters), all, o) {
		if s.name == memory.NvidiaMax && !wide {
			continue
		}
		c := column{header: s.short, right: s.right, least: s.least}
		for _, l := range all {
			l.model = models[l.model]
			c.cells = append(c.cells, s.cell(l))
		}
		columns = append(columns, c)
	}
	note, marked := column{header: "note"}, false
	for _, l := range all {
		texts := l.everything()
		if !wide && l.unequal != "" {
			texts = append([]string{l.unequal}, texts...)
		}
		mark := notes.mark(texts)
		marked = marked || mark != ""
		note.cells = append(note.cells, bracketed(mark))
	}
	if marked {
		columns = append(columns, note)
	}
	return columns
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

func bracketed(mark string) string {
	if mark == "" {
		return ""
	}
	return "[" + mark + "]"
}
