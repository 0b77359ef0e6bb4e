package nvml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// killGrace bounds the wait for a child that was sent SIGKILL: one whose thread sits in
// the kernel goes only when the driver lets it.
const killGrace = 2 * time.Second

// process is a running child. It is always waited for.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *head
	done   chan struct{} // closed when it was waited for
	err    error         // of Wait; to be read after done
}

// start starts self as the child, in a process group of its own, so that neither Ctrl-C
// nor a signal to the trainer's group reaches it, and hands it the request. Each line
// that it answers goes to each, one at a time.
func start(self string, env []string, req request, each func(reply)) (*process, error) {
	p := &process{stderr: &head{}, done: make(chan struct{})}
	p.cmd = exec.Command(self, Command)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = env, &splitter{each: each}, p.stderr, killGrace
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("make the sampler's pipe: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the sampler: %w", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	line, err := json.Marshal(req)
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("write the sampler's request: %w", err)
	}
	// A child that ended before it read this says why by its end.
	_, _ = p.stdin.Write(append(line, '\n'))
	return p, nil
}

// stop asks the child to end by closing its input.
func (p *process) stop() { _ = p.stdin.Close() } // closed twice is closed

// kill ends the child's group and reports whether it is gone.
func (p *process) kill() bool {
	p.stop()
	if p.ended() { // the number may belong to somebody else by now
		return true
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // ESRCH: it is gone already
	return p.wait(killGrace + time.Second)
}

// ended reports whether the child was waited for.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait reports whether the child ended within d.
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

// end spells how the child ended: exit N or the signal, and the first line that it
// printed of it, which for a crash is the runtime's.
func (p *process) end() string {
	text := "exit 0"
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		text = fmt.Sprintf("exit %d", exit.ExitCode())
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			text = fmt.Sprintf("signal %d (%s)", int(status.Signal()), status.Signal())
		}
	} else if p.err != nil {
		text = p.err.Error()
	}
	if line := p.stderr.firstLine(); line != "" {
		text += ": " + line
	}
	return text
}

// Bounds of what is kept of a child's output.
const (
	maxStderr = 1 << 14
	maxLine   = 1 << 22
)

// head keeps the beginning of what is written to it and drops the rest.
type head struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails, so that the child is not ended by a full buffer.
func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, b[:min(len(b), maxStderr-len(h.kept))]...)
	return len(b), nil
}

func (h *head) firstLine() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range strings.Lines(string(h.kept)) {
		if line = strings.TrimSpace(strings.ToValidUTF8(line, "\ufffd")); line != "" {
			return line
		}
	}
	return ""
}

// splitter hands on each whole line that is a reply. Others (a library that prints) are
// passed over; so is half a line at the end.
type splitter struct {
	each func(reply)
	rest []byte
}

// Write never fails, for the reason that head's does not.
func (s *splitter) Write(b []byte) (int, error) {
	n := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		var m reply
		if err := json.Unmarshal(append(s.rest, b[:i]...), &m); err == nil {
			s.each(m)
		}
		s.rest, b = s.rest[:0], b[i+1:]
	}
	if len(s.rest)+len(b) <= maxLine {
		s.rest = append(s.rest, b...)
	}
	return n, nil
}
