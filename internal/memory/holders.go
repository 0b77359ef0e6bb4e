package memory

import (
	"slices"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// holders is who held a device at its peak.
type holders struct {
	ours     []device.ProcessUse
	foreign  []device.ProcessUse
	reason   string // why it cannot be told whose the processes are
	stranger bool   // that is because none of those listed is known
}

// tell parts a device's processes into the experiment's and others. In a container the
// driver may list nobody, or pids of another namespace: a list in which none of the
// experiment's processes can be found proves nothing about those that it names, except
// of those that were there before the start, or where one of them was ever listed.
func tell(list []device.ProcessUse, gap string, in LedgerInput) holders {
	ours := known(in)
	seen := in.Listed || listsOneOf(lists(in.Watched), ours)
	switch {
	case gap != "":
		return holders{reason: gap}
	case len(lists(in.Watched)) == 0 && !seen:
		return holders{reason: "the driver lists no process on the device: in a container those outside it are hidden"}
	case len(ours) == 0:
		return holders{reason: "which processes were the experiment's is not known"}
	}
	var h holders
	strangers := 0
	for _, p := range list {
		switch {
		case slices.Contains(ours, p.PID):
			h.ours = append(h.ours, p)
		default:
			h.foreign = append(h.foreign, p)
			if !useOf(in.Watched.Baseline.Processes, p.PID).Known() {
				strangers++
			}
		}
	}
	if seen || strangers == 0 && len(in.Torch) == 0 {
		return h
	}
	return holders{stranger: true, reason: "none of the processes that the driver lists is known as the experiment's: it may give pids of another namespace"}
}

// lists returns all lists of processes that are kept of a device.
func lists(w device.Watched) []device.ProcessUse {
	return slices.Concat(w.Baseline.Processes, w.Peak.Processes, w.ProcessPeak.Processes)
}

func listsOneOf(list []device.ProcessUse, pids []int) bool {
	return slices.ContainsFunc(list, func(p device.ProcessUse) bool { return slices.Contains(pids, p.PID) })
}

// known returns the pids of the experiment.
func known(in LedgerInput) []int {
	pids := slices.Clone(in.Family)
	for _, u := range in.Torch {
		pids = append(pids, u.PIDs...)
	}
	return pids
}

// of returns what the process with one of the pids held, and claims it.
func (h holders) of(pids []int, claimed map[int]bool) metric.Value {
	if h.reason != "" {
		return metric.Missing(h.reason)
	}
	for _, p := range h.ours {
		if slices.Contains(pids, p.PID) && !claimed[p.PID] {
			claimed[p.PID] = true
			return p.Used
		}
	}
	return metric.Missing("the driver did not list the process at the device's peak")
}

// useOf returns what a process of the list holds; a gap where it is not in it.
func useOf(list []device.ProcessUse, pid int) metric.Value {
	for _, p := range list {
		if p.PID == pid {
			return p.Used
		}
	}
	return metric.Missing("not listed")
}

// foreignBefore is what foreign processes held before the start, those that have left
// since among them.
func foreignBefore(w device.Watched, h holders) metric.Value {
	var list []device.ProcessUse
	for _, p := range w.Baseline.Processes {
		if !useOf(h.ours, p.PID).Known() {
			list = append(list, p)
		}
	}
	return sumUse(list)
}
