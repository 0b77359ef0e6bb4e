package memory

import (
	"fmt"
	"math"
	"time"
)

// rhythm is how the rows of one device follow one another in a log. A log's times have no
// zone, so only their differences are used; a clock that was set back costs the stretch
// across it.
type rhythm struct {
	last  time.Time
	steps int // between two rows whose times are known
	span  time.Duration
	gap   time.Duration // the longest step
	gapAt time.Time     // when it began, by the log's own clock
}

func (r *rhythm) add(at time.Time) {
	step := at.Sub(r.last)
	known := !at.IsZero() && !r.last.IsZero() && step > 0
	r.last = at
	if !known || step > longestStep {
		return
	}
	if r.steps++; step > r.gap {
		r.gap, r.gapAt = step, at.Add(-step)
	}
	r.span = min(r.span+step, 100*longestStep)
}

// longestStep is the longest step that is one: beyond it a clock was set, or the log is
// damaged.
const longestStep = 366 * 24 * time.Hour

// usual is the mean step, the longest of several aside; 0 where it is not known.
func (r rhythm) usual() time.Duration {
	if r.steps < 2 {
		return r.span
	}
	return (r.span - r.gap) / time.Duration(r.steps-1)
}

// silence returns the longest time without a row within the log, and that without one at
// its two ends, as far as the run's own duration tells. A log begins before the run and
// ends after it, so what its clock shows beyond the run's time may be a clock that was set
// forward and counts as no silence.
func (r rhythm) silence(run time.Duration) (within, ends time.Duration) {
	if run <= 0 || r.steps == 0 {
		return r.gap, 0
	}
	return max(0, r.gap-max(0, r.span-run)), max(0, run-r.span)
}

// isStall tells a silence that a peak may hide in from an uneven pace. Against a pace that
// is not known nothing is told.
func isStall(silence, interval time.Duration) bool {
	return interval > 0 && silence >= longGap && silence/10 >= interval
}

// noteStalls makes a device's peak doubtful where its log is silent for long. The logger's
// own end, where it is known, has been told.
func (f *NvidiaFigures) noteStalls(series extents, o NvidiaOptions) {
	for i, d := range f.Devices {
		e := series.of(d.Index)
		if e == nil || !d.Reserved.Known() {
			continue
		}
		interval := max(o.Interval, e.rhythm.usual())
		within, ends := e.rhythm.silence(o.Duration)
		if isStall(within, interval) {
			f.note(i, Doubtful, fmt.Sprintf("%s has no row for %s from %s of its log on, so a peak may have been missed",
				d.label(), short(within), e.rhythm.gapAt.Format(time.TimeOnly)))
		}
		if isStall(ends, interval) && o.LoggerExit == "" {
			f.note(i, Doubtful, fmt.Sprintf("%s has no row for %s of the run at the start or the end of its log, so a peak may have been missed",
				d.label(), short(ends)))
		}
	}
}

// logSampling says how nvidia-smi, which writes a row for each sample, took them; of
// several devices by the one with the longest silence.
func logSampling(series extents, o NvidiaOptions) Sampling {
	var out Sampling
	if o.logSource() != LogSource {
		return out
	}
	for _, e := range series {
		r := e.rhythm
		within, ends := r.silence(o.Duration)
		if r.steps == 0 || max(within, ends) < out.LargestGap {
			continue
		}
		out = Sampling{
			Interval: o.Interval, Achieved: r.span / time.Duration(r.steps), Samples: r.steps + 1,
			LargestGap: max(within, ends), GapAt: r.gapAt, GapInRun: true,
		}
		if o.Interval > 0 {
			due := math.Round(float64(r.span-(r.gap-within)) / float64(o.Interval))
			out.Lost = max(0, int(due)-r.steps)
		}
	}
	return out
}
