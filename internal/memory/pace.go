package memory

import (
	"fmt"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// longGap is the shortest time without a sample that makes a peak doubtful. Making a CUDA
// context keeps NVML silent for a tenth of a second in every run, so less says nothing.
const longGap = time.Second

func sampling(s device.Summary, run Run) Sampling {
	out := Sampling{
		Interval: s.Interval, Achieved: s.Achieved, Samples: s.Samples, Lost: s.Lost,
		LargestGap: s.LargestGap, GapAt: s.GapAt,
	}
	ended := run.Ended
	if ended.IsZero() {
		ended = s.Ended
	}
	out.GapInRun = s.LargestGap > 0 && s.GapAt.Add(s.LargestGap).After(run.Started) && s.GapAt.Before(ended)
	return out
}

// remarks tells how the samples were taken.
func remarks(s device.Summary, run Run) []string {
	out := append([]string(nil), s.Notes...)
	if s.Lost > 0 {
		out = append(out, fmt.Sprintf("%d of %d samples were lost", s.Lost, s.Samples+s.Lost))
	}
	if p := sampling(s, run); p.LargestGap > 2*p.Interval && p.LargestGap > 0 {
		where := "before the start or after the end"
		if p.GapInRun {
			where = "within the run"
		}
		out = append(out, fmt.Sprintf("the longest time without a sample was %s, %s", short(p.LargestGap), where))
	}
	return out
}

// noteGap makes the peaks doubtful where nobody looked for long within the run.
func (f *NvidiaFigures) noteGap() {
	p := f.Sampling
	if !p.GapInRun || !isStall(p.LargestGap, p.Interval) {
		return
	}
	for i, d := range f.Devices {
		if d.Reserved.Known() {
			f.note(i, Doubtful, fmt.Sprintf("no sample was taken for %s within the run, so a peak may have been missed", short(p.LargestGap)))
		}
	}
}

// short rounds a duration for the eye.
func short(d time.Duration) time.Duration {
	if d >= 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(d / 100).Round(10 * time.Microsecond)
}

// Joules returns the energy that the devices took between the first and the last sample.
// One that is not known makes the sum unknown.
func Joules(s device.Summary) metric.Value {
	if len(s.Devices) == 0 {
		return metric.Missing("no device was watched")
	}
	total := 0.0
	for _, w := range s.Devices {
		label := labelOf(w.Index, w.UUID)
		switch {
		case !w.EnergyStart.Known():
			return metric.Missing(label + ": " + w.EnergyStart.Gap)
		case !w.EnergyEnd.Known():
			return metric.Missing(label + ": " + w.EnergyEnd.Gap)
		case w.EnergyEnd.Number < w.EnergyStart.Number:
			return metric.Missing(label + ": the energy counter was set back during the run")
		}
		total += w.EnergyEnd.Number - w.EnergyStart.Number
	}
	return metric.Of(total / 1000)
}
