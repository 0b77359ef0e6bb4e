package page

import (
	"regexp"
	"strconv"
	"strings"
)

// Bounds of what is shown of a log.
const (
	tailLines = 30
	tailRunes = 4000
)

// escapes are the sequences that steer a terminal.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`)

// tail returns the last lines of a log as text. Of a line that was written over again and
// again, as a progress bar is, the last state stands.
func tail(text string, cut bool) string {
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	lines := strings.Split(strings.TrimRight(text, "\r\n \t"), "\n")
	if cut && len(lines) > 1 {
		lines = lines[1:]
	}
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		line = strings.TrimRight(line, "\r ")
		lines[i] = printable(line[strings.LastIndexByte(line, '\r')+1:])
	}
	runes := []rune(strings.Join(lines, "\n"))
	if len(runes) > tailRunes {
		return "..." + string(runes[len(runes)-tailRunes:])
	}
	return string(runes)
}

// printable replaces what is no visible text, such as marks that turn the direction of
// writing, and keeps the tabs.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || strconv.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, line)
}
