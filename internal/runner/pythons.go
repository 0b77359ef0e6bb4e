package runner

import (
	"slices"

	"tunebench/internal/probe"
)

// pythons gathers why the probe is not in interpreters that the experiment's own processes
// started: scripts hand options on that the command does not show.
type pythons struct {
	argv    func(pid int) []string // what a process was started with; empty where it has ended
	sighted map[int]int            // how often each process was seen
	notes   []string
}

func newPythons(argv func(pid int) []string) *pythons {
	return &pythons{argv: argv, sighted: make(map[int]int)}
}

// look reads the commands of the processes. One may become another program, so it is
// read anew at its second, fourth, eighth... sighting.
func (p *pythons) look(pids []int) {
	for _, pid := range pids {
		p.sighted[pid]++
		if n := p.sighted[pid]; n&(n-1) != 0 {
			continue
		}
		if why := probe.IgnoredBy(p.argv(pid)); why != "" && !slices.Contains(p.notes, why) {
			p.notes = append(p.notes, why)
		}
	}
}
