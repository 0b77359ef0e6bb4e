package cli

import (
	"fmt"
	"io"
	"sync"

	"tunebench/internal/progress"
)

// quiet is who hears a measured command. Before its start, warnings are written at once,
// since somebody may be waiting; while it runs they are held, since the terminal is then
// the command's own; release writes what was held.
type quiet struct {
	w io.Writer

	mu      sync.Mutex
	holding bool
	held    []string
}

// Event writes or holds a warning and drops everything else.
func (q *quiet) Event(e progress.Event) {
	if e.Kind != progress.Warned {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.holding {
		q.held = append(q.held, progress.Line(e))
		return
	}
	q.write(progress.Line(e))
}

// hold begins to hold warnings back.
func (q *quiet) hold() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holding = true
}

// release writes what was held; what comes later is written at once.
func (q *quiet) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, line := range q.held {
		q.write(line)
	}
	q.holding, q.held = false, nil
}

// write goes on without a reader that went away: the exit code is still the command's.
func (q *quiet) write(line string) { _, _ = fmt.Fprintln(q.w, line) }
