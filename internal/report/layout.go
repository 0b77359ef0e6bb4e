package report

import (
	"strings"
	"unicode/utf8"
)

// The blanks between two columns: many where there is room, few where there is not.
const (
	wideGap   = 2
	narrowGap = 1
)

// leastMarkdown is the least width of a column that Markdown takes for one.
const leastMarkdown = 3

// column is one column of a table for people.
type column struct {
	header string
	right  bool // aligned at its right end, as numbers are
	least  int  // the width to which it may be shortened; 0: never
	cells  []string
}

func (c column) width() int {
	width := utf8.RuneCountInString(c.header)
	for _, cell := range c.cells {
		width = max(width, utf8.RuneCountInString(cell))
	}
	return width
}

// grid is columns with the widths that they are given, measured once: a table may be long.
type grid struct {
	columns []column
	widths  []int
	gap     int
}

// newGrid gives each column the width of its widest cell, at least as much as least.
func newGrid(columns []column, least int) grid {
	g := grid{columns: columns, widths: make([]int, len(columns)), gap: wideGap}
	for i, c := range columns {
		g.widths[i] = max(c.width(), least)
	}
	return g
}

// total is the width of a line with that gap.
func (g grid) total(gap int) int {
	total := gap * (len(g.columns) - 1)
	for _, w := range g.widths {
		total += w
	}
	return total
}

// fit makes a grid that fits into the width. Where even the narrow gap does not do, it
// shortens the widest of the columns of free text, one place at a time, until the line
// fits or nothing more can be taken.
func fit(columns []column, width int) grid {
	g := newGrid(columns, 0)
	if g.total(wideGap) <= width {
		return g
	}
	g.gap = narrowGap
	excess := g.total(narrowGap) - width
	for at := widest(columns, g.widths); excess > 0 && at >= 0; at = widest(columns, g.widths) {
		g.widths[at]--
		excess--
	}
	for i := range columns {
		columns[i].header = shorten(columns[i].header, g.widths[i])
		for k, cell := range columns[i].cells {
			columns[i].cells[k] = shorten(cell, g.widths[i])
		}
	}
	return g
}

// widest returns which column to shorten next, or -1.
func widest(columns []column, widths []int) int {
	at := -1
	for i, c := range columns {
		if c.least > 0 && widths[i] > c.least && (at < 0 || widths[i] > widths[at]) {
			at = i
		}
	}
	return at
}

// shorten takes runes out of the middle of the text: both ends of a model's name say
// more than what is between them.
func shorten(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	const mark = ".."
	keep := width - len(mark)
	if keep < 2 {
		return string(runes[:max(width, 0)])
	}
	head := keep / 2
	return string(runes[:head]) + mark + string(runes[len(runes)-(keep-head):])
}

// textLine is the line of one experiment, or the header for -1.
func (g grid) textLine(i int) string {
	parts := make([]string, len(g.columns))
	for k, c := range g.columns {
		cell := c.header
		if i >= 0 {
			cell = c.cells[i]
		}
		parts[k] = pad(cell, g.widths[k], c.right)
	}
	return strings.TrimRight(strings.Join(parts, strings.Repeat(" ", g.gap)), " ")
}

// markdownLine is the line of one experiment, the header for -2, the rule for -1.
func (g grid) markdownLine(i int) string {
	parts := make([]string, len(g.columns))
	for k, c := range g.columns {
		switch width := g.widths[k]; {
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

func pad(text string, width int, right bool) string {
	blank := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	if right {
		return blank + text
	}
	return text + blank
}

// writeWrapped writes the text in lines of at most width, all but the first indented.
func writeWrapped(out *strings.Builder, text, indent string, width int) {
	rest := []rune(text)
	for first := true; ; first = false {
		room := width
		if !first {
			out.WriteString(indent)
			room -= len(indent)
		}
		room = max(room, 1)
		if len(rest) <= room {
			out.WriteString(string(rest) + "\n")
			return
		}
		end := lastBlank(rest[:room+1])
		out.WriteString(strings.TrimRight(string(rest[:end]), " ") + "\n")
		rest = []rune(strings.TrimLeft(string(rest[end:]), " "))
	}
}

// lastBlank returns where the last word that fits ends, or the whole room where one
// word fills it.
func lastBlank(runes []rune) int {
	for i := len(runes) - 1; i > 0; i-- {
		if runes[i] == ' ' {
			return i
		}
	}
	return len(runes) - 1
}
