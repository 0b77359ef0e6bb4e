package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"tunebench/internal/curve"
	"tunebench/internal/timeline"
	"tunebench/internal/view"
)

// maxKey is how many curves a key names; a log may be of more devices than that.
const maxKey = 16

// overTime is the memory of one experiment over time; ok is false where no log of it can be
// read.
func overTime(f facts, l timeline.Timeline, memory view.Unit) (s sheet, ok bool) {
	low, high, ok := extent(l)
	if !ok {
		return s, false
	}
	s.title = shown(f.name+": memory over time", 90)
	s.below = []string{shown(strings.Join(f.asked(), " \u00b7 "), 120)}
	if f.failed() {
		s.below = append(s.below, shown(f.ending(), 120))
	}
	time := timeScale(high - low)
	for _, group := range []struct {
		name   string
		curves []curve.Curve
		held   bool
	}{{"devices", l.Devices, true}, {"host", l.Host, false}} {
		if len(group.curves) > 0 {
			p := newPlot(fmt.Sprintf("%s (%s)", group.name, memory))
			p.Add(grid(), moments{Timeline: l, seconds: time.size, named: len(s.panels) == 0}) // behind the curves
			s.panels = append(s.panels, timePanel(p, group.curves, group.held, memory, time))
		}
	}
	for _, p := range s.panels {
		p.plot.X.Min, p.plot.X.Max = low/time.size, high/time.size
	}
	s.panels[len(s.panels)-1].plot.X.Label.Text = time.name + " since the first reading"
	for _, n := range l.Notes {
		s.foot = append(s.foot, shown(n, 130))
	}
	return s, true
}

// extent returns the first and the last moment; ok is false where there is no curve.
func extent(l timeline.Timeline) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, c := range slices.Concat(l.Devices, l.Host) {
		low, high = min(low, c.Points[0].T), max(high, c.Points[len(c.Points)-1].T)
	}
	if low > high {
		return 0, 0, false
	}
	for _, m := range l.Marks {
		low, high = min(low, m.At), max(high, m.At)
	}
	return low, max(high, low+1), true
}

// timePanel draws curves. A device's log says when its level changed, so the level is held
// until the next point; the host is read now and then, and its readings are joined.
func timePanel(axes *plot.Plot, curves []curve.Curve, held bool, memory view.Unit, time scale) panel {
	p := panel{plot: axes, height: 210}
	top := 0.0
	for i, c := range curves {
		peak := c.Peak()
		top = max(top, peak.V/memory.Size())
		line := &plotter.Line{XYs: scaled(c.Points, memory, time), LineStyle: lineStyle(i)}
		if held {
			line.StepStyle = plotter.PostStep
		}
		mark := &plotter.Scatter{XYs: scaled([]curve.Point{peak}, memory, time), GlyphStyle: markStyle(i, true)}
		p.plot.Add(line, mark)
		if i < maxKey {
			p.key = append(p.key, entry{text: fmt.Sprintf("%s: peak %s %s", c.Name, memory.Format(peak.V), memory), line: line.LineStyle, mark: mark.GlyphStyle})
		}
	}
	if more := len(curves) - maxKey; more > 0 {
		p.key = append(p.key, entry{text: fmt.Sprintf("and %d more", more)})
	}
	if top == 0 {
		top = 1
	}
	p.plot.Y.Min, p.plot.Y.Max = 0, top*1.22
	return p
}

func scaled(points []curve.Point, memory view.Unit, time scale) plotter.XYs {
	out := make(plotter.XYs, len(points))
	for i, p := range points {
		out[i] = plotter.XY{X: p.T / time.size, Y: p.V / memory.Size()}
	}
	return out
}
