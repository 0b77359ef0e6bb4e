package page

import (
	"math"
	"slices"

	"tunebench/internal/curve"
	"tunebench/internal/table"
	"tunebench/internal/timeline"
)

// How many points the page holds: of one curve at the least, and of all.
const (
	leastPoints = 80
	allPoints   = 600_000
)

// curves is what the page draws of one experiment over its time.
type curves struct {
	Series  []series  `json:"series,omitempty"`
	Marks   []mark    `json:"marks,omitempty"`
	Trained []float64 `json:"trained,omitempty"` // from and to, in seconds on the axis of the series
	Guessed bool      `json:"guessed,omitempty"` // whether Trained is put where it fits
	Steps   []step    `json:"steps,omitempty"`
	Notes   []string  `json:"notes,omitempty"` // what could not be read
}

// series is one line of a chart. X and Y hold differences to the value before, so that
// what does not change takes two characters.
type series struct {
	Name string  `json:"n"`
	Host bool    `json:"h,omitempty"`
	X    []int64 `json:"x"` // milliseconds
	Y    []int64 `json:"y"` // KiB
}

// mark is a moment with a name, in seconds on the axis of the series.
type mark struct {
	Name string  `json:"n"`
	At   float64 `json:"s"`
}

// step is one step of the training, in seconds since the training began.
type step struct {
	N  int     `json:"n"`
	At float64 `json:"s"`
}

// pointsOfEach shares the points of the page among its curves.
func pointsOfEach(t table.Table) int {
	all := 1
	for _, r := range t.Rows {
		all += 2 + max(1, len(r.Memory.Devices))
	}
	return min(curve.Limit, max(leastPoints, allPoints/all))
}

func makeCurves(l timeline.Timeline) *curves {
	out := curves{Notes: l.Notes}
	for _, c := range l.Devices {
		out.Series = append(out.Series, makeSeries(c, false))
	}
	for _, c := range l.Host {
		out.Series = append(out.Series, makeSeries(c, true))
	}
	for _, m := range l.Marks {
		out.Marks = append(out.Marks, mark(m))
	}
	for _, s := range l.Steps {
		out.Steps = append(out.Steps, step(s))
	}
	if l.Trained != nil {
		out.Trained, out.Guessed = []float64{l.Trained.From, l.Trained.To}, l.Trained.Inferred
	}
	return &out
}

func makeSeries(c curve.Curve, host bool) series {
	s := series{Name: c.Name, Host: host, X: slices.Grow([]int64(nil), len(c.Points)), Y: slices.Grow([]int64(nil), len(c.Points))}
	var at, level int64
	for _, p := range c.Points {
		ms, kib := int64(math.Round(p.T*1000)), int64(p.V)>>10
		s.X, s.Y = append(s.X, ms-at), append(s.Y, kib-level)
		at, level = ms, kib
	}
	return s
}
