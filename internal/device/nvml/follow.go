package nvml

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// follow joins what one child saw and what the next one saw in its stead. The time
// between them is a gap, and the samples that were due in it are lost.
func follow(a, b device.Summary) device.Summary {
	gap := max(0, b.Started.Sub(a.Ended))
	out := a
	out.Driver, out.Library = cmp.Or(b.Driver, a.Driver), cmp.Or(b.Library, a.Library)
	out.Samples = a.Samples + b.Samples
	out.Lost = a.Lost + b.Lost + missed(gap, a.Interval)
	out.Achieved = time.Duration(weighted(float64(a.Achieved), float64(a.Samples-1), float64(b.Achieved), float64(b.Samples-1)))
	out.LargestGap, out.GapAt = widest(a.LargestGap, a.GapAt, b.LargestGap, b.GapAt)
	out.LargestGap, out.GapAt = widest(out.LargestGap, out.GapAt, gap, a.Ended)
	out.Ended, out.Exit = b.Ended, b.Exit
	notes := []string{fmt.Sprintf("%s; the sampler was started again, and nothing was seen for %s from %s on",
		a.Exit, gap.Round(time.Millisecond), a.Ended.Local().Format(time.TimeOnly))}
	out.Devices = nil
	for _, w := range a.Devices {
		i := slices.IndexFunc(b.Devices, func(o device.Watched) bool { return same(w.Device, o.Device) })
		if i < 0 {
			notes = append(notes, fmt.Sprintf("device %d was not found again: nothing more was seen of it", w.Index))
			out.Devices = append(out.Devices, w)
			continue
		}
		joined, note := followDevice(w, b.Devices[i], a.Ended.Sub(a.Started), b.Ended.Sub(b.Started))
		if note != "" {
			notes = append(notes, note)
		}
		joined.LargestGap, joined.GapAt = widest(joined.LargestGap, joined.GapAt, gap, a.Ended)
		out.Devices = append(out.Devices, joined)
	}
	out.Notes = slices.Concat(a.Notes, notes, unsaid(b.Notes, a.Notes))
	return out
}

func same(a, b device.Device) bool {
	if a.UUID != "" || b.UUID != "" {
		return a.UUID == b.UUID
	}
	return a.Index == b.Index
}

// followDevice joins what was seen of one device. The baseline stays: what the next child
// saw first is of within the run. Means are weighted by the time that each child watched.
func followDevice(a, b device.Watched, spanA, spanB time.Duration) (out device.Watched, note string) {
	if b.Samples > 0 && b.Source != a.Source {
		return a, fmt.Sprintf("device %d was then counted by %s and no more by %s: these readings are left out", a.Index, b.Source, a.Source)
	}
	out = a
	out.Peak, out.ProcessPeak = higher(a.Peak, b.Peak), higher(a.ProcessPeak, b.ProcessPeak)
	switch {
	case a.Mean.Known() && b.Mean.Known():
		out.Mean = metric.Of(weighted(a.Mean.Number, spanA.Seconds(), b.Mean.Number, spanB.Seconds()))
	case b.Mean.Known():
		out.Mean = b.Mean
	}
	out.Samples, out.Unreadable = a.Samples+b.Samples, a.Unreadable+b.Unreadable
	out.Gaps = slices.Concat(a.Gaps, unsaid(b.Gaps, a.Gaps))
	out.LargestGap, out.GapAt = widest(a.LargestGap, a.GapAt, b.LargestGap, b.GapAt)
	out.EnergyEnd = b.EnergyEnd
	return out, ""
}

func higher(a, b device.Moment) device.Moment {
	if b.Used.Known() && (!a.Used.Known() || b.Used.Number > a.Used.Number) {
		return b
	}
	return a
}

func widest(a time.Duration, atA time.Time, b time.Duration, atB time.Time) (time.Duration, time.Time) {
	if b > a {
		return b, atB
	}
	return a, atA
}

// missed counts the samples that were due within a gap, both ends excepted.
func missed(gap, interval time.Duration) int {
	if interval <= 0 {
		return 0
	}
	return max(0, int(gap/interval)-1)
}

// weighted is the mean of two values; one without weight does not count.
func weighted(a, weightA, b, weightB float64) float64 {
	if weightA+weightB <= 0 {
		return a
	}
	return (a*weightA + b*weightB) / (weightA + weightB)
}

// unsaid returns the texts that were not said before.
func unsaid(texts, said []string) (fresh []string) {
	for _, text := range texts {
		if !slices.Contains(said, text) {
			fresh = append(fresh, text)
		}
	}
	return fresh
}
