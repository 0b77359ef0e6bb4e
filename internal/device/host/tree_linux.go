package host

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/prometheus/procfs"
)

// procRoot is where the kernel shows the processes.
const procRoot = "/proc"

// Tree returns the root process, all its descendants, the members of its process group
// and what else the options ask for, by number. A process that ends while it is read is
// left out; a root that has ended leaves those that can still be told.
func Tree(rootPID int, opts TreeOptions) ([]Proc, error) { return tree(procRoot, rootPID, opts) }

// FamilyPIDs returns the processes, apart from the caller itself, that carry
// FamilyVariable=token. Those whose environment may not be read are passed over.
func FamilyPIDs(token string) ([]int, error) { return familyPIDs(procRoot, token, os.Getpid()) }

func tree(root string, rootPID int, opts TreeOptions) ([]Proc, error) {
	stats, err := allStats(root)
	if err != nil {
		return nil, err
	}
	member := members(stats, rootPID)
	since := startOf(stats, rootPID)
	var procs []Proc
	for _, s := range stats {
		marked := opts.Token != "" && s.PID != os.Getpid() && s.Starttime >= since
		if slices.Contains(opts.Without, s.PID) || !member[s.PID] && (!marked || !carries(root, s.PID, opts.Token)) {
			continue
		}
		if p, ok := readProc(root, s, opts.PSS); ok {
			procs = append(procs, p)
		}
	}
	return procs, nil
}

// allStats reads the stat line of every process, by number.
func allStats(root string) ([]procfs.ProcStat, error) {
	fs, err := procfs.NewFS(root)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	all, err := fs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	slices.SortFunc(all, func(a, b procfs.Proc) int { return a.PID - b.PID })
	var stats []procfs.ProcStat
	for _, p := range all {
		if s, ok := stat(p); ok {
			stats = append(stats, s)
		}
	}
	return stats, nil
}

// stat reads one stat line; ok is false for a process that has ended. The parser below
// trusts the kernel and panics on a line that is cut behind the name.
func stat(p procfs.Proc) (s procfs.ProcStat, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	s, err := p.Stat()
	return s, err == nil && s.State != "Z" && s.State != "X"
}

// members marks the root, its group and their descendants. Children may have a lower
// number than their parents where numbers have wrapped around, so it goes on until
// nothing is added.
func members(stats []procfs.ProcStat, root int) map[int]bool {
	in := map[int]bool{root: true}
	for grown := true; grown; {
		grown = false
		for _, s := range stats {
			if !in[s.PID] && (in[s.PPID] || s.PGRP == root) {
				in[s.PID], grown = true, true
			}
		}
	}
	return in
}

// startOf returns when a process was started, in clock ticks; 0 where it has ended. What
// is older than the root cannot be of its family, which saves reading its environment.
func startOf(stats []procfs.ProcStat, pid int) uint64 {
	for _, s := range stats {
		if s.PID == pid {
			return s.Starttime
		}
	}
	return 0
}

func familyPIDs(root, token string, self int) ([]int, error) {
	if token == "" {
		return nil, errors.New("finding a run's processes: no token to look for")
	}
	stats, err := allStats(root)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, s := range stats {
		if s.PID != self && carries(root, s.PID, token) {
			pids = append(pids, s.PID)
		}
	}
	return pids, nil
}

// carries reports whether a process was started with the marker in its environment.
func carries(root string, pid int, token string) bool {
	fs, err := procfs.NewFS(root)
	if err != nil {
		return false
	}
	p, err := fs.Proc(pid)
	if err != nil {
		return false
	}
	environ, err := p.Environ()
	return err == nil && slices.Contains(environ, FamilyVariable+"="+token)
}

// Argv returns what a process was started with; nothing for one that has ended.
func Argv(pid int) []string {
	fs, err := procfs.NewFS(procRoot)
	if err != nil {
		return nil
	}
	p, err := fs.Proc(pid)
	if err != nil {
		return nil
	}
	argv, err := p.CmdLine()
	if err != nil {
		return nil
	}
	return argv
}

// StartTime returns when a process started, in clock ticks since the boot: with its
// number it names one process for good. ok is false for a process that has ended.
func StartTime(pid int) (ticks uint64, ok bool) {
	fs, err := procfs.NewFS(procRoot)
	if err != nil {
		return 0, false
	}
	p, err := fs.Proc(pid)
	if err != nil {
		return 0, false
	}
	s, ok := stat(p)
	return s.Starttime, ok
}
