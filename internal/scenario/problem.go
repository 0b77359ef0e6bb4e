package scenario

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agext/levenshtein"
)

// Position is a place in a file. Lines and columns count from 1.
type Position struct {
	File         string
	Line, Column int
}

// Problem returns a problem at this place.
func (p Position) Problem(format string, args ...any) Problem {
	return Problem{File: p.File, Line: p.Line, Column: p.Column, Message: fmt.Sprintf(format, args...)}
}

// String returns the place as compilers print it, file:line:column.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Problem is one mistake in a file, or in the call where File is empty.
type Problem struct {
	File         string
	Line, Column int
	Message      string
}

// Error returns the place, where there is one, and the message.
func (p Problem) Error() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	}
	return Position{p.File, p.Line, p.Column}.String() + ": " + p.Message
}

// inReadingOrder sorts by place and drops what is said twice: a part with an
// anchor is read at every place that uses it.
func inReadingOrder(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(problems)
}

// Suggest returns the question that is appended to a complaint about a name, such
// as ` (did you mean "slow"?)`, or nothing where no known name is near.
func Suggest(name string, known []string) string {
	best, distance := "", len(name)/3+1
	for _, k := range known {
		if d := levenshtein.Distance(name, k, nil); d <= distance && (best == "" || d < distance) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}
