//go:build unix

package local

import (
	"errors"
	"slices"
	"sync"
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
	leader int             // 0: not known
	group  int             // process group of the leader; 0: not known, or not its own
	token  string          // value of FamilyEnv; empty: not marked
	reaped <-chan struct{} // closed once the leader has been waited for
	seen   map[int]bool    // members that were ever found, the leader excepted
	strays *strays         // members that are known without the token
}

// strays are processes that are known to belong to a family although their environment
// may have lost the token: descendants that were seen while the family lived. A number
// with its start time names one process for good.
type strays struct {
	mu    sync.Mutex
	since map[int]uint64 // start time by pid
}

// add remembers processes, and returns those that are new.
func (s *strays) add(pids []int) (fresh []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range pids {
		if _, known := s.since[pid]; known {
			continue
		}
		if start, ok := host.StartTime(pid); ok {
			s.since[pid] = start
			fresh = append(fresh, pid)
		}
	}
	return fresh
}

// alive returns those that still run.
func (s *strays) alive() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pids []int
	for pid, start := range s.since {
		if now, ok := host.StartTime(pid); ok && now == start {
			pids = append(pids, pid)
		}
	}
	return pids
}

func newFamily(leader int, token string, reaped <-chan struct{}) family {
	return family{leader: leader, group: leader, token: token, reaped: reaped, seen: map[int]bool{}, strays: &strays{since: map[int]uint64{}}}
}

// members returns the living processes that carry the token, and the strays.
func (f family) members() []int {
	var pids []int
	if f.token != "" {
		pids, _ = host.FamilyPIDs(f.token) // no /proc here: the process group is all that is known
	}
	for _, pid := range f.strays.alive() {
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		if pid != f.leader {
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
	if f.group == 0 && f.leader > 0 && !f.leaderReaped() {
		_ = syscall.Kill(f.leader, sig)
	}
	for _, pid := range f.members() {
		if pid != f.leader {
			_ = syscall.Kill(pid, sig)
		}
	}
}

// alive reports whether any process of the family still runs. Orphans that became our
// own children are reaped on the way, or they would be seen as living for ever.
func (f family) alive() bool {
	f.reap()
	if f.group > 0 && !errors.Is(syscall.Kill(-f.group, 0), syscall.ESRCH) {
		return true
	}
	if f.leader > 0 && !f.leaderReaped() {
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
	if f.group <= 0 || !f.leaderReaped() {
		return
	}
	for {
		pid, err := syscall.Wait4(-f.group, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}

// leaderReaped reports whether the leader has been waited for. Only then may its group be
// collected, or is its number free for others.
func (f family) leaderReaped() bool {
	select {
	case <-f.reaped:
		return true
	default:
		return false
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
	return endFamily(token, nil, grace)
}

func endFamily(token string, known []int, grace time.Duration) (found int, gone bool) {
	trainer := newFamily(0, token, nil)
	trainer.strays.add(known)
	gone = true
	for _, f := range []family{trainer, newFamily(0, WatchToken(token), nil)} {
		n := len(f.members())
		found += n
		gone = (n == 0 || f.end(grace, nil)) && gone
	}
	return found, gone
}
