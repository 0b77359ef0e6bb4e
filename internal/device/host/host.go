// Package host reads the machine: the memory of a process tree, the processes that an
// earlier run left over, what the kernel killed for want of memory, free disk space,
// and the device files.
//
// Most of it comes from Linux's /proc; elsewhere every function says that it needs
// Linux. When to read, and what a reading means, is left to the callers.
package host

import (
	"context"

	"tunebench/internal/metric"
	"tunebench/internal/sampler"
)

// FamilyVariable is the environment variable that marks every process of one run.
const FamilyVariable = "TUNEBENCH_FAMILY"

// Proc is one process, with its memory in bytes.
type Proc struct {
	PID, Parent, Group int
	Name               string       // the command's name, cut by the kernel at 15 bytes
	RSS                metric.Value // resident, shared pages counted whole
	PSS                metric.Value // resident, a shared page counted in parts; a gap where not asked for
	PeakRSS            metric.Value // the kernel's own peak of RSS
}

// TreeOptions say which processes belong to the tree beside the root's descendants and
// its process group, and how much is read of them.
type TreeOptions struct {
	Token   string // processes that carry FamilyVariable=Token belong, too; empty: nobody else
	Without []int  // processes that are left out, such as a logger that carries the mark
	PSS     bool   // read PSS, for which the kernel walks all page tables
}

// Source reads the memory of one tree for a sampler.
type Source struct {
	Root    int
	Token   string
	Without []int
}

// Read sums the memory over the tree.
func (s Source) Read(ctx context.Context, withPSS bool) (sampler.HostReading, error) {
	if err := ctx.Err(); err != nil {
		return sampler.HostReading{}, err
	}
	procs, err := Tree(s.Root, TreeOptions{Token: s.Token, Without: s.Without, PSS: withPSS})
	if err != nil {
		return sampler.HostReading{}, err
	}
	return Sum(procs), nil
}

// Sum adds up a tree's memory. A process whose memory is not known makes the sum a gap:
// the rest of them would pass for the whole.
func Sum(procs []Proc) sampler.HostReading {
	out := sampler.HostReading{Processes: len(procs)}
	if len(procs) == 0 {
		none := metric.Missing("no process of the tree is left")
		out.RSS, out.PSS = none, none
		return out
	}
	out.RSS, out.PSS = metric.Of(0), metric.Of(0)
	for _, p := range procs {
		out.PIDs = append(out.PIDs, p.PID)
		out.RSS, out.PSS = plus(out.RSS, p.RSS), plus(out.PSS, p.PSS)
	}
	return out
}

func plus(sum, v metric.Value) metric.Value {
	switch {
	case !sum.Known():
		return sum
	case !v.Known():
		return v
	}
	return metric.Of(sum.Number + v.Number)
}
