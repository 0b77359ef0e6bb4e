package memory

import (
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// levelMean is the mean of a log's readings over time. Rows are written when a level
// changes and now and then, so a level holds until the next row, and their plain mean
// would say nothing.
type levelMean struct {
	at   time.Time
	used unit.Bytes
	area float64 // byte nanoseconds
	span float64 // nanoseconds
}

// add takes a reading. A clock that was set back costs the stretch across it.
func (m *levelMean) add(r device.Reading) {
	if dt := between(m.at, r.Time); dt > 0 && !m.at.IsZero() && !r.Time.IsZero() {
		m.area += float64(m.used) * dt
		m.span += dt
	}
	m.at, m.used = r.Time, r.Used
}

// between returns the nanoseconds from a to b. Unlike Sub it knows no longest time, and
// costs less, since it is asked for every row.
func between(a, b time.Time) float64 {
	return float64(b.Unix()-a.Unix())*1e9 + float64(b.Nanosecond()-a.Nanosecond())
}

// mean is in MiB.
func (m levelMean) mean() metric.Value {
	if m.span <= 0 {
		return metric.Missing("the log spans no time")
	}
	return metric.Of(m.area / m.span / float64(unit.MiB))
}

// MeanGrowth returns the mean over time minus the baseline, in MiB.
func (f DeviceFigures) MeanGrowth() metric.Value {
	switch {
	case !f.Reserved.Known():
		return f.Reserved
	case !f.Mean.Known():
		return f.Mean
	case f.Mean.Number < f.Baseline.Number:
		return metric.Missing(f.label() + " held less on the mean than before the start: another process gave memory back")
	}
	return metric.Of(f.Mean.Number - f.Baseline.Number)
}

// MeanGrowth returns the mean of the devices' figures of that name, in MiB, or the gap
// of the first that has none: a mean over fewer devices would be of another run.
func (f NvidiaFigures) MeanGrowth() metric.Value {
	if len(f.Devices) == 0 {
		return metric.Missing(f.Reserved.Gap)
	}
	sum := 0.0
	for _, d := range f.Devices {
		v := d.MeanGrowth()
		if !v.Known() {
			return v
		}
		sum += v.Number
	}
	return metric.Of(sum / float64(len(f.Devices)))
}

// Largest returns the device that grew most; ok is false where no growth is known.
func (f NvidiaFigures) Largest() (largest DeviceFigures, ok bool) {
	for _, d := range f.Devices {
		if d.Reserved.Known() && (!ok || d.Reserved.Number > largest.Reserved.Number) {
			largest, ok = d, true
		}
	}
	return largest, ok
}
