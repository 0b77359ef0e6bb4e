package memory

import (
	"fmt"
	"strings"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// Sampling is how the readings of devices were taken.
type Sampling struct {
	Interval   time.Duration // as asked for; 0 where it is not known
	Achieved   time.Duration // the mean between samples; 0 where it is not known
	Samples    int
	Lost       int
	LargestGap time.Duration
	GapAt      time.Time
	GapInRun   bool // the largest gap lies, at least in part, within the run
}

// Run is when the trainer ran.
type Run struct {
	Started, Ended time.Time
}

// Watched returns the figures of what a sampler kept, to the byte. log are the figures of
// the log beside it: they stand where the sampler died, since the log holds what it
// saw until then, and lend a first reading where the first sample could not be read.
func Watched(s device.Summary, log NvidiaFigures, run Run) NvidiaFigures {
	if s.Exit != "" && len(log.Devices) > 0 {
		return ofLog(s, log, run)
	}
	out := NvidiaFigures{Sampling: sampling(s, run), Remarks: remarks(s, run)}
	for _, w := range s.Devices {
		f := watchedDevice(w, s, log)
		out.Devices = append(out.Devices, f)
		out.Samples += f.Samples
	}
	out.Name, out.Reserved = names(out.Devices), mean(out.Devices)
	if len(out.Devices) == 0 {
		out.Reserved = metric.Missing("no device was watched")
	}
	out.Doubts = doubts(out, device.LogNotes{}, nil, s.Exit)
	out.Mark = out.gravest()
	if s.Exit != "" {
		out.Mark = max(out.Mark, Doubtful)
	}
	out.noteGap()
	return out
}

// ofLog takes the figures of the log, since the sampler died. Its rows are of changes, so
// they say nothing of how many samples were taken.
func ofLog(s device.Summary, log NvidiaFigures, run Run) NvidiaFigures {
	log.Sampling, log.Remarks = sampling(s, run), remarks(s, run)
	log.Doubts = append(log.Doubts, "the sampler ended early ("+s.Exit+"), so the figures are those of its log, in whole MiB")
	log.Mark = max(log.Mark, Doubtful)
	for i := range log.Devices {
		for _, w := range s.Devices {
			if w.Index == log.Devices[i].Index {
				log.Devices[i].Source, log.Devices[i].UUID = w.Source, w.UUID
			}
		}
	}
	return log
}

// watchedDevice computes one device's figures.
func watchedDevice(w device.Watched, s device.Summary, log NvidiaFigures) DeviceFigures {
	f := DeviceFigures{
		Index: w.Index, UUID: w.UUID, Name: w.Name, Source: w.Source,
		Samples: w.Samples, Unreadable: w.Unreadable, low: metric.Missing("no log"),
	}
	base, logged := scaled(baselineOf(w)), metric.Missing("no log")
	for _, d := range log.Devices {
		if d.Index != w.Index || w.Source == device.FromProcesses {
			continue
		}
		f.low, logged = d.low, d.Peak
		if !base.Known() && d.Baseline.Known() {
			f.note(Doubtful, fmt.Sprintf("%s: the first sample could not be read (%s), so the first reading of the log stands for the baseline", f.label(), base.Gap))
			base = d.Baseline
		}
	}
	f.Baseline, f.Peak, f.Mean = base, scaled(peakOf(w).Used), scaled(w.Mean)
	f.raise(logged)
	f.Reserved = f.growth(w, s)
	f.noteWatched(w)
	return f
}

// raise takes a higher peak from the log: a sampler that died and was started again wrote
// down what it had no time to tell. The log is in whole MiB.
func (f *DeviceFigures) raise(logged metric.Value) {
	if !logged.Known() || !f.Peak.Known() || logged.Number <= f.Peak.Number+0.5 {
		return
	}
	f.note(Doubtful, fmt.Sprintf("the peak of %s is from its log, in whole MiB: the sampler that saw it died before it told of it", f.label()))
	f.Peak = logged
}

// noteWatched adds the doubts of a figure that there is.
func (f *DeviceFigures) noteWatched(w device.Watched) {
	if !f.Reserved.Known() {
		return
	}
	if w.Source == device.FromProcesses {
		f.note(Doubtful, f.label()+" has no counter of its own, so its processes' sum stands for it, read less often and without what the driver holds")
	} else if w.Unreadable > 0 {
		f.note(Doubtful, fmt.Sprintf("%d of %d readings of %s unreadable: %s",
			w.Unreadable, w.Samples+w.Unreadable, f.label(), strings.Join(w.Gaps, ", ")))
	}
	low := unit.Bytes(f.Baseline.Number * float64(unit.MiB))
	level := low
	if f.low.Known() {
		low = unit.Bytes(f.low.Number * float64(unit.MiB))
	}
	f.noteBaseline(low, level, true)
}

// growth returns peak - baseline, or why it cannot be told.
func (f *DeviceFigures) growth(w device.Watched, s device.Summary) metric.Value {
	switch {
	case !f.Peak.Known():
		return metric.Missing(unreadableDevice(w))
	case !f.Baseline.Known():
		return metric.Missing(fmt.Sprintf("%s: no baseline from before the start: %s", f.label(), f.Baseline.Gap))
	case f.Peak.Number < f.Baseline.Number:
		return metric.Missing(f.label() + " never held as much after the start as before it: the peak cannot be told")
	case w.Source != device.FromProcesses && tooShort(w, s, f.Peak.Number > f.Baseline.Number):
		return metric.Missing(fmt.Sprintf(
			"no sample between the first and the last of %s: the run was shorter than the sampling interval", f.label()))
	case w.Samples > 1 && f.Peak.Number == f.Baseline.Number && f.Peak.Number >= float64(InUse/unit.MiB):
		return metric.Missing(fmt.Sprintf(
			"%s held %s before the start and never more after it: another process may have given memory back, so the peak cannot be told",
			f.label(), mib(unit.Bytes(f.Peak.Number*float64(unit.MiB)))))
	}
	return metric.Of(f.Peak.Number - f.Baseline.Number)
}

// tooShort tells a run that no sample fell into: the first sample is taken before the
// start and the last one after the end.
func tooShort(w device.Watched, s device.Summary, grew bool) bool {
	return w.Samples < 2 || w.Samples == 2 && !grew && s.Exit == ""
}

// unreadableDevice says why a device has no level.
func unreadableDevice(w device.Watched) string {
	texts := strings.Join(w.Gaps, ", ")
	if texts == "" {
		texts = w.Peak.Used.Gap
	}
	label := labelOf(w.Index, w.UUID)
	if w.Source == device.FromProcesses {
		return fmt.Sprintf("device reports no framebuffer memory: %s of %s; nor is there a sum over its processes: %s",
			texts, label, w.ProcessPeak.Used.Gap)
	}
	return fmt.Sprintf("no reading of %s is a number: %s", label, texts)
}

// peakOf returns the moment that counts as the device's peak.
func peakOf(w device.Watched) device.Moment {
	if w.Source == device.FromProcesses {
		return w.ProcessPeak
	}
	return w.Peak
}

// baselineOf returns what a device held before the start. Of one that is known by its
// processes only, an empty list is 0 where the list has shown processes later on: a list
// that never shows any is one that hides them.
func baselineOf(w device.Watched) metric.Value {
	if w.Source != device.FromProcesses {
		return w.Baseline.Used
	}
	if w.Baseline.ProcessesGap != "" {
		return metric.Missing(w.Baseline.ProcessesGap)
	}
	if len(w.Baseline.Processes) == 0 && !w.ProcessPeak.Used.Known() {
		return metric.Missing("the driver lists no process")
	}
	return sumUse(w.Baseline.Processes)
}

// sumUse adds what processes hold; one that is not known makes the sum unknown.
func sumUse(list []device.ProcessUse) metric.Value {
	total := 0.0
	for _, p := range list {
		if !p.Used.Known() {
			return metric.Missing(fmt.Sprintf("memory of process %d is not known: %s", p.PID, p.Used.Gap))
		}
		total += p.Used.Number
	}
	return metric.Of(total)
}

// scaled turns bytes into MiB.
func scaled(v metric.Value) metric.Value {
	if !v.Known() {
		return v
	}
	return metric.Of(v.Number / float64(unit.MiB))
}
