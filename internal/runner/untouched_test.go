package runner

import (
	"strings"
	"testing"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/record"
)

// ended is a log that has ended with a summary.
type ended struct{ summary *device.Summary }

func (l ended) stop(w *record.Watch) { w.Summary = l.summary }

func TestWhoUsedTheDevicesIsSaid(t *testing.T) {
	t.Parallel()
	const nobody, doubt = " used the devices", "none of the experiment's processes was seen"
	family := []int{41, 42}
	watched := func(peak metric.Value, samples int, pids ...int) device.Watched {
		d := device.Watched{Samples: samples, Baseline: device.Moment{Used: mebi(3)}, Peak: device.Moment{Used: peak}}
		for _, pid := range pids {
			d.Peak.Processes = append(d.Peak.Processes, holds(pid, mebi(500)))
		}
		return d
	}
	ours := watched(mebi(900), 100, 41)
	ours.ProcessPeak.Processes, ours.Peak.Processes = ours.Peak.Processes, nil
	for name, tc := range map[string]struct {
		devices []device.Watched
		of      string
		want    string // of the note; empty: there is none
	}{
		"a command beside a stranger, no growth":      {[]device.Watched{watched(mebi(3), 100, 7)}, "command", nobody},
		"a command on an idle device":                 {[]device.Watched{watched(mebi(3), 100)}, "command", nobody},
		"a command beside a desktop that moves a bit": {[]device.Watched{watched(mebi(20), 100, 7), watched(mebi(3), 100)}, "command", nobody},
		"a command beside a stranger, growth":         {[]device.Watched{watched(mebi(900), 100, 7)}, "command", doubt},
		"a command, growth by nobody":                 {[]device.Watched{watched(mebi(900), 100)}, "command", ""},
		"a command that was seen":                     {[]device.Watched{watched(mebi(900), 100, 7, 42)}, "command", ""},
		"a command that was seen between the peaks":   {[]device.Watched{ours}, "command", ""},
		"a command too short to be seen":              {[]device.Watched{watched(mebi(3), 2)}, "command", ""},
		"a command, peak unknown":                     {[]device.Watched{watched(metric.Missing("lost"), 0)}, "command", ""},
		"a trainer beside a stranger, no growth":      {[]device.Watched{watched(mebi(3), 100, 7)}, "experiment", nobody},
		"a trainer that was seen":                     {[]device.Watched{watched(mebi(900), 100, 41)}, "experiment", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &deviceWatch{of: tc.of, watch: &record.Watch{}, log: ended{&device.Summary{Devices: tc.devices}}}
			notes := w.stop(family).Notes
			if got := strings.Join(notes, "\n"); !strings.Contains(got, tc.want) || tc.want == nobody && !strings.Contains(got, "of the "+tc.of) || tc.want == "" && got != "" {
				t.Errorf("notes %q, want %q", notes, tc.want)
			}
		})
	}
}

func TestOfASamplerThatEndedEarlyNothingIsProved(t *testing.T) {
	t.Parallel()
	d := device.Watched{Samples: 100, Baseline: device.Moment{Used: mebi(3)}, Peak: device.Moment{Used: mebi(3)}}
	for exit, want := range map[string]bool{"": true, "it was ended by SIGKILL": false, "the call does not return": false} {
		if got := untouched(&device.Summary{Devices: []device.Watched{d}, Exit: exit}, []int{41}); got != want {
			t.Errorf("exit %q: untouched %v, want %v", exit, got, want)
		}
	}
}
