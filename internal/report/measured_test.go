package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/table"
)

func TestNotesAreSaidOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ notes, want []string }{
		"equal notes": {[]string{"a", "b", "a"}, []string{"a", "b"}},
		"the same of two topics": {
			[]string{"growth: no reading of device 1", "GPU memory: no reading of device 1"}, []string{"growth: no reading of device 1"}},
		"one that another one explains": {
			[]string{"growth: no reading of device 1", "GPU memory: device 1 is left out of the mean: no reading of device 1"},
			[]string{"GPU memory: device 1 is left out of the mean: no reading of device 1"}},
		"an explanation that comes first": {
			[]string{"GPU memory: left out: no reading", "growth: no reading"}, []string{"GPU memory: left out: no reading"}},
		"different notes": {[]string{"probe: a", "GPU memory: b"}, []string{"probe: a", "GPU memory: b"}},
		"none":            {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, saidOnce(tc.notes)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAnExceptionIsSaidOnceInAMeasurement(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason     string
		exceptions []string
		want       int // lines with ValueError
	}{
		"the reason has it":       {"exit 1: ValueError: x", []string{"process 7: ValueError: x"}, 1},
		"the reason says another": {"exit 1: KeyError: y", []string{"process 7: ValueError: x"}, 1},
		"two processes":           {"exit 1: ValueError: x", []string{"rank 0: ValueError: x", "rank 1: ValueError: x"}, 3},
		"without words":           {"exit 1", []string{"ValueError"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			row := table.Row{Status: outcome.Error, Reason: tc.reason, Exceptions: tc.exceptions}
			if err := Measured(&out, row, 80); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(out.String(), "ValueError"); got != tc.want {
				t.Errorf("said %d times, want %d:\n%s", got, tc.want, out.String())
			}
		})
	}
}

func TestGrowthOfWhichNobodyIsToldIsSaidToBeSo(t *testing.T) {
	t.Parallel()
	const gap = "the driver lists no process on the device"
	for name, tc := range map[string]struct {
		growth, foreign metric.Value
		want            bool
	}{
		"it grew by much":     {mebi(500), metric.Missing(gap), true},
		"it hardly grew":      {mebi(9), metric.Missing(gap), false},
		"its growth is a gap": {metric.Missing("lost"), metric.Missing(gap), false},
		"others are known":    {mebi(500), mebi(0), false},
	} {
		var out strings.Builder
		row := table.Row{Ledger: []memory.Ledger{{Index: 0, Growth: tc.growth, Foreign: tc.foreign}}}
		if err := Measured(&out, row, 80); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "who held what it grew by is not known"); got != tc.want {
			t.Errorf("%s: said %v, want %v:\n%s", name, got, tc.want, out.String())
		}
	}
}
