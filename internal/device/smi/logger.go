package smi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"tunebench/internal/device"
)

// logColumns are the columns of gpu_memory_logs.csv; nvidia-smi adds the unit to the
// last one's name.
const logColumns = "--query-gpu=timestamp,name,index,memory.used"

// How long a logger may take.
const (
	firstRows = 10 * time.Second      // for its first rows, on a cold driver
	pollEvery = 20 * time.Millisecond // to look for them
	stopGrace = 3 * time.Second       // from TERM to KILL
)

// Logger is an nvidia-smi that writes readings into a file until it is stopped.
type Logger struct {
	process *process
	file    string
	stderr  *head
	notes   []string
	once    sync.Once
	exit    string
	err     error
}

// Log starts an nvidia-smi that writes a row for each of the devices into file, every
// interval, and waits for its first rows, so that they are from before the trainer's
// start. An earlier file of that name is replaced. env is the whole environment of the
// process; a marker in it lets a later start find what was left over.
//
// The context bounds the waiting for the first rows, not the logging. That no row came
// in time, or that the process ended at once, is no error: see Notes and Stop.
func (s SMI) Log(ctx context.Context, devices []device.Device, interval time.Duration, file string, env []string) (*Logger, error) {
	ids, err := ids(devices)
	if err != nil {
		return nil, fmt.Errorf("logging device memory: %w", err)
	}
	out, err := replace(file)
	if err != nil {
		return nil, fmt.Errorf("logging device memory: %w", err)
	}
	defer out.Close()
	l := &Logger{file: file, stderr: &head{}}
	cmd := exec.Command(s.path(), logColumns, "--format=csv", "--id="+ids,
		"--loop-ms="+strconv.FormatInt(max(1, interval.Milliseconds()), 10))
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, out, l.stderr, killGrace
	if l.process, err = start(cmd); err != nil {
		return nil, fmt.Errorf("logging device memory: %w", err)
	}
	if err := l.await(ctx, len(devices)); err != nil {
		_, stopErr := l.Stop()
		return nil, errors.Join(fmt.Errorf("waiting for the first reading: %w", err), stopErr)
	}
	return l, nil
}

// replace makes an empty file. The old one is removed, not emptied: a logger left over
// from an earlier run may still write into it.
func replace(file string) (*os.File, error) {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
}

// await returns when the file has n rows, the process has ended, or it takes too long.
func (l *Logger) await(ctx context.Context, n int) error {
	deadline := time.NewTimer(firstRows)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !l.has(n) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.process.done:
			return nil
		case <-deadline.C:
			l.notes = append(l.notes, fmt.Sprintf("nvidia-smi had written no full set of rows %s after its start", firstRows))
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// has reports whether the file holds n whole rows, readable or not.
func (l *Logger) has(n int) bool {
	text, _ := l.beginning()
	notes, _ := device.ReadLog(bytes.NewReader(text), func(device.Reading) {})
	rows := 0
	for _, seen := range notes.Devices {
		rows += seen.Readings + seen.Unreadable
	}
	return rows >= n
}

// beginning returns the first bytes of the log.
func (l *Logger) beginning() ([]byte, error) {
	f, err := os.Open(l.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<16))
}

// Notes are what the start left to say.
func (l *Logger) Notes() []string { return l.notes }

// PID returns the number of the process.
func (l *Logger) PID() int { return l.process.cmd.Process.Pid }

// Done is closed when the process has ended, by itself or by Stop.
func (l *Logger) Done() <-chan struct{} { return l.process.done }

// Stop ends the logger: TERM to its group, KILL to what is left after a grace, and
// waits for it. It may be called again and then says the same. exit says how the logger
// ended by itself before it was stopped, with the first line that it printed of it; it
// is empty where Stop ended it. The error is that the process could not be ended.
func (l *Logger) Stop() (exit string, err error) {
	l.once.Do(func() {
		select {
		case <-l.process.done:
			l.exit = l.ownEnd()
			return
		default:
		}
		l.process.signal(syscall.SIGTERM)
		if l.process.wait(stopGrace) {
			return
		}
		l.process.signal(syscall.SIGKILL)
		if !l.process.wait(killGrace) {
			l.err = fmt.Errorf("nvidia-smi (process %d) survives SIGKILL", l.process.cmd.Process.Pid)
		}
	})
	return l.exit, l.err
}

// ownEnd spells how the process ended by itself. It was to run on, so exit 0 is worth
// telling too.
func (l *Logger) ownEnd() string {
	end := l.process.end()
	if end == "" {
		end = "exit 0"
	}
	return withLine(end, l.errorLine(), l.stderr.bytes())
}

// errorLine returns what the log itself holds of an error.
func (l *Logger) errorLine() []byte {
	f, err := os.Open(l.file)
	if err != nil {
		return nil
	}
	defer f.Close()
	notes, err := device.ReadLog(f, func(device.Reading) {})
	if err != nil || notes.Error == nil {
		return nil
	}
	return []byte(notes.Error.Text)
}
