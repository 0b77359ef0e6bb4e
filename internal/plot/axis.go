package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// scale is what the seconds of an axis are divided by.
type scale struct {
	name string
	size float64
}

// timeScale is the unit in which a stretch of seconds is easy to read.
func timeScale(seconds float64) scale {
	switch {
	case seconds > 3*3600:
		return scale{name: "hours", size: 3600}
	case seconds > 600:
		return scale{name: "minutes", size: 60}
	}
	return scale{name: "seconds", size: 1}
}

// ticks puts marks at round numbers.
func ticks(low, high float64) []plot.Tick {
	const about = 8
	ten := math.Pow10(int(math.Floor(math.Log10((high - low) / about))))
	by := ten
	for _, m := range []float64{1, 2, 5, 10} {
		if by = m * ten; by >= (high-low)/about {
			break
		}
	}
	var out []plot.Tick
	for k := math.Ceil(low/by) + 0; k*by <= high; k++ { // -0 becomes 0
		out = append(out, plot.Tick{Value: k * by, Label: strconv.FormatFloat(k*by, 'f', max(0, -int(math.Floor(math.Log10(by)))), 64)})
	}
	return out
}

// newPlot returns the axes of a panel in the style of all pictures.
func newPlot(y string) *plot.Plot {
	p := plot.New()
	p.TextHandler = letters(0, ink).Handler
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle = letters(11, ink)
		a.Tick.Label = letters(10, soft)
		a.Color, a.Tick.Color = soft, soft
		a.Tick.Length = 4
		a.Tick.Marker = plot.TickerFunc(ticks)
	}
	p.X.Label.TextStyle.XAlign, p.X.Label.TextStyle.YAlign = draw.XCenter, draw.YBottom
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
	p.Y.Label.TextStyle.XAlign, p.Y.Label.TextStyle.YAlign = draw.XCenter, draw.YBottom
	p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.Y.Label.Text = y
	p.X.Padding, p.Y.Padding = 4, 4
	return p
}

// grid is horizontal lines, to go behind all else.
func grid() plot.Plotter {
	g := plotter.NewGrid()
	g.Vertical.Color = nil
	g.Horizontal = draw.LineStyle{Color: faint, Width: vg.Length(.75)}
	return g
}
