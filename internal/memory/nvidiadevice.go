package memory

import (
	"fmt"
	"strconv"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// InUse is the level from which on a device counts as used by somebody before the
// start: more than a driver or a desktop holds, less than any training.
const InUse = unit.GiB

// extent is what is kept of a device's readings.
type extent struct {
	index            int
	first, low, high unit.Bytes
	level            levelMean
	rhythm           rhythm
}

// extents are those of a log's devices. They are few, so a search along them is shorter
// than one through a map, and it is made for every row.
type extents []*extent

// of returns the extent of a device, or nil where it has none.
func (all extents) of(index int) *extent {
	for _, e := range all {
		if e.index == index {
			return e
		}
	}
	return nil
}

func (all *extents) add(r device.Reading) {
	e := all.of(r.Index)
	if e == nil {
		e = &extent{index: r.Index, first: r.Used, low: r.Used, high: r.Used}
		*all = append(*all, e)
	}
	e.add(r)
}

func (e *extent) add(r device.Reading) {
	e.low, e.high = min(e.low, r.Used), max(e.high, r.Used)
	e.level.add(r)
	e.rhythm.add(r.Time)
}

// deviceFigures computes one device's figures. The baseline is base, read before the
// start, or the first valid reading.
func deviceFigures(s device.Seen, e *extent, base *unit.Bytes, o NvidiaOptions) DeviceFigures {
	f := DeviceFigures{Index: s.Index, Name: s.Name, Samples: max(s.Readings, o.Taken[s.Index]), Unreadable: s.Unreadable}
	if s.Readings > 0 && s.Unreadable > 0 {
		f.note(Doubtful, unreadable(s))
	}
	if e == nil {
		gap := metric.Missing(noReading(s))
		f.Baseline, f.Peak, f.Reserved, f.Mean, f.low = gap, gap, gap, gap, gap
		if base != nil {
			f.Baseline = inMiB(*base)
		}
		return f
	}
	level := e.first
	if base != nil {
		level = *base
	}
	f.Baseline, f.Peak, f.low = inMiB(level), inMiB(e.high), inMiB(e.low)
	f.Mean = e.level.mean()
	f.Reserved = f.reserved(s, e, level, o)
	if f.Reserved.Known() {
		f.noteBaseline(e.low, level, base != nil)
	}
	return f
}

// reserved returns peak - baseline where two samples were taken and the peak is not below
// the baseline.
func (f DeviceFigures) reserved(s device.Seen, e *extent, level unit.Bytes, o NvidiaOptions) metric.Value {
	switch {
	case f.Samples < 2 && s.Unreadable > 0:
		return metric.Missing(fmt.Sprintf("fewer than two readings: %s", unreadable(s)))
	case f.Samples < 2 && o.LoggerExit != "":
		return metric.Missing(fmt.Sprintf("fewer than two readings of device %d: the logger ended by itself: %s", s.Index, o.LoggerExit))
	case f.Samples < 2:
		return metric.Missing(fmt.Sprintf(
			"fewer than two readings of device %d: the run was shorter than the sampling interval", s.Index))
	case e.high <= level-unit.MiB: // the log is in whole MiB, the baseline may be to the byte
		return metric.Missing(fmt.Sprintf(
			"device %d held %s before the start and never as much after it: another process gave memory back, so the peak cannot be told",
			s.Index, mib(level)))
	}
	return inMiB(max(0, e.high-level))
}

// noteBaseline adds the doubts that a high baseline raises.
func (f *DeviceFigures) noteBaseline(low, level unit.Bytes, before bool) {
	if level < InUse {
		return
	}
	if before {
		f.note(Contaminated, fmt.Sprintf("%s was in use before the run: %s", f.label(), mib(level)))
	} else {
		f.note(Doubtful, fmt.Sprintf(
			"baseline doubtful: the first reading of %s is already %s, so the device was in use before the run or sampling began late",
			f.label(), mib(level)))
	}
	if low < level-InUse/2 {
		f.note(Contaminated, fmt.Sprintf(
			"%s fell to %s, below its baseline: another process gave memory back during the run, so the figure may be too low",
			f.label(), mib(low)))
	}
}

// noReading says why a device that the log names has no valid reading.
func noReading(s device.Seen) string {
	texts := strings.Join(s.Texts, ", ")
	where := fmt.Sprintf("%s in all %d readings, first in line %d", texts, s.Unreadable, s.FirstLine)
	switch {
	case s.Unreadable == 0:
		return fmt.Sprintf("no reading of device %d", s.Index)
	case strings.Contains(texts, "Permission"):
		return fmt.Sprintf("memory of device %d may not be read: %s (a MIG slice, or a container without the permissions)", s.Index, where)
	case onlyUnsupported(s.Texts):
		return fmt.Sprintf("device reports no framebuffer memory: %s of device %d", where, s.Index)
	}
	return fmt.Sprintf("no reading of device %d is a number: %s", s.Index, where)
}

// onlyUnsupported tells a device without memory of its own from one that is lost or
// withheld: only the two words for "not supported" mean the former.
func onlyUnsupported(texts []string) bool {
	for _, t := range texts {
		if t = strings.Trim(t, "[]"); t != "N/A" && t != "Not Supported" {
			return false
		}
	}
	return true
}

func unreadable(s device.Seen) string {
	return fmt.Sprintf("%d of %d readings of device %d unreadable: %s, first in line %d",
		s.Unreadable, s.Readings+s.Unreadable, s.Index, strings.Join(s.Texts, ", "), s.FirstLine)
}

func inMiB(b unit.Bytes) metric.Value { return metric.Of(float64(b) / float64(unit.MiB)) }

// mib spells an amount as the log does.
func mib(b unit.Bytes) string {
	return strconv.FormatFloat(float64(b)/float64(unit.MiB), 'f', -1, 64) + " MiB"
}
