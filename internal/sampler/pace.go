package sampler

import (
	"time"

	"tunebench/internal/device"
)

// pace is how regularly samples were taken.
type pace struct {
	samples int
	lost    int
	start   time.Time
	regular time.Time // the last sample that was taken in its turn, not at the end
	turns   int       // samples in their turn
	last    time.Time
	gap     time.Duration
	gapAt   time.Time
	ended   bool // the last sample was taken
}

func (p *pace) add(now time.Time, last bool) {
	if p.samples == 0 {
		p.start = now
	} else if gap := now.Sub(p.last); gap > p.gap {
		p.gap, p.gapAt = gap, p.last
	}
	p.samples++
	p.last, p.ended = now, last
	if !last || p.turns == 0 {
		p.turns++
		p.regular = now
	}
}

func (p *pace) summary(interval time.Duration, now time.Time) device.Summary {
	out := device.Summary{
		Interval: interval, Samples: p.samples, Lost: p.lost,
		LargestGap: p.gap, GapAt: p.gapAt, Started: p.start, Ended: p.last,
	}
	if p.turns > 1 {
		out.Achieved = p.regular.Sub(p.start) / time.Duration(p.turns-1)
	}
	if p.samples > 0 && !p.ended && now.Sub(p.last) > p.gap {
		out.LargestGap, out.GapAt = now.Sub(p.last), p.last
	}
	return out
}
