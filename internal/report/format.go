package report

import (
	"math"
	"strconv"
	"strings"
)

// dash stands where there is no value; a note says why.
const dash = "-"

func speed(n float64) string {
	switch abs := math.Abs(n); {
	case abs >= 100:
		return strconv.FormatFloat(n, 'f', 0, 64)
	case abs >= 10:
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

func loss(n float64) string {
	if abs := math.Abs(n); abs >= 1000 || n != 0 && abs < 0.001 {
		return strconv.FormatFloat(n, 'g', 4, 64)
	}
	return strconv.FormatFloat(n, 'f', 4, 64)
}

func orDash(text string) string {
	if text == "" {
		return dash
	}
	return plain(text)
}

// plain makes one line of printable text, so that what a trainer printed cannot move
// a cursor or break a table.
func plain(text string) string {
	printable := strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, valid(text))
	return strings.Join(strings.Fields(printable), " ")
}
