package nvml

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// seen is a summary of one device over some seconds of a minute, a sample each second.
func seen(from, to int, peak, mean metric.Value, source string) device.Summary {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 10, 0, s, 0, time.UTC) }
	used := metric.Of(10)
	return device.Summary{
		Interval: time.Second, Achieved: time.Second, Samples: to - from + 1, Started: at(from), Ended: at(to), LargestGap: time.Second, GapAt: at(from),
		Devices: []device.Watched{{
			Device: device.Device{Index: 3, UUID: "GPU-a"}, Source: source, Samples: to - from + 1, Mean: mean,
			Baseline: device.Moment{Used: used, Time: at(from)}, Peak: device.Moment{Used: peak, Time: at(to)},
			ProcessPeak: device.Moment{Used: metric.Missing("none")},
		}},
	}
}

func TestWhatTwoChildrenSawIsOneSummaryWithAGap(t *testing.T) {
	t.Parallel()
	none := metric.Missing("no reading was taken")
	v2 := device.FromNVMLv2
	for name, tc := range map[string]struct {
		next       device.Summary
		peak, mean metric.Value
		samples    int    // of the device
		says       string // in the notes
	}{
		"a higher peak follows":           {seen(30, 50, metric.Of(90), metric.Of(40), v2), metric.Of(90), metric.Of((20*10.0 + 40*20.0) / 30), 32, ""},
		"a lower peak follows":            {seen(30, 50, metric.Of(50), metric.Of(40), v2), metric.Of(70), metric.Of((20*10.0 + 40*20.0) / 30), 32, ""},
		"nothing can be read afterwards":  {seen(30, 50, none, none, v2), metric.Of(70), metric.Of(20), 32, ""},
		"another counter is never mixed":  {seen(30, 50, metric.Of(690), metric.Of(640), device.FromNVMLv1), metric.Of(70), metric.Of(20), 11, "left out"},
		"the device is not there anymore": {device.Summary{Interval: time.Second, Started: seen(30, 50, none, none, v2).Started, Ended: seen(30, 50, none, none, v2).Ended, Samples: 21}, metric.Of(70), metric.Of(20), 11, "not found again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := seen(0, 10, metric.Of(70), metric.Of(20), v2)
			first.Exit = "the sampler died: signal 9 (killed)"
			got := follow(first, tc.next)
			d := got.Devices[0]
			if diff := cmp.Diff([]metric.Value{metric.Of(10), tc.peak, tc.mean}, []metric.Value{d.Baseline.Used, d.Peak.Used, d.Mean}); diff != "" {
				t.Errorf("baseline, peak, mean (-want +got)\n%s", diff)
			}
			if got.Samples != 32 || got.Lost != 19 || got.LargestGap != 20*time.Second || !got.GapAt.Equal(first.Ended) || d.LargestGap != 20*time.Second && len(tc.next.Devices) > 0 {
				t.Errorf("%d samples, %d lost, gap %v at %v (device: %v); want 32, 19, 20 s at the first one's end",
					got.Samples, got.Lost, got.LargestGap, got.GapAt, d.LargestGap)
			}
			if d.Samples != tc.samples || got.Exit != "" || !got.Ended.Equal(tc.next.Ended) || !got.Started.Equal(first.Started) {
				t.Errorf("%d readings, exit %q, %v to %v", d.Samples, got.Exit, got.Started, got.Ended)
			}
			notes := strings.Join(got.Notes, "\n")
			if !strings.Contains(notes, "signal 9 (killed); the sampler was started again, and nothing was seen for 20s from ") || !strings.Contains(notes, tc.says) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}
