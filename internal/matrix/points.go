package matrix

import (
	"slices"

	"tunebench/internal/scenario"
)

// point is one combination of a scenario's axes.
type point struct {
	chosen    []scenario.Argument // of the scenario's own axes: the model first
	call      []scenario.Argument // of the call's axes
	framework string
	batch     int // 0: none was asked for
	gpus      int
	trial     int
}

// turn is one value of an axis, put into a point. What it adds to is shared with other
// points, so it adds with the function with.
type turn func(*point)

// points returns all combinations, the last axis fastest.
func (p *planner) points(s scenario.Scenario) []point {
	axes := [][]turn{p.models(s)}
	for _, axis := range s.Matrix {
		axes = append(axes, own(axis))
	}
	axes = append(axes, frameworks(s),
		each(p.BatchSizes, func(pt *point, b int) { pt.batch = b }),
		each(p.NumGPUs, func(pt *point, n int) { pt.gpus = n }),
		p.shared(s, packing, p.Packing),
		p.shared(s, maxSeqLen, p.MaxSeqLen),
		p.trials(s))
	out := []point{{}}
	for _, axis := range axes {
		out = product(out, axis)
	}
	return out
}

// product turns the axis for every point; an axis without values leaves them.
func product(points []point, axis []turn) []point {
	if len(axis) == 0 {
		return points
	}
	out := make([]point, 0, len(points)*len(axis))
	for _, pt := range points {
		for _, turn := range axis {
			next := pt
			turn(&next)
			out = append(out, next)
		}
	}
	return out
}

func each[T any](values []T, set func(*point, T)) []turn {
	var out []turn
	for _, v := range values {
		out = append(out, func(pt *point) { set(pt, v) })
	}
	return out
}

// models unfolds the one argument that does so by itself, wherever it is given.
func (p *planner) models(s scenario.Scenario) []turn {
	model, ok := s.Argument(scenario.Model)
	if !ok {
		model = argument(p.Defaults.Arguments, scenario.Model)
	}
	return each(model.Values, func(pt *point, v string) {
		pt.chosen = with(pt.chosen, text(scenario.Model, v))
	})
}

// with returns a copy with one argument more.
func with(arguments []scenario.Argument, more scenario.Argument) []scenario.Argument {
	out := make([]scenario.Argument, 0, len(arguments)+1)
	return append(append(out, arguments...), more)
}

func argument(arguments []scenario.Argument, name string) scenario.Argument {
	for _, a := range arguments {
		if a.Name == name {
			return a
		}
	}
	return scenario.Argument{}
}

func text(name, value string) scenario.Argument {
	return scenario.Argument{Name: name, Value: scenario.Value{Values: []string{value}}}
}

func own(axis scenario.Axis) []turn {
	return each(axis.Values, func(pt *point, v scenario.Value) {
		pt.chosen = with(pt.chosen, scenario.Argument{Name: axis.Name, Value: v, Position: axis.Position})
	})
}

func frameworks(s scenario.Scenario) []turn {
	return each(s.Frameworks, func(pt *point, ref scenario.Reference) { pt.framework = ref.Name })
}

// shared is an axis of the call. It does not turn for a scenario that sets the
// setting itself: all its points would be the same.
func (p *planner) shared(s scenario.Scenario, name string, values []string) []turn {
	if !sets(s, name) {
		return each(values, func(pt *point, v string) { pt.call = with(pt.call, text(name, v)) })
	}
	if len(values) > 0 {
		p.warn("scenario %q sets %s itself, the values of the call do not reach it", s.Name, name)
	}
	return nil
}

// sets reports whether a scenario says anything about a setting, also that it is removed.
func sets(s scenario.Scenario, name string) bool {
	if _, ok := s.Argument(name); ok {
		return true
	}
	return slices.ContainsFunc(s.Matrix, func(a scenario.Axis) bool { return a.Name == name })
}

func (p *planner) trials(s scenario.Scenario) []turn {
	repeats := max(p.Repeats, 1)
	if s.Repeats > 0 {
		repeats = s.Repeats
	}
	var out []turn
	for trial := range repeats {
		out = append(out, func(pt *point) { pt.trial = trial + 1 })
	}
	return out
}
