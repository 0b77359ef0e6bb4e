package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tunebench/internal/outcome"
	"tunebench/internal/unit"
)

// Plain writes a line of text for each event that a reader of a log wants; the samples
// in between are left out.
type Plain struct {
	mu sync.Mutex
	w  io.Writer
}

// NewPlain returns a listener that writes to w.
func NewPlain(w io.Writer) *Plain { return &Plain{w: w} }

// Event writes the event's line, if it has one.
func (p *Plain) Event(e Event) {
	line := Line(e)
	if line == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintln(p.w, line) // a reader that went away does not end the run
}

// Line returns the event as a line of text, or nothing for a sample.
func Line(e Event) string {
	switch e.Kind {
	case RunStarted:
		if e.Total == 1 {
			return "1 experiment"
		}
		return fmt.Sprintf("%d experiments", e.Total)
	case Skipped:
		return fmt.Sprintf("%s %s: %s, already done", e.position(), e.title(), Word(e.Status))
	case Started:
		return fmt.Sprintf("%s %s: started", e.position(), e.title())
	case Finished:
		return e.position() + " " + e.finished()
	case Warned:
		return "warning: " + e.Message
	case RunFinished:
		return Tally(e)
	}
	return ""
}

func (e Event) position() string { return fmt.Sprintf("[%d/%d]", e.N, e.Total) }

func (e Event) title() string {
	return strings.TrimSpace(e.Experiment + " " + strings.TrimSpace(e.Scenario+" · "+e.Label))
}

func (e Event) finished() string {
	line := fmt.Sprintf("%s: %s after %s", e.Experiment, Word(e.Status), Clock(e.Duration))
	if e.Reason != "" {
		line += ": " + e.Reason
	}
	if e.Left > 0 {
		line += fmt.Sprintf(" (about %s left)", Clock(e.Left))
	}
	return line
}

// Word returns the status as people read it: failures stand out by their spelling, since
// colour must not be the only sign.
func Word(s outcome.Status) string {
	switch s {
	case outcome.OK, outcome.Running, outcome.Incomplete:
		return string(s)
	}
	return strings.ToUpper(string(s))
}

// Tally says how the experiments ended: ok first, then the others by name.
func Tally(e Event) string {
	var parts []string
	for _, status := range Statuses() {
		if n := e.Counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, Word(status)))
		}
	}
	if len(parts) == 0 {
		return "nothing was run"
	}
	return "finished: " + strings.Join(parts, ", ")
}

// Statuses lists the statuses in the order in which people are told of them.
func Statuses() []outcome.Status {
	return []outcome.Status{
		outcome.OK, outcome.OOM, outcome.HostMemory, outcome.Killed, outcome.NCCLTimeout, outcome.Usage,
		outcome.Port, outcome.Signal, outcome.Timeout, outcome.Interrupted, outcome.Error, outcome.NoMetrics,
	}
}

// Clock returns seconds as people say them: 8.3s, 4m12s, 1h02m.
func Clock(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Now says where a running experiment stands: step, memory, time left. Parts that are
// not known are left out.
func Now(e Event) string {
	var parts []string
	if e.Steps > 0 {
		parts = append(parts, fmt.Sprintf("step %d/%d", e.Step, e.Steps))
	}
	parts = append(parts, amount("GPU", e.Device)...)
	parts = append(parts, amount("host", e.Host)...)
	if e.Left > 0 {
		parts = append(parts, "about "+Clock(e.Left)+" left")
	}
	return strings.Join(parts, ", ")
}

func amount(of string, b *unit.Bytes) []string {
	if b == nil {
		return nil
	}
	return []string{of + " " + b.String()}
}
