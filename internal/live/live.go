// Package live shows a run on a terminal: one line for each finished experiment, and
// below them one line that moves.
//
// It hears the events of package progress and asks nothing itself. Where the output is
// no terminal, the plain lines of progress serve.
package live

import (
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"tunebench/internal/progress"
)

// View is a listener that draws.
type View struct {
	mu      sync.Mutex
	w       io.Writer
	width   func() int // of the terminal, asked anew for each line: it may change
	current progress.Event
	since   time.Time
	drawn   bool
}

// New returns a view that draws to w, a terminal; width returns its columns.
func New(w io.Writer, width func() int) *View { return &View{w: w, width: width} }

// clearLine returns the cursor to the first column and empties the line (ECMA-48, EL).
const clearLine = "\r\x1b[K"

// Event draws.
func (v *View) Event(e progress.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e.Kind {
	case progress.Started:
		v.current, v.since = e, e.Time
		v.draw()
	case progress.Sampled:
		if v.since.IsZero() { // its start was not told; from here on is all that is known
			v.since = e.Time
		}
		v.current = e
		v.draw()
	case progress.Finished:
		v.since = time.Time{} // of this experiment; the next one's start is its own
		v.settle(progress.Line(e))
	default:
		v.settle(progress.Line(e))
	}
}

// draw replaces the moving line.
func (v *View) draw() {
	e := v.current
	line := fmt.Sprintf("[%d/%d] %s %s", e.N, e.Total, e.Experiment, progress.Clock(e.Time.Sub(v.since).Seconds()))
	if now := progress.Now(e); now != "" {
		line += "  " + now
	}
	line += "  " + e.Label
	_, _ = io.WriteString(v.w, clearLine+fit(line, v.width()))
	v.drawn = true
}

// settle writes a line that stays.
func (v *View) settle(line string) {
	if v.drawn {
		_, _ = io.WriteString(v.w, clearLine)
		v.drawn = false
	}
	if line != "" {
		_, _ = fmt.Fprintln(v.w, line)
	}
}

// fit cuts a line to the width: a line that wraps could not be drawn over.
func fit(line string, width int) string {
	if width < 2 || utf8.RuneCountInString(line) < width {
		return line
	}
	runes := []rune(line)
	return string(runes[:width-2]) + "…"
}
