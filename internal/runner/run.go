package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tunebench/internal/device/host"
	"tunebench/internal/experiment"
	"tunebench/internal/outcome"
	"tunebench/internal/progress"
	"tunebench/internal/record"
	"tunebench/internal/unit"
)

// Loop is how a plan is run.
type Loop struct {
	Out           string // the run's folder
	MinFree       unit.Bytes
	StopOnFailure bool
	AfterEach     func() error // called after each record was written: rewrites the summary
}

// Result counts how the experiments of a plan ended, those of earlier runs included.
type Result struct {
	Counts   map[outcome.Status]int
	Ran      int
	Skipped  int
	Planned  int
	EndedFor string // why the loop ended before the plan did; empty: it did not
}

// AllOK reports whether every experiment of the plan has a record that says ok.
func (r Result) AllOK() bool { return r.Counts[outcome.OK] == r.Planned }

// LowDisk is the error that ends a matrix for want of disk. It is resumable.
type LowDisk struct {
	Dir        string
	Free, Want unit.Bytes
}

// Error says what to do.
func (e *LowDisk) Error() string {
	return fmt.Sprintf("%s: %v free, less than --min-free %v (free some space and go on with --resume)", e.Dir, e.Free, e.Want)
}

// Claim holds dir for one run, ends what killed runs left in it and in the experiments'
// folders below, and says so. Call release when the run ends.
func Claim(dir string, o Options) (release func() error, err error) {
	c, left, err := take(dir, o.grace())
	if err != nil {
		return nil, err
	}
	o.warn(left)
	folders, err := filepath.Glob(filepath.Join(globSafe(dir), "exp_*", claimName))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("look for leftovers in %s: %w", dir, err), c.release())
	}
	for _, path := range folders {
		below, left, err := take(filepath.Dir(path), o.grace())
		var held *HeldError
		if errors.As(err, &held) {
			continue // an exec of its own; Run leaves that experiment out
		}
		if err != nil {
			return nil, errors.Join(err, c.release())
		}
		o.warn(left)
		if err := below.release(); err != nil {
			return nil, errors.Join(err, c.release())
		}
	}
	return c.release, nil
}

// globSafe escapes what a glob would read as a pattern.
func globSafe(path string) string {
	var out []rune
	for _, r := range path {
		switch r {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

func (o Options) warn(sentence string) {
	if sentence != "" {
		o.tell(progress.Event{Kind: progress.Warned, Message: sentence})
	}
}

// Run runs the experiments in order and leaves a record for each. An experiment whose
// folder holds a final record of the same identity is skipped. A failed experiment ends
// nothing but itself unless l.StopOnFailure; the error is of tunebench itself, or the
// context's.
func Run(ctx context.Context, experiments []experiment.Experiment, l Loop, o Options) (Result, error) {
	res := Result{Counts: map[outcome.Status]int{}, Planned: len(experiments)}
	o.tell(progress.Event{Kind: progress.RunStarted, Total: len(experiments)})
	defer func() {
		o.tell(progress.Event{Kind: progress.RunFinished, Total: len(experiments), Counts: res.Counts})
	}()
	clock := newClock(len(experiments))
	o.idle = newIdle()
	for i, e := range experiments {
		at := place{n: i + 1, total: len(experiments), clock: clock}
		if status, done := finished(e, o); done {
			res.Skipped++
			res.Counts[status]++
			clock.skip()
			o.tell(at.event(progress.Event{Kind: progress.Skipped, Status: status}, e))
			continue
		}
		status, err := one(ctx, e, at, l, o)
		if status != "" {
			res.Ran++
			res.Counts[status]++
		}
		if err != nil {
			return res, err
		}
		if l.StopOnFailure && status != outcome.OK {
			res.EndedFor = fmt.Sprintf("%s ended %s and --stop-on-failure was given", e.Name, status)
			return res, nil
		}
	}
	return res, nil
}

// one runs one experiment of a plan. The status is empty where it was not run.
func one(ctx context.Context, e experiment.Experiment, at place, l Loop, o Options) (outcome.Status, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := enoughDisk(l); err != nil {
		return "", err
	}
	if err := describe(e); err != nil {
		return "", err
	}
	rec, err := execute(ctx, e, at, o)
	var held *HeldError
	if errors.As(err, &held) {
		o.warn(fmt.Sprintf("%v; it is left out here", err))
		return outcome.Running, nil
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", e.Name, err)
	}
	if l.AfterEach != nil {
		if err := l.AfterEach(); err != nil {
			return rec.Outcome.Status, err
		}
	}
	return rec.Outcome.Status, ctx.Err()
}

func enoughDisk(l Loop) error {
	if l.MinFree <= 0 {
		return nil
	}
	free, err := host.FreeDisk(l.Out)
	if err != nil {
		return fmt.Errorf("look at the free disk: %w", err)
	}
	if free < l.MinFree {
		return &LowDisk{Dir: l.Out, Free: free, Want: l.MinFree}
	}
	return nil
}

// finished reports whether the experiment has a final record. A record that cannot be
// read is named and counts as none.
func finished(e experiment.Experiment, o Options) (outcome.Status, bool) {
	rec, err := record.Read(e.Dir)
	var damage *record.Damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false
	case errors.As(err, &damage):
		o.warn(fmt.Sprintf("%v; %s is run again", err, e.Name))
		return "", false
	case err != nil:
		o.warn(fmt.Sprintf("%v; %s is run again", err, e.Name))
		return "", false
	}
	if rec.Experiment.ID != e.ID || !rec.Final() {
		return rec.Outcome.Status, false
	}
	if raised := raisedLimit(rec, e.Limits); raised != "" {
		o.warn(fmt.Sprintf("%s ended at its limit, which is now %s; it is run again", e.Name, raised))
		return rec.Outcome.Status, false
	}
	return rec.Outcome.Status, true
}

// raisedLimit returns the limit that ended an experiment as it is planned now, where it
// has been raised since, or nothing. Limits are no part of the identity: they shape no
// result of an experiment that stays below them.
func raisedLimit(rec record.Record, now experiment.Limits) string {
	was := rec.Experiment.Limits
	above := func(now, was int64) bool { return was > 0 && (now == 0 || now > was) }
	switch rec.Outcome.Ending.Stopped {
	case outcome.StoppedTimeout:
		if above(int64(now.Timeout), int64(was.Timeout)) {
			return orNone(now.Timeout > 0, now.Timeout)
		}
	case outcome.StoppedStall:
		if above(int64(now.Stall), int64(was.Stall)) {
			return orNone(now.Stall > 0, now.Stall)
		}
	case outcome.StoppedHostMemory:
		if above(int64(now.HostMemory), int64(was.HostMemory)) {
			return orNone(now.HostMemory > 0, now.HostMemory)
		}
	}
	return ""
}

func orNone(any bool, limit fmt.Stringer) string {
	if !any {
		return "none"
	}
	return limit.String()
}

// describe makes the experiment's folder and writes its description.
func describe(e experiment.Experiment) error {
	if err := os.MkdirAll(e.Dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", e.Name, err)
	}
	return e.Save()
}

// place is where an experiment stands in the run.
type place struct {
	n, total int
	clock    *clock
}

func (p place) event(ev progress.Event, e experiment.Experiment) progress.Event {
	ev.N, ev.Total, ev.Experiment, ev.Scenario, ev.Label = p.n, p.total, e.Name, e.Scenario, e.Label()
	ev.Left = p.clock.left().Seconds()
	return ev
}

// clock estimates the time left from the mean of what was run.
type clock struct {
	todo, ran int
	spent     time.Duration
}

func newClock(todo int) *clock { return &clock{todo: todo} }

func (c *clock) skip() { c.todo-- }

func (c *clock) add(d time.Duration) {
	c.todo--
	c.ran++
	c.spent += d
}

// left returns 0 where nothing has been run yet: then nothing is known.
func (c *clock) left() time.Duration {
	if c.ran == 0 {
		return 0
	}
	return c.spent / time.Duration(c.ran) * time.Duration(c.todo)
}
