package plot

import (
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"tunebench/internal/timeline"
)

// moments draws when an experiment began, trained and ended.
type moments struct {
	timeline.Timeline
	seconds float64 // in one unit of the axis
	named   bool    // with names; a second panel below needs none
}

// Plot draws the band of the training with its steps, and the marks.
func (m moments) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	at := func(seconds float64) vg.Length { return x(seconds / m.seconds) }
	if b := m.Trained; b != nil {
		m.band(c, max(at(b.From), c.Min.X), min(at(b.To), c.Max.X))
		m.steps(c, at, b.From)
	}
	dashed := draw.LineStyle{Color: soft, Width: .75, Dashes: []vg.Length{2, 2}}
	for _, mark := range m.Marks {
		line := at(mark.At)
		if !c.ContainsX(line) {
			continue
		}
		c.StrokeLine2(dashed, line, c.Min.Y, line, c.Max.Y)
		style := letters(10, soft)
		style.XAlign = draw.XLeft
		if line > c.Center().X {
			style.XAlign, line = draw.XRight, line-6
		}
		if m.named {
			c.FillText(style, vg.Point{X: line + 3, Y: c.Max.Y - 2}, mark.Name)
		}
	}
}

func (m moments) band(c draw.Canvas, from, to vg.Length) {
	if to <= from {
		return
	}
	c.FillPolygon(tint(), []vg.Point{{X: from, Y: c.Min.Y}, {X: to, Y: c.Min.Y}, {X: to, Y: c.Max.Y}, {X: from, Y: c.Max.Y}})
	if m.named && letters(10, blue).Width("training") < to-from-6 {
		c.FillText(letters(10, blue), vg.Point{X: from + 4, Y: c.Max.Y - 15}, "training")
	}
}

// steps draws a tick for each step, with its number where there is room.
func (m moments) steps(c draw.Canvas, at func(float64) vg.Length, from float64) {
	style := letters(9, blue)
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	free := c.Min.X
	for _, s := range m.Steps {
		x := at(from + s.At)
		if !c.ContainsX(x) {
			continue
		}
		c.StrokeLine2(draw.LineStyle{Color: blue, Width: .75}, x, c.Min.Y, x, c.Min.Y+5)
		name := strconv.Itoa(s.N)
		if free == c.Min.X {
			name = "step " + name
		}
		half := style.Width(name) / 2
		if m.named && x-half > free && x+half < c.Max.X {
			c.FillText(style, vg.Point{X: x, Y: c.Min.Y + 7}, name)
			free = x + half + 8
		}
	}
}
