package plot

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/plotter"

	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/view"
)

// point is one experiment with its figure of memory; none where it is negative.
func point(batch string, status outcome.Status, memory float64, sure bool) facts {
	f := facts{method: "lora", gpus: "1", batch: batch, status: status, word: "OOM", memory: metric.Of(memory), speed: metric.Missing("no trainer"), sure: sure}
	if memory < 0 {
		f.memory = metric.Missing("no log")
	}
	return f
}

func inMemory(f facts) (v float64, sure, known bool) {
	return f.memory.Number, f.sure, f.memory.Known()
}

func TestOnlyKnownFiguresOfWhatEndedOKAreMarks(t *testing.T) {
	t.Parallel()
	rows := []facts{
		point("4", outcome.OK, 10, true), point("8", outcome.OK, 30, true), point("8", outcome.OK, 20, false),
		point("16", outcome.OOM, 80, true), point("32", outcome.OK, -1, true), point("64", outcome.OK, 90, true),
	}
	want := marks{
		sure:     plotter.XYs{{X: 0, Y: 10}, {X: 1, Y: 30}, {X: 4, Y: 90}},
		doubtful: plotter.XYs{{X: 1, Y: 20}},
		line:     plotter.XYs{{X: 0, Y: 10}, {X: 1, Y: 25}, {X: 4, Y: 90}},
	}
	if diff := cmp.Diff(want, marksOf(rows, sizesOf(rows), inMemory), cmp.AllowUnexported(marks{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatHasNoFigureIsNamedInItsPlace(t *testing.T) {
	t.Parallel()
	timeout := point("16", outcome.Timeout, -1, true)
	timeout.word = "TIMEOUT"
	rows := []facts{
		point("4", outcome.OK, 10, true), point("16", outcome.OOM, 80, true), timeout, point("16", outcome.OOM, -1, true), point("32", outcome.OK, -1, true),
	}
	words := make([][]string, 4)
	for _, f := range rows {
		if text := f.without(); text != "" {
			words[map[string]int{"4": 0, "16": 1, "32": 2}[f.batch]] = append(words[map[string]int{"4": 0, "16": 1, "32": 2}[f.batch]], text)
		}
	}
	want := []ending{{column: 1, row: 3, text: "2 OOM, TIMEOUT"}, {column: 2, row: 3, text: "ok, not measured"}}
	if diff := cmp.Diff(want, inColumns(words, 3), cmp.AllowUnexported(ending{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAModelHasAPictureWhereAFigureIsKnown(t *testing.T) {
	t.Parallel()
	fast := point("8", outcome.OK, -1, true)
	fast.speed = metric.Of(100)
	for name, tc := range map[string]struct {
		rows   []facts
		panels int
	}{
		"nothing":                            {nil, 0},
		"failures only":                      {[]facts{point("8", outcome.OOM, 80, true)}, 0},
		"no number for a batch":              {[]facts{point("auto", outcome.OK, 80, true), point("-3", outcome.OK, 80, true), point("Inf", outcome.OK, 80, true), point("NaN", outcome.OK, 80, true)}, 0},
		"what still runs has no figure":      {[]facts{point("8", outcome.Running, 80, true)}, 0},
		"memory":                             {[]facts{point("8", outcome.OK, 80, true)}, 1},
		"throughput":                         {[]facts{fast}, 1},
		"both of two experiments":            {[]facts{fast, point("8", outcome.OK, 80, true)}, 2},
		"both, with a failure":               {[]facts{fast, point("8", outcome.OK, 80, true), point("16", outcome.OOM, -1, true)}, 3},
		"no memory is a figure too, if read": {[]facts{point("8", outcome.OK, 0, true)}, 1},
	} {
		s, ok := overBatch(model{name: "m", rows: tc.rows}, view.Unit{})
		if len(s.panels) != tc.panels || ok != (tc.panels > 0) {
			t.Errorf("%s: %d panels, %v; want %d", name, len(s.panels), ok, tc.panels)
		}
	}
}

func TestAGroupIsAMethodOnAsManyGPUs(t *testing.T) {
	t.Parallel()
	one, two, none := point("4", outcome.OK, 1, true), point("4", outcome.OK, 1, true), point("4", outcome.OK, 1, true)
	two.gpus, none.gpus, none.method = "2", "", ""
	names := func(rows ...facts) []string {
		var out []string
		for _, g := range groupsOf(rows) {
			out = append(out, g.name)
		}
		return out
	}
	for _, tc := range []struct{ got, want []string }{
		{names(one, one), []string{"lora"}},
		{names(two, one, two), []string{"lora, 1 GPU", "lora, 2 GPUs"}},
		{names(none), []string{"no method named"}},
		{names(none, one), []string{"lora, 1 GPU", "no method named, GPUs not known"}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestAPictureStaysOfASizeThatCanBeSeen(t *testing.T) {
	t.Parallel()
	var rows []facts
	for i := range 500 {
		ok, failed := point(strconv.Itoa(i+1), outcome.OK, 1<<30, true), point(strconv.Itoa(i+1), outcome.OOM, -1, true)
		ok.method, failed.method = fmt.Sprintf("method %03d", i), fmt.Sprintf("method %03d", i)
		rows = append(rows, ok, failed)
	}
	s, ok := overBatch(model{name: "m", rows: rows}, view.Unit{})
	if !ok || s.height() > 2000 || s.height() < 500 {
		t.Errorf("a picture of 500 methods is %v points high", s.height())
	}
	if !slices.Contains(s.foot, "476 more methods are not drawn.") {
		t.Errorf("the remarks are %q, want that some methods are left out", s.foot)
	}
	labels := 0
	for _, mark := range batchAxes("y", sizesOf(rows)).X.Tick.Marker.Ticks(0, 500) {
		if mark.Label != "" {
			labels++
		}
	}
	if labels > maxLabels || labels < maxLabels/2 {
		t.Errorf("%d batch sizes are named, want at most %d", labels, maxLabels)
	}
}
