package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tunebench/internal/device"
)

// rowsAt writes rows of device 0 at those seconds of a day; the last one is the peak.
func rowsAt(seconds ...int) string {
	var b strings.Builder
	b.WriteString(header)
	for i, s := range seconds {
		level := 4
		if i == len(seconds)-1 {
			level = 8004
		}
		at := time.Date(2025, 10, 26, 0, 0, s, 0, time.UTC)
		fmt.Fprintf(&b, "%s, X, 0, %d MiB\n", at.Format("2006/01/02 15:04:05.000"), level)
	}
	return b.String()
}

// every returns the seconds from a first to a last one.
func every(first, last int) (out []int) {
	for s := first; s <= last; s++ {
		out = append(out, s)
	}
	return out
}

func joined(parts ...[]int) (out []int) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func TestALogThatStallsMakesAPeakDoubtful(t *testing.T) {
	t.Parallel()
	steady := NvidiaOptions{Interval: time.Second, Duration: time.Minute}
	slow := NvidiaOptions{Interval: 10 * time.Second, Duration: time.Minute}
	ended := NvidiaOptions{Interval: time.Second, Duration: time.Minute, LoggerExit: "exit 9"}
	for name, tc := range map[string]struct {
		seconds []int
		opts    NvidiaOptions
		want    string // empty: no doubt
	}{
		"a steady log":                       {every(0, 60), steady, ""},
		"some intervals without a row":       {joined(every(0, 20), every(25, 60)), steady, ""},
		"a stall in the middle":              {joined(every(0, 20), every(40, 60)), steady, "device 0 has no row for 20s from 00:00:20 of its log on"},
		"a stall up to the end":              {every(0, 20), steady, "device 0 has no row for 40s of the run at the start or the end"},
		"a log that began late":              {every(30, 60), steady, "device 0 has no row for 30s of the run at the start or the end"},
		"a stall of a slow log":              {[]int{0, 10, 20, 120, 130}, NvidiaOptions{Interval: 10 * time.Second, Duration: 130 * time.Second}, "for 1m40s"},
		"a slow log":                         {[]int{0, 10, 20, 30, 40, 50, 60}, slow, ""},
		"a log slower than was asked for":    {[]int{0, 12, 24, 36, 48, 60}, steady, ""},
		"a stall, and nothing else known":    {joined(every(0, 20), every(40, 60)), NvidiaOptions{}, "has no row for 20s"},
		"two rows, and nothing else known":   {[]int{0, 60}, NvidiaOptions{}, ""},
		"two rows of a long run":             {[]int{0, 1}, steady, "has no row for 59s"},
		"a logger whose end is known":        {every(0, 20), ended, "the logger ended by itself before the run did: exit 9"},
		"a clock set forward":                {joined(every(0, 20), every(3621, 3660)), steady, ""},
		"a clock set back":                   {joined(every(3600, 3620), every(21, 60)), steady, ""},
		"a clock set forward within a stall": {joined(every(0, 20), every(3640, 3660)), steady, "has no row for 20s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Nvidia(strings.NewReader(rowsAt(tc.seconds...)), tc.opts)
			text := strings.Join(f.Doubts, "\n")
			if !strings.Contains(text, tc.want) || (tc.want == "") != (text == "") || len(f.Doubts) > 1 {
				t.Errorf("doubts %q, want %q", f.Doubts, tc.want)
			}
			if (f.Mark == Doubtful) != (tc.want != "") {
				t.Errorf("mark %d with %q", f.Mark, text)
			}
			same(t, "reserved", f.Reserved, "8000")
		})
	}
}

func TestOneDeviceThatStallsIsNamedAlone(t *testing.T) {
	t.Parallel()
	other := strings.ReplaceAll(strings.TrimPrefix(rowsAt(every(0, 60)...), header), "X, 0,", "X, 1,")
	f := Nvidia(strings.NewReader(rowsAt(every(0, 20)...)+other), NvidiaOptions{Interval: time.Second, Duration: time.Minute})
	if f.Devices[0].Mark != Doubtful || f.Devices[1].Mark != Sure || f.Mark != Doubtful {
		t.Errorf("marks %d, %d and %d of all, want the first device's alone", f.Devices[0].Mark, f.Devices[1].Mark, f.Mark)
	}
}

func TestTheSamplingOfALogIsReadFromItsRows(t *testing.T) {
	t.Parallel()
	asked := NvidiaOptions{Interval: time.Second, Duration: time.Minute}
	for name, tc := range map[string]struct {
		log  string
		opts NvidiaOptions
		want Sampling // without the time of the gap
	}{
		"steady":            {rowsAt(every(0, 60)...), asked, Sampling{Interval: time.Second, Achieved: time.Second, Samples: 61, LargestGap: time.Second, GapInRun: true}},
		"ten rows are lost": {rowsAt(joined(every(0, 20), every(31, 60))...), asked, Sampling{Interval: time.Second, Achieved: 60 * time.Second / 50, Samples: 51, Lost: 10, LargestGap: 11 * time.Second, GapInRun: true}},
		"unknown interval":  {rowsAt(0, 2, 4), NvidiaOptions{}, Sampling{Achieved: 2 * time.Second, Samples: 3, LargestGap: 2 * time.Second, GapInRun: true}},
		"one row":           {rowsAt(0), asked, Sampling{}},
		"rows on change":    {rowsAt(0, 2, 4), NvidiaOptions{LogSource: "nvml"}, Sampling{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Nvidia(strings.NewReader(tc.log), tc.opts).Sampling
			got.GapAt = time.Time{}
			if got != tc.want {
				t.Errorf("sampling %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestRowsOnChangeAreNoSamples(t *testing.T) {
	t.Parallel()
	dead := func(samples int) device.Summary {
		s := summary(like(peaked(4, 9004), func(w *device.Watched) { w.Samples = samples }))
		s.Exit = "the driver did not answer for 10 s"
		return s
	}
	for name, tc := range map[string]struct {
		log     string
		samples int
		want    string
		count   int
	}{
		"a level that never changed":   {header + rows("X", 0, "4 MiB"), 500, "0", 500},
		"one that changed at once":     {header + rows("X", 0, "300 MiB"), 2, "296", 2},
		"rows beyond the last count":   {header + rows("X", 0, "4 MiB", "504 MiB"), 1, "500", 2},
		"one sample, then it died":     {header + rows("X", 0, "4 MiB"), 1, "gap: fewer than two readings of device 0: the logger ended by itself: the driver did not answer", 1},
		"one that could not be read":   {header + rows("X", 0, "4 MiB", "[N/A]"), 1, "gap: fewer than two readings: 1 of 2 readings of device 0 unreadable", 1},
		"nothing but what is unread":   {header + rows("X", 0, "[N/A]"), 0, "gap: no framebuffer memory", 0},
		"a run that was never sampled": {header + rows("X", 0, "4 MiB"), 0, "gap: the logger ended by itself", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dead(tc.samples)
			log := Nvidia(strings.NewReader(tc.log), NvidiaOptions{
				LogSource: "nvml", LoggerExit: s.Exit, Taken: map[int]int{0: tc.samples}, Baselines: level(0, mibValue(4)),
			})
			f := Watched(s, log, Run{})
			same(t, "reserved", f.Reserved, tc.want)
			if strings.Contains(f.Reserved.Gap, "shorter than the sampling interval") {
				t.Errorf("gap %q gives the run's length as its reason", f.Reserved.Gap)
			}
			if f.Devices[0].Samples != tc.count || f.Mark != Doubtful {
				t.Errorf("%d samples with mark %d, want %d and doubt", f.Devices[0].Samples, f.Mark, tc.count)
			}
		})
	}
}

func FuzzNvidia(f *testing.F) {
	f.Add(rowsAt(0, 1, 2, 60), int64(time.Minute), int64(time.Second), 0)
	f.Add(header+"0001/01/01 00:00:00.000, X, 0, 1 MiB\n9999/01/01 00:00:00.000, X, 0, 2 MiB\n", int64(1), int64(1<<62), 5)
	f.Add("Failed to initialize NVML\n"+header, int64(-1), int64(-1), -1)
	f.Fuzz(func(t *testing.T, text string, run, interval int64, taken int) {
		got := Nvidia(strings.NewReader(text), NvidiaOptions{
			Duration: time.Duration(run), Interval: time.Duration(interval), Taken: map[int]int{0: taken},
		})
		if s := got.Sampling; s.Lost < 0 || s.LargestGap < 0 || s.Achieved < 0 || s.Samples < 0 {
			t.Errorf("sampling %+v of %q", s, text)
		}
		if len(got.Devices) == 0 && got.Reserved.Known() {
			t.Errorf("a figure without a device: %v", got.Reserved)
		}
		for _, d := range got.Devices {
			if d.Reserved.Known() && (d.Reserved.Number < 0 || d.Samples < 2) || d.Mark != Sure && len(d.Notes) == 0 {
				t.Errorf("device %+v of %q", d, text)
			}
		}
	})
}
