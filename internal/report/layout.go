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

// fit returns the gap with which the columns fit into the width. Where even the narrow
// gap does not do, it shortens the widest of the columns of free text, one place at a
// time, until the line fits or nothing more can be taken.
func fit(columns []column, width int) (gap int) {
	total := 0
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = c.width()
		total += widths[i]
	}
	if total+wideGap*(len(columns)-1) <= width {
		return wideGap
	}
	excess := total + narrowGap*(len(columns)-1) - width
	for at := widest(columns, widths); excess > 0 && at >= 0; at = widest(columns, widths) {
		widths[at]--
		excess--
	}
	for i := range columns {
		columns[i].header = shorten(columns[i].header, widths[i])
		for k, cell := range columns[i].cells {
			columns[i].cells[k] = shorten(cell, widths[i])
		}
	}
	return narrowGap
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
func textLine(columns []column, i, gap int) string {
	parts := make([]string, len(columns))
	for k, c := range columns {
		cell := c.header
		if i >= 0 {
			cell = c.cells[i]
		}
		parts[k] = pad(cell, c.width(), c.right)
	}
	return strings.TrimRight(strings.Join(parts, strings.Repeat(" ", gap)), " ")
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
