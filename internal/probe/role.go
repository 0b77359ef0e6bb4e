package probe

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Ranks returns the processes that trained, by rank.
func (r Report) Ranks() []Process {
	var ranks []Process
	for _, p := range r.Processes {
		if p.Role == RoleRank {
			ranks = append(ranks, p)
		}
	}
	return ranks
}

// Trainer returns what the Trainer of the lowest rank knew, and nil where there was none.
func (r Report) Trainer() *Trainer {
	for _, p := range r.Ranks() {
		if p.Trainer != nil {
			return p.Trainer
		}
	}
	return nil
}

// Label names a process for people: rank 1 (pid 4711).
func (p Process) Label() string {
	if p.Role == RoleRank && p.Place != nil {
		return fmt.Sprintf("rank %d (pid %d)", p.Place.Rank, p.PID)
	}
	return fmt.Sprintf("process %d", p.PID)
}

// assign gives every process its role. What has torch and a rank is a rank, except below
// another process of the same rank, whose helper it is: helpers inherit the variables.
// Where no process has a rank the outermost processes with torch are ranks, launchers
// aside: accelerate loads torch itself.
func (r *Report) assign() {
	r.replaced()
	ranked := slices.ContainsFunc(r.Processes, func(p Process) bool { return p.trains() && p.Place != nil })
	// Parents start before their children, so a parent's role is known when it is asked for.
	slices.SortStableFunc(r.Processes, func(a, b Process) int { return a.Started.Compare(b.Started) })
	for i := range r.Processes {
		r.Processes[i].Role = r.role(i, ranked)
	}
	for i, p := range r.Processes {
		if p.Role == RoleOther && r.startsRanks(i) {
			r.Processes[i].Role = RoleLauncher
		}
	}
}

func (p Process) trains() bool { return p.HasTorch && !p.Replaced }

// replaced marks the processes that became another program: same pid, no exit of its
// own, and a later record.
func (r *Report) replaced() {
	for i, p := range r.Processes {
		for _, other := range r.Processes {
			if other.PID == p.PID && other.PPID == p.PPID && !p.Complete && other.Started.After(p.Started) {
				r.Processes[i].Replaced = true
			}
		}
	}
}

func (r *Report) role(i int, ranked bool) Role {
	p := r.Processes[i]
	helps := func(j int) bool {
		above := r.Processes[j]
		return above.Role == RoleRank && (p.Place == nil || above.Place == nil || p.Place.Rank == above.Place.Rank)
	}
	switch {
	case slices.ContainsFunc(r.ancestors(i), helps):
		return RoleWorker
	case isLauncher(p.Argv):
		return RoleLauncher
	case p.trains() && (p.Place != nil || !ranked):
		return RoleRank
	}
	return RoleOther
}

// ancestors returns the processes above one, as far as they left records.
func (r *Report) ancestors(i int) []int {
	var above []int
	child := r.Processes[i]
	for j := i - 1; j >= 0; j-- {
		if p := r.Processes[j]; p.PID == child.PPID && p.PID != child.PID {
			above, child = append(above, j), p
		}
	}
	return above
}

func (r *Report) startsRanks(i int) bool {
	for j, p := range r.Processes {
		if p.Role == RoleRank && slices.Contains(r.ancestors(j), i) {
			return true
		}
	}
	return false
}

// isLauncher reports whether a command is one of the known launchers, which load torch
// without training. It looks at the program and, behind an interpreter, at the script or
// module: later words are the script's own.
func isLauncher(argv []string) bool {
	for i, arg := range argv {
		switch path.Base(arg) {
		case "accelerate", "accelerate-launch", "torchrun", "deepspeed":
			return true
		}
		if i > 0 && argv[i-1] == "-m" {
			return isLauncherModule(arg)
		}
		if i > 0 && !strings.HasPrefix(arg, "-") {
			return false
		}
	}
	return false
}

func isLauncherModule(name string) bool {
	known := []string{"accelerate.commands.", "torch.distributed.run", "torch.distributed.launch", "deepspeed."}
	return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(name, k) })
}
