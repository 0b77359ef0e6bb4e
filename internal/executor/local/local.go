//go:build unix

// Package local runs an experiment's command on this machine.
//
// It starts the command in a process group of its own with its output straight in
// files, waits, and stops the whole family: TERM, a grace time, KILL. A guard, a second
// small process, does the same where tunebench itself is killed. What the command means
// and how its end is judged is left to others.
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tunebench/internal/outcome"
)

// Command is what to start.
type Command struct {
	Argv   []string
	Env    []string // the whole environment, NAME=value
	Dir    string   // where it is started
	Stdout string   // file, made anew
	Stderr string   // file, made anew
	Token  string   // put into the environment under FamilyEnv; empty: the family is its group only
	Grace  time.Duration

	// Attached has the command use these files instead of Stdout and Stderr, and stay in
	// tunebench's own process group, so that a terminal treats it as if started alone.
	Attached *Stdio
}

// Stdio are the standard files of an attached command.
type Stdio struct{ In, Out, Err *os.File }

// Stop is the cause of a cancelled context: why tunebench ends a process.
type Stop struct {
	Why    string // one of outcome.Stopped...
	Detail string // the figures behind it, for people
}

// Error says why.
func (s Stop) Error() string { return s.Why + ": " + s.Detail }

// Process is a started command.
type Process struct {
	cmd    *exec.Cmd
	family family
	grace  time.Duration
	exited chan struct{} // closed once the leader has been waited for

	attached bool
}

// Start starts the command. An error that it returns means that nothing runs.
func Start(c Command) (*Process, error) {
	becomeReaper()
	path, err := lookPath(c.Argv[0], c.Env, c.Dir)
	if err != nil && c.Attached != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: path, Args: c.Argv, Dir: c.Dir,
		Env: append(slices.Clone(c.Env), FamilyEnv+"="+c.Token),
	}
	closeFiles, fileErr := c.connect(cmd)
	if fileErr != nil {
		return nil, fileErr
	}
	defer closeFiles() // the child has its own copies
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // the file is there: lookPath has seen it
			return nil, fmt.Errorf("start %s: the interpreter in its first line is not there: %w", c.Argv[0], err)
		}
		return nil, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	exited := make(chan struct{})
	family := newFamily(cmd.Process.Pid, c.Token, exited)
	if c.Attached != nil {
		family.group = 0 // it is tunebench's own
	}
	p := &Process{
		cmd:    cmd,
		family: family,
		grace:  c.Grace,
		exited: exited,

		attached: c.Attached != nil,
	}
	go p.wait()
	return p, nil
}

// connect gives the command its files and its process group. The files of a command that
// is not attached are made even where it cannot be started: their readers come later.
func (c Command) connect(cmd *exec.Cmd) (closeFiles func(), err error) {
	if a := c.Attached; a != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
		return func() {}, nil
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := os.Create(c.Stdout)
	if err != nil {
		return nil, fmt.Errorf("make the file for the output: %w", err)
	}
	stderr, err := os.Create(c.Stderr)
	if err != nil {
		_ = stdout.Close()
		return nil, fmt.Errorf("make the file for the error output: %w", err)
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return func() { _, _ = stdout.Close(), stderr.Close() }, nil
}

// wait reaps the leader. Its exit state is read from ProcessState afterwards, so the
// error, which only repeats that state, is not kept.
func (p *Process) wait() {
	_ = p.cmd.Wait()
	close(p.exited)
}

// PID returns the leader's process number, which is its group's too.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Adopt has processes that were seen below the leader ended with its family, also where
// they have changed their environment and left its group. It returns those that it had
// not been told of before.
func (p *Process) Adopt(pids []int) (fresh []int) { return p.family.strays.add(pids) }

// Exited is closed when the leader has ended; others of its family may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Finish waits until the leader has ended or ctx is done, then ends what is left of the
// family, and returns how it ended. Cancel ctx with a Stop as its cause to say why. A
// done hurry cuts every grace time short.
func (p *Process) Finish(ctx, hurry context.Context) outcome.Ending {
	var stop Stop
	select {
	case <-p.exited:
	case <-ctx.Done():
		if !errors.As(context.Cause(ctx), &stop) {
			stop = Stop{Why: outcome.StoppedInterrupted}
		}
	}
	gone := p.leavesOthers(stop) || p.family.end(p.grace, hurry.Done())
	if !gone {
		stop.Detail = strings.TrimSpace(stop.Detail + "; a process of the family is still there after SIGKILL")
	}
	ending := outcome.Ending{Stopped: stop.Why, StopDetail: stop.Detail}
	select {
	case <-p.exited:
		describe(p.cmd.ProcessState, &ending)
	case <-time.After(killWait):
		ending.StopDetail = strings.TrimSpace(ending.StopDetail + "; the process could not be ended")
	}
	return ending
}

// leavesOthers reports whether what is left of the family may stay: an attached command
// that ended by itself may have started a service, as it would have without tunebench.
func (p *Process) leavesOthers(stop Stop) bool {
	return p.attached && stop.Why == ""
}

// describe fills in exit code or signal.
func describe(state *os.ProcessState, e *outcome.Ending) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		e.Signal = unix.SignalName(status.Signal())
		return
	}
	code := state.ExitCode()
	e.ExitCode = &code
}

// MaxRSS returns the kernel's own peak of resident memory, in bytes, of the largest
// process among the leader and the children that it waited for; ok is false before the
// end, where the system does not say, and where the figure may be tunebench's own: a
// started process inherits the counter of the one that started it.
func (p *Process) MaxRSS() (bytes int64, ok bool) {
	if p.cmd.ProcessState == nil {
		return 0, false
	}
	usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	var own syscall.Rusage
	if !ok || syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil || usage.Maxrss <= own.Maxrss {
		return 0, false
	}
	return usage.Maxrss * maxRSSUnit, true
}
