package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"tunebench/internal/outcome"
	"tunebench/internal/view"
)

// group is the experiments of one model that are drawn as one line: of one method, on as
// many GPUs.
type group struct {
	name string
	rows []facts
}

// The most that one picture can show.
const (
	maxGroups = 24
	maxLabels = 16 // of batch sizes
)

// overBatch is memory and throughput of one model over the batch size; ok is false where
// no figure is known.
func overBatch(m model, memory view.Unit) (s sheet, ok bool) {
	rows := slices.DeleteFunc(slices.Clone(m.rows), func(f facts) bool {
		_, numeric := f.batchSize()
		return !numeric || f.status == outcome.Running
	})
	groups, sizes := groupsOf(rows), sizesOf(rows)
	left := max(0, len(groups)-maxGroups)
	groups = groups[:len(groups)-left]
	memoryPanel := batchPanel("memory ("+memory.String()+")", groups, sizes, func(f facts) (v float64, sure, known bool) {
		return f.memory.Number / memory.Size(), f.sure, f.memory.Known()
	})
	speedPanel := batchPanel("tokens per second", groups, sizes, func(f facts) (v float64, sure, known bool) {
		return f.speed.Number, true, f.speed.Known()
	})
	for _, p := range []panel{memoryPanel, speedPanel} {
		if len(p.key) > 0 {
			s.panels = append(s.panels, p)
		}
	}
	if len(s.panels) == 0 {
		return s, false
	}
	if len(s.panels) == 2 {
		s.panels[1].key = missingFrom(s.panels[0].key, s.panels[1].key)
	}
	if p, any := endings(groups, sizes); any {
		s.panels = append(s.panels, p)
	}
	s.panels[len(s.panels)-1].plot.X.Label.Text = "batch size per device"
	s.title = shown(cmp.Or(m.name, "no model named")+": memory and throughput", 80)
	if devices := devicesOf(rows); devices != "" {
		s.below = []string{shown(devices, 120)}
	}
	s.foot = remarks(rows)
	if left > 0 {
		s.foot = append(s.foot, fmt.Sprintf("%d more methods are not drawn.", left))
	}
	return s, true
}

// groupsOf groups rows by method, and by the number of GPUs where it differs.
func groupsOf(rows []facts) []group {
	several := false
	for _, f := range rows {
		several = several || f.gpus != rows[0].gpus
	}
	var out []group
	for _, f := range rows {
		name := cmp.Or(f.method, "no method named")
		if several {
			name += ", " + cmp.Or(f.onGPUs(), "GPUs not known")
		}
		at := slices.IndexFunc(out, func(g group) bool { return g.name == name })
		if at < 0 {
			at, out = len(out), append(out, group{name: name})
		}
		out[at].rows = append(out[at].rows, f)
	}
	slices.SortStableFunc(out, func(a, b group) int { return strings.Compare(a.name, b.name) })
	return out
}

// sizesOf returns the batch sizes, each once and ascending. They stand at equal distances.
func sizesOf(rows []facts) []float64 {
	var out []float64
	for _, f := range rows {
		n, _ := f.batchSize()
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// batchAxes returns axes whose x counts the batch sizes.
func batchAxes(y string, sizes []float64) *plot.Plot {
	p := newPlot(y)
	p.X.Min, p.X.Max = -.5, float64(len(sizes))-.5
	var marks plot.ConstantTicks
	every := max(1, (len(sizes)+maxLabels-1)/maxLabels)
	for i, n := range sizes {
		mark := plot.Tick{Value: float64(i)}
		if i%every == 0 {
			mark.Label = strconv.FormatFloat(n, 'g', -1, 64)
		}
		marks = append(marks, mark)
	}
	p.X.Tick.Marker = marks
	return p
}

// batchPanel draws one figure: a mark for each experiment, and a line through the means.
func batchPanel(y string, groups []group, sizes []float64, value figure) panel {
	p := panel{plot: batchAxes(y, sizes), height: 210}
	p.plot.Add(grid())
	top := 0.0
	for i, g := range groups {
		m := marksOf(g.rows, sizes, value)
		if len(m.line) == 0 {
			continue
		}
		line := &plotter.Line{XYs: m.line, LineStyle: lineStyle(i)}
		p.plot.Add(line, &plotter.Scatter{XYs: m.sure, GlyphStyle: markStyle(i, true)}, &plotter.Scatter{XYs: m.doubtful, GlyphStyle: markStyle(i, false)})
		p.key = append(p.key, entry{text: shown(g.name, 40), line: line.LineStyle, mark: markStyle(i, true)})
		for _, at := range slices.Concat(m.sure, m.doubtful) {
			top = max(top, at.Y)
		}
	}
	if top == 0 {
		top = 1
	}
	p.plot.Y.Min, p.plot.Y.Max = 0, top*1.08
	return p
}

// figure is what a panel draws of an experiment that ended ok; known is false where there
// is none.
type figure func(facts) (v float64, sure, known bool)

// marks is what is drawn of one group.
type marks struct {
	sure, doubtful plotter.XYs // an experiment each
	line           plotter.XYs // the mean of each batch size
}

// marksOf places the known figures. One that is not known has no place.
func marksOf(rows []facts, sizes []float64, value figure) marks {
	var m marks
	sums, counts := make([]float64, len(sizes)), make([]float64, len(sizes))
	for _, f := range rows {
		v, sure, known := value(f)
		if !known || f.status != outcome.OK {
			continue
		}
		n, _ := f.batchSize()
		column, _ := slices.BinarySearch(sizes, n)
		sums[column], counts[column] = sums[column]+v, counts[column]+1
		at := plotter.XY{X: float64(column), Y: v}
		if sure {
			m.sure = append(m.sure, at)
		} else {
			m.doubtful = append(m.doubtful, at)
		}
	}
	for i, n := range counts {
		if n > 0 {
			m.line = append(m.line, plotter.XY{X: float64(i), Y: sums[i] / n})
		}
	}
	return m
}

// missingFrom returns the entries of the second key that the first lacks.
func missingFrom(first, second []entry) []entry {
	return slices.DeleteFunc(second, func(e entry) bool {
		return slices.ContainsFunc(first, func(f entry) bool { return f.text == e.text })
	})
}

// devicesOf names the devices that the experiments ran on, each once.
func devicesOf(rows []facts) string {
	var out []string
	for _, f := range rows {
		if f.device != "" && !slices.Contains(out, f.device) {
			out = append(out, f.device)
		}
	}
	return strings.Join(out, ", ")
}

// remarks says what a reader must know to read the two panels.
func remarks(rows []facts) []string {
	var sources []string
	doubtful, several := false, false
	seen := map[string]bool{}
	for _, f := range rows {
		if f.status != outcome.OK {
			continue
		}
		if f.memory.Known() && !slices.Contains(sources, f.source) {
			sources = append(sources, f.source)
		}
		doubtful = doubtful || f.memory.Known() && !f.sure
		place := f.method + "\x00" + f.gpus + "\x00" + f.batch
		several = several || seen[place] && (f.memory.Known() || f.speed.Known())
		seen[place] = true
	}
	out := []string{}
	if len(sources) > 0 {
		out = append(out, shown("Memory: "+strings.Join(sources, "; also ")+".", 150))
	}
	if doubtful {
		out = append(out, "Hollow marks are doubtful or contaminated: the report says why.")
	}
	if several {
		out = append(out, "Where a method has several experiments of one batch size, each has a mark and the line goes through their mean.")
	}
	return out
}
