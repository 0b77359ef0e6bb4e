package live

import (
	"strings"
	"testing"
	"time"

	"tunebench/internal/outcome"
	"tunebench/internal/progress"
)

func TestTheMovingLineCountsFromTheStartThatWasTold(t *testing.T) {
	t.Parallel()
	at := func(kind progress.Kind, name string, second int) progress.Event {
		return progress.Event{
			Kind: kind, Experiment: name, N: 1, Total: 2, Label: "batch 4", Status: outcome.OK,
			Time: time.Unix(1_700_000_000, 0).Add(time.Duration(second) * time.Second),
		}
	}
	for name, tc := range map[string]struct {
		events []progress.Event
		want   string // of the last line that was drawn
	}{
		"a start":                      {[]progress.Event{at(progress.Started, "exp_0", 5)}, "[1/2] exp_0 0.0s  batch 4"},
		"a sample after the start":     {[]progress.Event{at(progress.Started, "exp_0", 5), at(progress.Sampled, "exp_0", 12)}, "[1/2] exp_0 7.0s  batch 4"},
		"a sample without a start":     {[]progress.Event{at(progress.Sampled, "exp_0", 12)}, "[1/2] exp_0 0.0s  batch 4"},
		"two samples without a start":  {[]progress.Event{at(progress.Sampled, "exp_0", 12), at(progress.Sampled, "exp_0", 15)}, "[1/2] exp_0 3.0s  batch 4"},
		"the one before does not lend": {[]progress.Event{at(progress.Started, "exp_0", 5), at(progress.Finished, "exp_0", 65), at(progress.Sampled, "exp_1", 66)}, "[1/2] exp_1 0.0s  batch 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			v := New(&out, func() int { return 80 })
			for _, e := range tc.events {
				v.Event(e)
			}
			drawn := strings.Split(out.String(), clearLine)
			if got := drawn[len(drawn)-1]; got != tc.want {
				t.Errorf("drawn %q, want %q", got, tc.want)
			}
		})
	}
}
