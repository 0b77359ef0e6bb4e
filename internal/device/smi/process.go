package smi

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a started program that is always waited for.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it was waited for
	err  error         // of Wait; to be read after done
}

// start runs cmd in a process group of its own. One goroutine, bound to its thread,
// starts it and waits for it: the death signal that a child may ask for is tied to the
// thread that started it, and must come when tunebench ends, not earlier.
func start(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = attributes()
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// signal reaches the whole group; that the group is gone already is no error.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.done: // the number may belong to somebody else by now
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// wait reports whether the process ended within d.
func (p *process) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// end spells how the process ended: nothing for exit 0, else exit N or the signal.
func (p *process) end() string {
	var exit *exec.ExitError
	if p.err == nil || !errors.As(p.err, &exit) {
		if p.err != nil {
			return p.err.Error()
		}
		return ""
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("signal %d (%s)", int(status.Signal()), status.Signal())
	}
	return fmt.Sprintf("exit %d", exit.ExitCode())
}

// maxCaptured bounds what is kept of a program's output: a list of devices is far
// shorter.
const maxCaptured = 1 << 20

// head is a writer that keeps the beginning of what is written and drops the rest.
type head struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails, so that the program is not ended by a full buffer.
func (t *head) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[:min(len(p), maxCaptured-len(t.kept))]...)
	return len(p), nil
}

func (t *head) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.kept...)
}
