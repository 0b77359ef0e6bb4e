//go:build unix

package local

import (
	"errors"
	"syscall"
	"time"

	"tunebench/internal/device/host"
)

// FamilyEnv is the environment variable by which every process of one experiment is
// known: its trainer, all that the trainer started, and the logger beside it. Names and
// process numbers are used again by others; a token is not.
const FamilyEnv = host.FamilyVariable

// pollEvery is how often an ending family is looked at.
const pollEvery = 20 * time.Millisecond

// family is the processes of one experiment.
type family struct {
	group  int             // process group of the leader; 0: not known
	token  string          // value of FamilyEnv; empty: not marked
	reaped <-chan struct{} // closed once the leader has been waited for
	seen   map[int]bool    // members that were ever found, the leader excepted
}

func newFamily(group int, token string, reaped <-chan struct{}) family {
	return family{group: group, token: token, reaped: reaped, seen: map[int]bool{}}
}

// members returns the living processes that carry the token.
func (f family) members() []int {
	if f.token == "" {
		return nil
	}
	pids, err := host.FamilyPIDs(f.token)
	if err != nil {
		return nil // no /proc here: the process group is all that is known
	}
	for _, pid := range pids {
		if pid != f.group {
			f.seen[pid] = true
		}
	}
	return pids
}

// signal sends sig to the group and to every member that has left the group.
func (f family) signal(sig syscall.Signal) {
	if f.group > 0 {
		_ = syscall.Kill(-f.group, sig) // ESRCH: the group is gone, which is what is wanted
	}
	for _, pid := range f.members() {
		_ = syscall.Kill(pid, sig)
	}
}

// alive reports whether any process of the family still runs. Orphans that became our
// own children are reaped on the way, or they would be seen as living for ever.
func (f family) alive() bool {
	f.reap()
	if f.group > 0 && !errors.Is(syscall.Kill(-f.group, 0), syscall.ESRCH) {
		return true
	}
	return len(f.members()) > 0 || !f.reapStrays()
}

// reapStrays collects members that had left the group, and reports whether none is left
// to collect. One that another process must wait for is not ours to collect.
func (f family) reapStrays() bool {
	done := true
	for pid := range f.seen {
		if got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); got == 0 && err == nil {
			done = false
		}
	}
	return done
}

// reap collects orphans of the group that were handed to this process. It must leave
// the leader to the one who waits for it, or its exit state is lost.
func (f family) reap() {
	select {
	case <-f.reaped:
	default:
		return
	}
	for {
		pid, err := syscall.Wait4(-f.group, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}

// end stops the whole family: TERM, a grace time, KILL, and waits until it is gone. A
// closed hurry cuts the grace short. It reports whether the family is gone.
func (f family) end(grace time.Duration, hurry <-chan struct{}) bool {
	if !f.alive() {
		return true
	}
	f.signal(syscall.SIGTERM)
	if f.gone(grace, hurry) {
		return true
	}
	f.signal(syscall.SIGKILL)
	return f.gone(killWait, nil)
}

// killWait bounds the wait for processes that were sent SIGKILL: one in an
// uninterruptible driver call may take a while to go.
const killWait = 10 * time.Second

func (f family) gone(within time.Duration, hurry <-chan struct{}) bool {
	deadline := time.After(within)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for f.alive() {
		select {
		case <-deadline:
			return !f.alive()
		case <-hurry:
			return !f.alive()
		case <-tick.C:
		}
	}
	return true
}

// WatchToken is the token of the loggers beside the family of that token: they outlive
// the trainer by design and must not be ended with it.
func WatchToken(token string) string { return token + ".watch" }

// EndFamily stops every process that carries the token, and the loggers beside it: what
// an earlier start left behind. It reports how many there were, and whether all are gone.
func EndFamily(token string, grace time.Duration) (found int, gone bool) {
	gone = true
	for _, f := range []family{newFamily(0, token, nil), newFamily(0, WatchToken(token), nil)} {
		n := len(f.members())
		found += n
		gone = (n == 0 || f.end(grace, nil)) && gone
	}
	return found, gone
}
