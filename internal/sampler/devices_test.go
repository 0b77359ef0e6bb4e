package sampler

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

const mib = 1 << 20

// script is a source whose n-th sample of device i takes that long and says that.
type script struct {
	n         int
	level     func(n, i int) metric.Value
	takes     func(n int) time.Duration
	held      []device.ProcessUse
	gap       string
	processes int // calls
	states    int
}

func (s *script) Memory(_ context.Context, used []metric.Value) {
	if s.takes != nil {
		time.Sleep(s.takes(s.n))
	}
	for i := range used {
		used[i] = s.level(s.n, i)
	}
	s.n++
}

func (s *script) Processes(context.Context, int) ([]device.ProcessUse, string) {
	s.processes++
	return s.held, s.gap
}

func (s *script) State(context.Context, int) device.State {
	s.states++
	return device.State{Utilisation: metric.Of(50), Power: metric.Missing("no, not here"), SMClock: metric.Of(1), MemoryClock: metric.Of(2)}
}

func constant(bytes float64) func(int, int) metric.Value {
	return func(int, int) metric.Value { return metric.Of(bytes) }
}

// sampled runs the sampler over a script for d and returns what it says and wrote.
func sampled(t *testing.T, src *script, interval, d time.Duration, watched ...device.Watched) (out device.Summary, logs [3]bytes.Buffer) {
	t.Helper()
	if len(watched) == 0 {
		watched = []device.Watched{{Device: device.Device{UUID: "GPU-1", Name: "NVIDIA H200"}}}
	}
	synctest.Test(t, func(t *testing.T) {
		s := NewDevices(DeviceOptions{
			Source: src, Devices: watched, Interval: interval,
			Logs: DeviceLogs{Memory: &logs[0], Processes: &logs[1], State: &logs[2]},
		})
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		s.Run(ctx)
		out = s.Summary()
	})
	return out, logs
}

func TestDevicesAreSampledAtAbsoluteDeadlines(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		takes         func(n int) time.Duration
		samples, lost int
		achieved, gap time.Duration
	}{
		"a source that takes no time loses nothing": {
			func(int) time.Duration { return 0 }, 1002, 0, time.Millisecond, time.Millisecond},
		"what a sample takes does not delay the next one": {
			func(int) time.Duration { return 400 * time.Microsecond }, 1002, 0, time.Millisecond, time.Millisecond},
		"a sample of one and a half intervals loses every second one": {
			func(int) time.Duration { return 1500 * time.Microsecond }, 502, 501, 2 * time.Millisecond, 2 * time.Millisecond},
		"a pause is counted and not caught up": {
			func(n int) time.Duration {
				if n == 10 {
					return 100500 * time.Microsecond
				}
				return 0
			}, 902, 100, 0, 101500 * time.Microsecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &script{level: constant(mib), takes: tt.takes}
			// The end lies between two deadlines, so that the last sample is the one too many.
			out, _ := sampled(t, src, time.Millisecond, 1000*time.Millisecond+500*time.Microsecond)
			if out.Samples != tt.samples || out.Lost != tt.lost || out.LargestGap != tt.gap {
				t.Errorf("%d samples, %d lost, largest gap %s; want %d, %d, %s",
					out.Samples, out.Lost, out.LargestGap, tt.samples, tt.lost, tt.gap)
			}
			if tt.achieved > 0 && out.Achieved != tt.achieved {
				t.Errorf("achieved %s, want %s", out.Achieved, tt.achieved)
			}
		})
	}
}

func TestTheMeanIsWeightedByTime(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		level func(n, i int) metric.Value
		mean  float64
	}{
		"a level of one interval in ten": {func(n, _ int) metric.Value {
			if n == 3 {
				return metric.Of(1000)
			}
			return metric.Of(0)
		}, 100},
		"time without a reading belongs to nobody": {func(n, _ int) metric.Value {
			if n >= 5 {
				return metric.Missing("lost")
			}
			return metric.Of(200)
		}, 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _ := sampled(t, &script{level: tt.level}, 100*time.Millisecond, time.Second)
			if got := out.Devices[0].Mean; !got.Known() || math.Abs(got.Number-tt.mean) > 1e-9 {
				t.Errorf("mean = %+v, want %v", got, tt.mean)
			}
		})
	}
}

func TestTheLogHasChangesAHeartbeatAndALastRow(t *testing.T) {
	t.Parallel()
	src := &script{level: func(n, _ int) metric.Value {
		switch {
		case n < 5:
			return metric.Of(100*mib + 1)
		case n == 5:
			return metric.Of(500 * mib)
		case n == 7:
			return metric.Value{Text: "[Not Supported]", Gap: "a reason"}
		case n == 8:
			return metric.Missing("a reason, with a comma\nand a line")
		}
		return metric.Of(float64(100*mib + n)) // a change of bytes that the log's unit does not show
	}}
	out, logs := sampled(t, src, 100*time.Millisecond, 2250*time.Millisecond)
	var rows []string
	for i, line := range strings.Split(strings.TrimSpace(logs[0].String()), "\n") {
		if i == 0 {
			if line != "timestamp, name, index, memory.used [MiB]" {
				t.Errorf("header = %q", line)
			}
			continue
		}
		stamp, rest, _ := strings.Cut(line, ", ")
		rows = append(rows, stamp[len(stamp)-6:]+" "+rest)
	}
	want := []string{
		"00.000 NVIDIA H200, 0, 100 MiB",
		"00.500 NVIDIA H200, 0, 500 MiB",
		"00.600 NVIDIA H200, 0, 100 MiB",
		"00.700 NVIDIA H200, 0, [Not Supported]",
		"00.800 NVIDIA H200, 0, [a reason; with a comma and a line]",
		"00.900 NVIDIA H200, 0, 100 MiB",
		"01.900 NVIDIA H200, 0, 100 MiB",
		"02.250 NVIDIA H200, 0, 100 MiB",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got)\n%s", diff)
	}
	if out.Devices[0].Unreadable != 2 || len(out.Devices[0].Gaps) != 2 || out.Devices[0].LargestGap != 300*time.Millisecond {
		t.Errorf("%+v", out.Devices[0])
	}
	var readings int
	notes, err := device.ReadLog(&logs[0], func(device.Reading) { readings++ })
	if err != nil || readings != 6 || notes.ForeignAll != 0 || notes.Cut != nil {
		t.Errorf("the log reads as %d readings and %+v (%v)", readings, notes, err)
	}
}

func TestAPeakKeepsItsBytesItsTimeAndItsProcesses(t *testing.T) {
	t.Parallel()
	const peak = 31503*mib + 12345
	src := &script{held: []device.ProcessUse{{PID: 7, Used: metric.Of(300)}, {PID: 8, Used: metric.Of(12)}}}
	src.level = func(n, _ int) metric.Value {
		if n == 17 || n == 40 {
			return metric.Of(peak)
		}
		return metric.Of(mib)
	}
	out, _ := sampled(t, src, time.Millisecond, 95*time.Millisecond)
	d := out.Devices[0]
	if d.Peak.Used.Number != peak || d.Peak.Time.Sub(out.Started) != 17*time.Millisecond {
		t.Errorf("peak %v after %s, want %d after 17 ms: the first time counts", d.Peak.Used, d.Peak.Time.Sub(out.Started), peak)
	}
	if diff := cmp.Diff(src.held, d.Peak.Processes); diff != "" || d.Peak.ProcessesGap != "" {
		t.Errorf("at the peak (-want +got)\n%s%s", diff, d.Peak.ProcessesGap)
	}
	if d.ProcessPeak.Used.Number != 312 || len(d.Baseline.Processes) != 2 || d.Baseline.Used.Number != mib {
		t.Errorf("process peak %v, baseline %+v", d.ProcessPeak.Used, d.Baseline)
	}
	// The first sample, the peak, and the last: all else is within 100 ms.
	if src.processes != 3 {
		t.Errorf("processes were asked for %d times, want 3", src.processes)
	}
}

func TestWhatCostsMoreIsReadLessOftenAndInTurns(t *testing.T) {
	t.Parallel()
	src := &script{level: constant(mib)}
	watched := make([]device.Watched, 4)
	for i := range watched {
		watched[i].Index = i
	}
	_, logs := sampled(t, src, 10*time.Millisecond, 15005*time.Millisecond, watched...)
	if src.processes < 4*150 || src.processes > 4*153 {
		t.Errorf("processes were asked for %d times in 15 s, want about 4 x 151", src.processes)
	}
	if src.states < 4*4 || src.states > 4*5 {
		t.Errorf("states were asked for %d times in 15 s, want 4 x 5 at most", src.states)
	}
	perTime := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(logs[2].String()), "\n") {
		if stamp, _, _ := strings.Cut(line, ","); i > 4 && !strings.HasSuffix(stamp, "15.005") {
			perTime[stamp]++
		}
	}
	for stamp, n := range perTime {
		if n != 1 {
			t.Errorf("%d states were read in the sample of %s, want them in turns", n, stamp)
		}
	}
	if !strings.Contains(logs[2].String(), ",0,50,[no; not here],1,2,\n") {
		t.Errorf("the state log has no bracketed gap:\n%s", logs[2].String())
	}
	if got := strings.Count(logs[1].String(), "\n"); got != 1+4 {
		t.Errorf("the process log has %d lines, want a header and one row for each device: nothing changed", got)
	}
}

func TestADeviceKnownByItsProcessesIsAskedForThemEachTime(t *testing.T) {
	t.Parallel()
	src := &script{
		level: func(int, int) metric.Value { return metric.Missing("device reports no framebuffer memory") },
		held:  []device.ProcessUse{{PID: 7, Used: metric.Of(5)}},
	}
	out, _ := sampled(t, src, 10*time.Millisecond, 95*time.Millisecond, device.Watched{Source: device.FromProcesses})
	if src.processes != out.Samples || out.Samples != 11 {
		t.Errorf("%d lists in %d samples", src.processes, out.Samples)
	}
	d := out.Devices[0]
	if d.Peak.Used.Known() || d.Mean.Known() || d.Baseline.Used.Known() || d.ProcessPeak.Used.Number != 5 {
		t.Errorf("peak %+v, mean %+v, sum %+v", d.Peak.Used, d.Mean, d.ProcessPeak.Used)
	}
}

func TestASumWithAnUnknownPartIsUnknown(t *testing.T) {
	t.Parallel()
	known, hidden := device.ProcessUse{PID: 1, Used: metric.Of(10)}, device.ProcessUse{PID: 2, Used: metric.Missing("not available")}
	tests := map[string]struct {
		list []device.ProcessUse
		want metric.Value
	}{
		"one process":                  {[]device.ProcessUse{known}, metric.Of(10)},
		"two processes":                {[]device.ProcessUse{known, known}, metric.Of(20)},
		"one of them keeps its memory": {[]device.ProcessUse{known, hidden}, metric.Missing("memory of process 2 is not known: not available")},
		"none is not nothing":          {nil, metric.Missing("the driver lists no process")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, sum(tt.list)); diff != "" {
				t.Errorf("sum (-want +got)\n%s", diff)
			}
		})
	}
}

func TestTheSummaryOfASampleThatHangsCountsTheGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &script{level: constant(mib), takes: func(n int) time.Duration {
			if n == 5 {
				return time.Minute
			}
			return 0
		}}
		s := NewDevices(DeviceOptions{Source: src, Devices: make([]device.Watched, 1), Interval: 10 * time.Millisecond})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		<-s.First()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		out := s.Summary()
		if want := 30*time.Second - 40*time.Millisecond; out.LargestGap != want || out.Devices[0].LargestGap != want {
			t.Errorf("largest gap %s, of the device %s; want %s", out.LargestGap, out.Devices[0].LargestGap, want)
		}
		cancel()
		<-done
	})
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestALogThatCannotBeWrittenCostsTheLogAndNotTheFigures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewDevices(DeviceOptions{
			Source: &script{level: constant(mib)}, Devices: make([]device.Watched, 1), Interval: 10 * time.Millisecond,
			Logs: DeviceLogs{Memory: full{}},
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		s.Run(ctx)
		out := s.Summary()
		if diff := cmp.Diff([]string{"gpu_memory_logs.csv ends early: no space left on device"}, out.Notes); diff != "" {
			t.Errorf("notes, once (-want +got)\n%s", diff)
		}
		if out.Devices[0].Peak.Used.Number != mib {
			t.Errorf("peak = %+v", out.Devices[0].Peak.Used)
		}
	})
}
