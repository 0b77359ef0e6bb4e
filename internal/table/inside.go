package table

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/probe"
	"tunebench/internal/record"
	"tunebench/internal/trainer"
)

// inside is what the experiment's processes said of themselves.
type inside struct {
	report probe.Report
	uses   []memory.TorchUse
	gap    string // why there is nothing of torch
	there  bool   // the probe was on, or has left a folder
}

// readProbe reads what the probe left. A link in place of the folder is not followed,
// and what is damaged costs no more than itself.
func (r *Row) readProbe(root *os.Root, rec record.Record) inside {
	p := inside{there: rec.Probe != nil, gap: "the probe was off"}
	if rec.Probe != nil {
		r.note("probe", rec.Probe.Notes...)
		p.gap = "the probe left no records"
	}
	if r.Status == outcome.Running {
		return p
	}
	report, found, err := readProbeIn(root)
	if err != nil {
		p.gap = fmt.Sprintf("the probe's records cannot be read: %v", err)
		r.note("probe", p.gap)
		return p
	}
	if !found {
		return p
	}
	p.there, p.report, p.uses = true, report, uses(report)
	p.gap = "no process used a device through torch"
	r.note("probe", report.Notes...)
	r.Exceptions = exceptions(report)
	return p
}

// exceptions says what ended processes. A launcher's own exception says only that a child
// failed, so it stands where no child says why.
func exceptions(r probe.Report) []string {
	var own, launchers []string
	for _, p := range r.Processes {
		if p.Exception == nil {
			continue
		}
		text := spelledException(*p.Exception)
		said := fmt.Sprintf("%s: %s", p.Label(), text)
		if outcome.OfLauncher(text) {
			launchers = append(launchers, said)
		} else {
			own = append(own, said)
		}
	}
	if len(own) > 0 {
		return own
	}
	return launchers
}

func readProbeIn(root *os.Root) (r probe.Report, found bool, err error) {
	info, err := root.Lstat(record.ProbeDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, false, nil
	case err != nil:
		return r, false, err
	case !info.IsDir():
		return r, false, fmt.Errorf("%s is not a folder", record.ProbeDir)
	}
	folder, err := root.OpenRoot(record.ProbeDir)
	if err != nil {
		return r, false, err
	}
	defer folder.Close()
	r, err = probe.Read(folder.FS())
	return r, err == nil, err
}

// uses turns what the processes held through torch into the terms of package memory.
func uses(r probe.Report) []memory.TorchUse {
	var out []memory.TorchUse
	for _, p := range r.Processes {
		for _, d := range p.Devices {
			u := memory.TorchUse{
				Label: p.Label(), Rank: -1, PIDs: distinctPIDs(p), Index: d.Index, UUID: d.UUID,
				Allocated: d.AllocatedPeak, Reserved: d.ReservedPeak, Partial: !p.Complete,
			}
			if p.Role == probe.RoleRank {
				u.Rank = 0
			}
			if p.Role == probe.RoleRank && p.Place != nil {
				u.Rank = p.Place.Rank
			}
			if p.Exception != nil {
				u.Exception = spelledException(*p.Exception)
			}
			out = append(out, u)
		}
	}
	return out
}

func distinctPIDs(p probe.Process) []int {
	pids := append(slices.Clone(p.PIDs), p.PID)
	slices.Sort(pids)
	return slices.Compact(pids)
}

// spelledException is the type with the first line of the message that is no rule.
func spelledException(e probe.Exception) string {
	first := ""
	for line := range strings.Lines(e.Message) {
		if first = strings.TrimSpace(line); strings.Trim(first, "=-*") != "" {
			break
		}
		first = ""
	}
	return strings.TrimSuffix(e.Type+": "+first, ": ")
}

// exact returns the metrics with the probe's exact values in place of those that are
// missing or were printed with four digits.
func exact(rec record.Record, p inside) metric.Set {
	t := p.report.Trainer()
	if t == nil {
		return rec.Metrics
	}
	out := rec.Metrics
	for _, m := range t.Final {
		own, has := out.Get(m.Name)
		if !m.Value.Known() && has {
			continue
		}
		if !has || !own.Known() && own.Text == "" || rec.MetricsFrom == trainer.Stdout {
			out = out.With(m.Name, m.Value)
		}
	}
	return out
}

// Who read torch's memory at the Trainer's stages.
const (
	fromTracker = "tracker"
	fromProbe   = "probe"
)

// addTorch adds torch's figures: at the Trainer's stages from its own tracker, else from
// the probe at the same stages, and the peaks over all ranks. It returns the peak of rank 0.
func (r *Row) addTorch(rec record.Record, p inside, o Options) metric.Value {
	source := fromTracker
	stages := rec.Metrics
	allocated, peak, doubts := memory.Torch(stages, o.Stages)
	if t := p.report.Trainer(); !allocated.Known() && t != nil && len(t.Stages) > 0 {
		source = cmp.Or(t.Source, fromProbe)
		allocated, peak, doubts = memory.Torch(t.Stages, o.Stages)
	}
	r.addNumber(Result, memory.TorchAllocated, allocated)
	r.addNumber(Result, memory.TorchPeak, peak)
	r.note("torch memory", doubts...)
	if len(doubts) > 0 {
		r.TorchMark = memory.Doubtful
	}
	if rec.Experiment.ID != "" && allocated.Known() {
		r.addText(Result, memory.TorchSource, source)
	}
	if p.there {
		r.addReserved(p)
	}
	return peak
}

// addReserved adds the largest reserved peak. One rank's is named, none is averaged away.
func (r *Row) addReserved(p inside) {
	top, reserved := memory.Worst(ranks(p.uses))
	if len(p.uses) == 0 {
		reserved = metric.Missing(p.gap)
	}
	r.addNumber(Result, memory.TorchReserved, reserved)
	rank := ""
	if reserved.Known() && top.Rank >= 0 {
		rank = strconv.Itoa(top.Rank)
	}
	r.addText(Result, memory.TorchWorstRank, rank)
	if why := p.report.Unsure(); reserved.Known() && len(why) > 0 {
		text := "what torch reserved is a lower bound"
		if rank != "" {
			text += ", and rank " + rank + " is the worst of those known"
		}
		r.note("torch memory", text+": "+strings.Join(why, "; "))
		r.TorchMark = memory.Doubtful
	}
}

// ranks returns the uses of ranks; of all where no process is one.
func ranks(all []memory.TorchUse) []memory.TorchUse {
	var out []memory.TorchUse
	for _, u := range all {
		if u.Rank >= 0 {
			out = append(out, u)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// addLedger makes the ledgers, and the doubts that all sources raise together.
func (r *Row) addLedger(root *os.Root, rec record.Record, p inside) {
	if rec.Watch == nil {
		return
	}
	devices := memory.Devices(rec.Watch.Summary, rec.Watch.Devices, r.Memory)
	uses, notes := memory.Assign(p.uses, devices)
	r.note("torch memory", notes...)
	r.Memory.Exceed(devices, uses)
	pids := slices.Clone(rec.FamilyPIDs)
	for _, process := range p.report.Processes {
		pids = append(pids, distinctPIDs(process)...)
	}
	spans := r.readProcesses(root)
	inputs := memory.Inputs(devices, uses, p.gap, pids, spans)
	r.Memory.Foreign(spans, inputs)
	r.Ledger = memory.Ledgers(inputs)
	r.Memory.Adopt(r.Ledger)
}

// addVersions adds the versions that a result depends on. They are neither asked for nor
// measured, so they stand among our own cells.
func (r *Row) addVersions(rec record.Record, p inside) {
	if ranks := p.report.Ranks(); len(ranks) > 0 {
		for _, v := range ranks[0].Versions {
			r.addText(Own, "version_"+v.Name, v.Version)
		}
	}
	if rec.Watch != nil && rec.Watch.Summary != nil && rec.Watch.Summary.Driver != "" {
		r.addText(Own, "version_driver", rec.Watch.Summary.Driver)
	}
}
