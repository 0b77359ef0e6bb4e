// Package curve reads a log of memory into curves that are short enough to draw.
//
// It has the curve, the thinning that keeps every extreme (thin.go), and the readers of
// the devices' log (device.go) and the host's (host.go). A log may be of any length: what
// is kept does not grow with it. Where an experiment's moments lie beside its curves is left to
// package timeline, how a curve is drawn to packages page and plot.
package curve

import (
	"cmp"
	"slices"
	"time"
)

// Limit is how many points of a curve are enough for any picture.
const Limit = 2000

// Point is the level from a moment on: it holds until the next point, since logs are
// written when something changes and now and then between.
type Point struct {
	T float64 // seconds since the first row of the log
	V float64 // bytes
}

// Curve is one line of a picture.
type Curve struct {
	Name   string  // device 0, host PSS
	Model  string  // what the device calls itself: NVIDIA L4; empty for the host
	Points []Point // in the order of time, one at the least
	Rows   int     // readings of the log, before thinning
	Doubt  string  // what of the log is missing or doubtful here; empty for nothing
}

// Peak returns the first of the highest points.
func (c Curve) Peak() Point {
	return slices.MaxFunc(c.Points, func(a, b Point) int { return cmp.Compare(a.V, b.V) })
}

// Shift moves the curve by some seconds.
func (c Curve) Shift(seconds float64) {
	for i := range c.Points {
		c.Points[i].T += seconds
	}
}

// Apart returns how much later the devices' log began than the host's. The devices' is in
// local time without a zone and the host's in UTC. Zones lie whole quarters of an hour
// apart and both logs begin together, so what is left of the difference is the true one.
func Apart(devices, host time.Time) time.Duration {
	if devices.IsZero() || host.IsZero() {
		return 0
	}
	apart := devices.Sub(host)
	return apart - apart.Round(15*time.Minute)
}

// maxCurves bounds the devices of one log, which may come from anywhere.
const maxCurves = 256

// gathered is the curves of a log while it is read.
type gathered struct {
	max    int
	first  time.Time
	curves map[int]*growing
}

// growing is one curve while it is read.
type growing struct {
	name    string
	model   string
	thin    *thinner
	last    float64
	counted bool // rows without a time were put a second apart
}

func newGathered(limit int) *gathered {
	return &gathered{max: limit, curves: make(map[int]*growing)}
}

// curve returns the curve under that number; nil where the log has too many.
func (g *gathered) curve(number int, name, model string) *growing {
	c := g.curves[number]
	if c == nil && len(g.curves) < maxCurves {
		c = &growing{name: name, model: model, thin: newThinner(g.max)}
		g.curves[number] = c
	}
	return c
}

// start notes the time of a row, if it is the first.
func (g *gathered) start(at time.Time) {
	if g.first.IsZero() {
		g.first = at
	}
}

// add takes a reading. A clock that was set back does not turn the curve around, and a
// row without a time follows the one before it after a second.
func (g *gathered) add(c *growing, at time.Time, v float64) {
	switch {
	case at.IsZero():
		if c.counted || c.thin.rows > 0 {
			c.last++
		}
		c.counted = true
	default:
		c.last = max(c.last, at.Sub(g.first).Seconds())
	}
	c.thin.add(Point{T: c.last, V: v})
}

// done returns the curves by number. doubt says what is wrong with one.
func (g *gathered) done(doubt func(number int) string) []Curve {
	var numbers []int
	for n := range g.curves {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var out []Curve
	for _, n := range numbers {
		c := g.curves[n]
		curve := Curve{Name: c.name, Model: c.model, Points: c.thin.points(), Rows: c.thin.rows, Doubt: doubt(n)}
		if c.counted {
			curve.Doubt = cmp.Or(curve.Doubt, "the log has rows without a time: they are put a second apart")
		}
		out = append(out, curve)
	}
	return out
}
