package plot

import (
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"tunebench/internal/outcome"
)

// ending is what stands in the place of a figure.
type ending struct {
	column, row int
	text        string
}

// endings names the experiments that have no figure, by group and batch size: they are not
// drawn as zero. any is false where all have one.
func endings(groups []group, sizes []float64) (p panel, any bool) {
	var all []ending
	var names []string
	for _, g := range groups {
		words := make([][]string, len(sizes))
		for _, f := range g.rows {
			if text := f.without(); text != "" {
				n, _ := f.batchSize()
				at, _ := slices.BinarySearch(sizes, n)
				words[at] = append(words[at], text)
			}
		}
		own := inColumns(words, len(names))
		if len(own) > 0 {
			all, names = append(all, own...), append(names, g.name)
		}
	}
	if len(all) == 0 {
		return p, false
	}
	p = panel{plot: batchAxes("no figure", sizes), height: 48 + max(2, vg.Length(len(names)))*20}
	p.plot.Y.Min, p.plot.Y.Max = -.5, float64(len(names))-.5
	var marks plot.ConstantTicks
	for i, name := range names {
		marks = append(marks, plot.Tick{Value: float64(i), Label: shown(name, 22)})
	}
	p.plot.Y.Tick.Marker = marks
	p.plot.Add(written(all))
	return p, true
}

// without says why an experiment has no figure; nothing where it has one.
func (f facts) without() string {
	switch {
	case f.status != outcome.OK:
		return f.word
	case !f.memory.Known() && !f.speed.Known():
		return "ok, not measured"
	}
	return ""
}

// inColumns counts equal words of one column.
func inColumns(words [][]string, row int) []ending {
	var out []ending
	for column, list := range words {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		var parts []string
		for len(list) > 0 {
			end := 1
			for end < len(list) && list[end] == list[0] {
				end++
			}
			part := list[0]
			if end > 1 {
				part = strconv.Itoa(end) + " " + part
			}
			parts, list = append(parts, part), list[end:]
		}
		out = append(out, ending{column: column, row: row, text: strings.Join(parts, ", ")})
	}
	return out
}

// written draws the words in their places.
type written []ending

// Plot draws the words, each as long as its column is wide.
func (w written) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := letters(10, red)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	column := x(1) - x(0)
	for _, e := range w {
		text := e.text
		for most := len([]rune(text)); style.Width(text) > column-4 && most > 3; most-- {
			text = shown(e.text, most)
		}
		c.FillText(style, vg.Point{X: x(float64(e.column)), Y: y(float64(e.row))}, text)
	}
}
