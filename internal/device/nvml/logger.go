package nvml

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"tunebench/internal/device"
)

// startWithin bounds the start: loading the library and initialising a cold driver.
const startWithin = 10 * time.Second

// Config says what is watched, and by whom.
type Config struct {
	Self     string          // path of the tunebench binary
	Library  string          // path of libnvidia-ml.so.1; empty: where the loader finds it
	Devices  []device.Device // each found by its UUID, or by its index where it has none; none: all GPUs
	Interval time.Duration   // between two samples, from 1 ms; 0: the sampler's default
	Dir      string          // the folder of the logs; empty: no logs
	Env      []string        // the child's whole environment; nil: the inherited one
	Within   time.Duration   // bound of the start; 0: 10 s
	Silence  time.Duration   // without a sample, beyond the interval, after which Keep gives a child up; 0: 5 s

	again bool // go on in the logs that are there
}

func (c Config) within() time.Duration {
	if c.Within > 0 {
		return c.Within
	}
	return startWithin
}

// Logger is a child that samples until it is stopped.
type Logger struct {
	process *process
	ready   chan struct{} // closed with the child's first answer
	once    sync.Once

	mu      sync.Mutex
	latest  device.Summary
	moved   time.Time // when the child first told of the last sample that it told of
	final   bool      // latest is the child's last word
	stopped bool
	failed  error
}

// StartLogger starts the child and waits, within bounds, for its first sample, so that
// the baseline is from before the trainer's start: Latest has it. An error means that
// nothing runs; it wraps fs.ErrNotExist where there is no NVML here.
func StartLogger(ctx context.Context, c Config) (*Logger, error) {
	l := &Logger{ready: make(chan struct{})}
	p, err := start(c.Self, c.Env, request{
		Library: c.Library, Devices: c.Devices, Interval: c.Interval, Dir: c.Dir, Again: c.again,
	}, l.hear)
	if err != nil {
		return nil, err
	}
	l.process = p
	late := time.NewTimer(c.within())
	defer late.Stop()
	select {
	case <-l.ready:
	case <-p.done:
		l.fail(reply{Error: "the sampler ended at once: " + p.end()})
	case <-late.C:
		l.fail(reply{Error: fmt.Sprintf("NVML did not answer within %s", c.within())})
	case <-ctx.Done():
		l.fail(reply{Error: ctx.Err().Error()})
	}
	if err := l.failure(); err != nil {
		p.kill()
		return nil, err
	}
	return l, nil
}

// hear takes one line of the child.
func (l *Logger) hear(m reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case m.Error != "" && l.failed == nil:
		l.failed = answered(m)
	case m.Ready != nil:
		l.tell(*m.Ready)
	case m.State != nil:
		l.tell(*m.State)
		return // it may come before the first sample
	case m.Final != nil:
		l.latest, l.final = *m.Final, true
	default:
		return // nothing that the child says
	}
	l.once.Do(func() { close(l.ready) })
}

// tell keeps what the child knows.
func (l *Logger) tell(s device.Summary) {
	if s.Samples != l.latest.Samples {
		l.moved = time.Now()
	}
	l.latest = s
}

// silent returns for how long the child has told of no new sample.
func (l *Logger) silent() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.moved)
}

// answered makes an error of the child's words.
func answered(m reply) error {
	if m.NoNVML {
		return errNoNVML{m.Error}
	}
	return errors.New(m.Error)
}

// errNoNVML is that there is no library, told by the child.
type errNoNVML struct{ text string }

func (e errNoNVML) Error() string { return e.text }

// Is makes it fs.ErrNotExist, which the child's own error was.
func (e errNoNVML) Is(target error) bool { return target == fs.ErrNotExist }

func (l *Logger) fail(m reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = answered(m)
	}
}

func (l *Logger) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Latest returns what the child last said: at first the devices and their baselines, and
// then, every second, all that it knows.
func (l *Logger) Latest() device.Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest
}

// Done is closed when the child has ended, by itself or by Stop.
func (l *Logger) Done() <-chan struct{} { return l.process.done }

// PID returns the child's process number, which is its group's too.
func (l *Logger) PID() int { return l.process.cmd.Process.Pid }

// Stop asks the child to end, ends it by force after the grace, waits for it and returns
// what was seen. It may be called again and then says the same. Where the child died, or
// hung so that it could not speak, Exit says so and the figures are those of at most a
// second before.
func (l *Logger) Stop(grace time.Duration) device.Summary {
	early := l.process.ended()
	l.process.stop()
	killed, gone := false, true
	if !l.process.wait(grace) {
		killed = true
		gone = l.process.kill()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return l.latest
	}
	l.stopped = true
	if l.final && early && l.latest.Exit == "" {
		l.latest.Exit = "the sampler was ended before the run did"
	}
	if l.final {
		return l.latest
	}
	switch {
	case !gone:
		l.latest.Exit = fmt.Sprintf("the sampler (process %d) survives SIGKILL", l.PID())
	case killed:
		l.latest.Exit = fmt.Sprintf("the sampler did not end within %s and was killed", grace)
	default:
		l.latest.Exit = "the sampler died: " + l.process.end()
	}
	return l.latest
}

// List surveys the machine in a child, within bounds: Within of the configuration, or
// the context. An error wraps fs.ErrNotExist where there is no NVML here.
func List(ctx context.Context, c Config) (device.Machine, error) {
	answers := make(chan reply, 1)
	p, err := start(c.Self, c.Env, request{Library: c.Library, List: true}, func(m reply) {
		select {
		case answers <- m:
		default:
		}
	})
	if err != nil {
		return device.Machine{}, err
	}
	defer p.kill()
	late := time.NewTimer(c.within())
	defer late.Stop()
	var m reply
	select {
	case m = <-answers:
	case <-p.done:
		select {
		case m = <-answers:
		default:
			m.Error = "the survey ended without an answer: " + p.end()
		}
	case <-late.C:
		m.Error = fmt.Sprintf("NVML did not answer within %s", c.within())
	case <-ctx.Done():
		return device.Machine{}, fmt.Errorf("list devices: %w", ctx.Err())
	}
	if m.Machine == nil {
		return device.Machine{}, fmt.Errorf("list devices: %w", answered(m))
	}
	return *m.Machine, nil
}
