package memory

import (
	"fmt"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// Ledger splits what one device held at its peak among its holders, in bytes:
//
//	used = baseline + the experiment's processes + foreign processes + unexplained
//	the experiment's processes = torch allocated + slack + context and other
//
// What is sampled is of the moment of the device's peak. Torch's terms are known as peaks
// only, each at its own moment, so they stand peak against peak; with one process on a
// device the difference is what torch gave back to the driver before the device's peak.
type Ledger struct {
	Index      int
	UUID, Name string
	Source     string
	At         time.Time // of the peak; zero where it is not known

	Used        metric.Value
	Baseline    metric.Value
	Growth      metric.Value // Used - Baseline
	Allocated   metric.Value // by torch, the sum over Shares; peak against peak
	Slack       metric.Value // reserved by torch and not allocated; peak against peak
	Context     metric.Value // CUDA context, libraries and what else the processes held beside torch
	Foreign     metric.Value // what others held beyond what they held before the start
	Unexplained metric.Value // what of Used no term explains; below 0 where terms explain too much
	BeyondTorch metric.Value // Growth less torch's reserved: context, foreign and unexplained, told apart or not

	Shares  []Share             // of the experiment's processes
	Others  []device.ProcessUse // foreign processes at the peak
	Doubts  []string
	Remarks []string // what a reader may want to know and need not doubt
	Mark    Mark     // of Used

	AllocatedMark Mark // Doubtful where Allocated is a lower bound
}

// Share is the part of one process of the experiment.
type Share struct {
	Label     string
	Rank      int          // -1 where it has none
	Held      metric.Value // as the driver says, at the device's peak
	Allocated metric.Value // torch's peak
	Reserved  metric.Value // torch's peak
	Slack     metric.Value // Reserved - Allocated
	Context   metric.Value // Held - Reserved
	Exception string       // what ended the process; empty where nothing did
	Mark      Mark         // of Allocated and Reserved: Doubtful where they are lower bounds
}

// LedgerInput is what is known of one device.
type LedgerInput struct {
	Watched  device.Watched
	Torch    []TorchUse // on this device
	TorchGap string     // why nothing of torch is known; for an empty Torch
	Family   []int      // the pids of the experiment's processes
	Listed   bool       // the driver lists pids of the experiment, if on another device: they are of this namespace
}

// NewLedger makes the ledger of a device. A term that cannot be known is a gap with its
// reason, and so is every term that is computed of it.
func NewLedger(in LedgerInput) Ledger {
	w := in.Watched
	peak := peakOf(w)
	l := Ledger{
		Index: w.Index, UUID: w.UUID, Name: w.Name, Source: w.Source, At: peak.Time,
		Used: peak.Used, Baseline: baselineOf(w),
	}
	l.Growth = minus(l.Used, l.Baseline)
	l.remarkDriver(w)
	list, listGap := l.processes(w)
	held := tell(list, listGap, in)
	l.share(in, held)
	l.Others = held.foreign
	l.Foreign = l.foreign(w, held)
	l.settle(held)
	l.doubtGrowth(in, held)
	return l
}

// processes returns the list of the peak. Where it could not be read in time the list of
// the processes' own peak stands for it.
func (l *Ledger) processes(w device.Watched) (list []device.ProcessUse, gap string) {
	peak := peakOf(w)
	if peak.ProcessesGap == "" || len(w.ProcessPeak.Processes) == 0 {
		return peak.Processes, peak.ProcessesGap
	}
	l.note(Doubtful, fmt.Sprintf("the processes are those of %s, not of the device's peak: %s",
		w.ProcessPeak.Time.Format(time.TimeOnly), peak.ProcessesGap))
	return w.ProcessPeak.Processes, ""
}

// share makes the parts of the experiment's processes.
func (l *Ledger) share(in LedgerInput, held holders) {
	claimed := map[int]bool{}
	for _, u := range in.Torch {
		s := Share{Label: u.Label, Rank: u.Rank, Allocated: u.Allocated, Reserved: u.Reserved, Exception: u.Exception}
		s.Held = held.of(u.PIDs, claimed)
		if u.Partial {
			s.Mark, l.AllocatedMark = Doubtful, Doubtful
			l.remark(u.partial())
		}
		s.Slack = u.slack()
		s.Context = l.context(s, held, len(in.Torch) == 1)
		l.Shares = append(l.Shares, s)
	}
	for _, p := range held.ours {
		if claimed[p.PID] {
			continue
		}
		gap := metric.Missing("the process left no record of torch's memory here")
		s := Share{Label: fmt.Sprintf("process %d", p.PID), Rank: -1, Held: p.Used, Allocated: gap, Reserved: gap, Slack: gap, Context: gap}
		if len(in.Torch) > 0 {
			s.Context = p.Used
			l.remark(fmt.Sprintf("process %d left no record of torch's memory, so all that it held counts as context and other", p.PID))
		}
		l.Shares = append(l.Shares, s)
	}
	l.Allocated, l.Slack = torchSums(in)
}

// context is what a process held beside torch. Below 0 it says that the device's sampled
// peak is not the moment of torch's own.
func (l *Ledger) context(s Share, held holders, alone bool) metric.Value {
	v := minus(s.Held, s.Reserved)
	switch {
	case v.Known() && v.Number >= 0 && !s.Slack.Known():
		return s.Slack // what torch reserved is no more certain than its slack
	case !v.Known() || v.Number >= 0:
		return v
	}
	missed := inMiBText(-v.Number)
	reason := fmt.Sprintf("%s: torch reserved %s %s, and the process held %s at the sampled peak of %s",
		s.Label, bound(s.Mark == Doubtful), inMiBText(s.Reserved.Number), inMiBText(s.Held.Number), labelOf(l.Index, l.UUID))
	switch {
	case alone && len(held.foreign) == 0:
		l.note(Doubtful, reason+": the sampler missed at least "+missed)
	default:
		l.remark(reason + ": the peaks of those on a device need not be at one moment")
	}
	return metric.Missing(reason)
}

// foreign is what the others took after the start: what they held before is in the baseline.
func (l *Ledger) foreign(w device.Watched, held holders) metric.Value {
	if held.reason != "" {
		return metric.Missing(held.reason)
	}
	now := sumUse(held.foreign)
	if !now.Known() {
		return now
	}
	before := foreignBefore(w, held)
	label := labelOf(l.Index, l.UUID)
	for _, p := range held.foreign {
		if p.Used.Number == useOf(w.Baseline.Processes, p.PID).Number {
			l.remark(fmt.Sprintf("process %d is not the experiment's and held %s of %s all the time", p.PID, inMiBText(p.Used.Number), label))
			continue
		}
		l.note(Contaminated, fmt.Sprintf("process %d is not the experiment's and held %s of %s at the peak", p.PID, inMiBText(p.Used.Number), label))
	}
	if w.Baseline.ProcessesGap != "" && len(held.foreign) > 0 {
		l.note(Contaminated, "what foreign processes held before the start is not known ("+w.Baseline.ProcessesGap+"), so it counts twice if they did")
		return now
	}
	if !before.Known() {
		return before
	}
	if now.Number < before.Number {
		l.note(Contaminated, fmt.Sprintf("foreign processes gave %s of %s back before the peak", inMiBText(before.Number-now.Number), label))
	}
	return metric.Of(now.Number - before.Number)
}

// settle computes the terms that are left over.
func (l *Ledger) settle(held holders) {
	reserved := plus(l.Allocated, l.Slack)
	ours := metric.Missing(held.reason)
	if held.reason == "" {
		ours = sumUse(held.ours)
	}
	l.Context = l.contexts(ours, reserved)
	l.Unexplained = minus(minus(l.Growth, ours), l.Foreign)
	if l.BeyondTorch = minus(l.Growth, reserved); l.BeyondTorch.Known() && l.BeyondTorch.Number < 0 {
		l.BeyondTorch = metric.Missing(fmt.Sprintf("torch reserved up to %s, more than the %s by which the device grew as sampled",
			inMiBText(reserved.Number), inMiBText(l.Growth.Number)))
		if len(l.Shares) == 1 && held.reason != "" { // else the process itself has told
			l.note(Doubtful, l.BeyondTorch.Gap+": the sampler missed the peak")
		}
	}
}

// contexts is the sum of what the processes held beside torch.
func (l *Ledger) contexts(ours, reserved metric.Value) metric.Value {
	for _, s := range l.Shares {
		if reserved.Known() && !s.Context.Known() {
			return s.Context
		}
	}
	return minus(ours, reserved)
}

func (l *Ledger) note(m Mark, text string) {
	l.Doubts = append(l.Doubts, text)
	l.Mark = max(l.Mark, m)
}

func (l *Ledger) remark(text string) { l.Remarks = append(l.Remarks, text) }

// torchSums adds torch's peaks on a device.
func torchSums(in LedgerInput) (allocated, slack metric.Value) {
	if len(in.Torch) == 0 {
		gap := in.TorchGap
		if gap == "" {
			gap = "no process left a record of torch's memory on this device"
		}
		return metric.Missing(gap), metric.Missing(gap)
	}
	allocated, slack = metric.Of(0), metric.Of(0)
	for _, u := range in.Torch {
		allocated, slack = plus(allocated, u.Allocated), plus(slack, u.slack())
	}
	return allocated, slack
}

// slack is what torch had reserved and not allocated. Of two lower bounds the difference
// bounds nothing.
func (u TorchUse) slack() metric.Value {
	if u.Partial {
		return metric.Missing(u.partial())
	}
	return minus(u.Reserved, u.Allocated)
}

// minus and plus keep the first gap.
func minus(a, b metric.Value) metric.Value {
	switch {
	case !a.Known():
		return a
	case !b.Known():
		return b
	}
	return metric.Of(a.Number - b.Number)
}

func plus(a, b metric.Value) metric.Value {
	if !b.Known() {
		return minus(a, b)
	}
	return minus(a, metric.Of(-b.Number))
}

// inMiBText spells bytes in whole MiB, as the tools do.
func inMiBText(bytes float64) string {
	return fmt.Sprintf("%.0f MiB", bytes/float64(unit.MiB))
}
