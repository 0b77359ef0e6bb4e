//go:build linux && !nonvml

package nvml

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

const (
	mib      = 1 << 20
	idle     = 100*mib + 12345 // of device 0, as the fake says
	reserved = 644939776
	gpu0     = "GPU-8f1e2d3c-0000-4111-8222-000000000000"
	gpu1     = "GPU-8f1e2d3c-0000-4111-8222-000000000001"
	slice1   = "MIG-1f2e3d4c-0000-5111-9222-000000000001"
	slice2   = "MIG-1f2e3d4c-0000-5111-9222-000000000002"
)

func TestTheSourceOfTheMemoryFiguresIsNamedAndNeverMixed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		flags, env []string
		source     string
		used       float64
		reserved   bool
	}{
		"v2 is preferred and leaves the reserve out": {source: device.FromNVMLv2, used: idle, reserved: true},
		"an old library has v1 only, with the reserve in it": {
			flags: []string{"-DOLD"}, source: device.FromNVMLv1, used: idle + reserved,
		},
		"a driver that does not know v2 is asked for v1": {
			env: []string{"FAKE_V2=13"}, source: device.FromNVMLv1, used: idle + reserved,
		},
		"a driver that takes v2 for a wrong version is asked for v1": {
			env: []string{"FAKE_V2=25"}, source: device.FromNVMLv1, used: idle + reserved,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(t, append(tt.env, "FAKE_SPIKE_AT=20")...)
			c.Library = fake(t, tt.flags...)
			ready, end := watch(t, c, 300*time.Millisecond)
			d := end.Devices[0]
			if d.Source != tt.source || d.Baseline.Used.Number != tt.used || d.Reserved.Known() != tt.reserved {
				t.Errorf("source %s, baseline %v, reserved %+v; want %s, %v, known %v",
					d.Source, d.Baseline.Used, d.Reserved, tt.source, tt.used, tt.reserved)
			}
			if got := d.Peak.Used.Number - d.Baseline.Used.Number; got != 31503*mib {
				t.Errorf("peak above baseline = %v, want %v: the difference does not depend on the counter", got, 31503*mib)
			}
			if ready.Devices[0].Baseline.Used.Number != tt.used || end.Driver != "580.65.06" || end.Exit != "" {
				t.Errorf("ready baseline %v, driver %q, exit %q", ready.Devices[0].Baseline.Used, end.Driver, end.Exit)
			}
		})
	}
}

func TestASpikeOfOneSampleIsInThePeakAndInTheLog(t *testing.T) {
	t.Parallel()
	c := config(t, "FAKE_SPIKE_AT=30", "FAKE_PROCESSES=2")
	_, end := watch(t, c, 400*time.Millisecond)
	peak := end.Devices[0].Peak
	if want := float64(idle + 31503*mib); peak.Used.Number != want {
		t.Errorf("peak = %v, want %v", peak.Used.Number, want)
	}
	want := []device.ProcessUse{
		{PID: 1000, Kind: "compute+graphics", Used: metric.Of(50 * mib)},
		{PID: 1001, Kind: "compute", Used: metric.Of(60 * mib)},
	}
	if diff := cmp.Diff(want, peak.Processes); diff != "" {
		t.Errorf("processes at the peak (-want +got)\n%s", diff)
	}
	readings, notes := read(t, c)
	var used []float64
	for _, r := range readings {
		used = append(used, float64(r.Used)/mib)
	}
	if diff := cmp.Diff([]float64{100, 31603, 100, 100}, used); diff != "" {
		t.Errorf("rows of the log, on change and the last one (-want +got)\n%s", diff)
	}
	if !notes.Header || len(notes.Foreign) != 0 || notes.Cut != nil {
		t.Errorf("the log is not clean: %+v", notes)
	}
	if end.Samples < 40 || end.Samples <= len(readings) {
		t.Errorf("%d samples and %d rows: samples are what counts", end.Samples, len(readings))
	}
}

func TestWhatADeviceDoesNotTellIsAGapWithItsReason(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env    []string
		source string
		cell   string // in the log
		gap    string
	}{
		"unified memory: neither counter is supported": {
			[]string{"FAKE_MEMORY=3", "FAKE_PROCESSES=2"}, device.FromProcesses, "[Not Supported]", "NOT_SUPPORTED"},
		"everything is not supported": {
			[]string{"FAKE_ALL=3"}, device.FromProcesses, "[Not Supported]", "NOT_SUPPORTED"},
		"no permission is not the lack of a counter": {
			[]string{"FAKE_MEMORY=4"}, device.FromNVMLv2, "[Insufficient Permissions]", "NO_PERMISSION"},
		"a lost device": {
			[]string{"FAKE_MEMORY=15"}, device.FromNVMLv2, "[GPU is lost]", "GPU_IS_LOST"},
		"a sentinel is not an amount": {
			[]string{"FAKE_SENTINEL=1"}, device.FromNVMLv2, "", "NVML_VALUE_NOT_AVAILABLE"},
		"an unknown code keeps its number": {
			[]string{"FAKE_MEMORY=777"}, device.FromNVMLv2, "", "(777)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(t, tt.env...)
			_, end := watch(t, c, 50*time.Millisecond)
			d := end.Devices[0]
			if d.Source != tt.source {
				t.Errorf("source = %s, want %s", d.Source, tt.source)
			}
			for what, v := range map[string]metric.Value{"baseline": d.Baseline.Used, "peak": d.Peak.Used, "mean": d.Mean} {
				if v.Known() {
					t.Errorf("%s = %v, want a gap", what, v)
				}
			}
			if !strings.Contains(d.Peak.Used.Gap, tt.gap) {
				t.Errorf("peak's gap = %q, want %s in it", d.Peak.Used.Gap, tt.gap)
			}
			readings, notes := read(t, c)
			if len(readings) != 0 || len(notes.Devices) != 1 || notes.Devices[0].Unreadable == 0 {
				t.Fatalf("readings %v, notes %+v", readings, notes)
			}
			if got := notes.Devices[0].Texts[0]; tt.cell != "" && got != tt.cell || !strings.HasPrefix(got, "[") {
				t.Errorf("cell = %q, want %q", got, tt.cell)
			}
		})
	}
}

func TestADeviceWithoutACounterHasTheSumOfItsProcesses(t *testing.T) {
	t.Parallel()
	_, end := watch(t, config(t, "FAKE_MEMORY=3", "FAKE_PROCESSES=3"), 50*time.Millisecond)
	if got := end.Devices[0].ProcessPeak.Used.Number; got != (50+60+70)*mib {
		t.Errorf("sum = %v, want 180 MiB", got/mib)
	}
	_, end = watch(t, config(t, "FAKE_SENTINEL=1", "FAKE_PROCESSES=3"), 50*time.Millisecond)
	if got := end.Devices[0].ProcessPeak.Used; got.Known() || !strings.Contains(got.Gap, "process 1001") {
		t.Errorf("sum with a process of unknown memory = %+v, want a gap that names it", got)
	}
	_, end = watch(t, config(t), 50*time.Millisecond)
	if got := end.Devices[0].ProcessPeak.Used; got.Known() {
		t.Errorf("sum over no listed process = %+v, want a gap: a container hides those outside it", got)
	}
}

func TestALostDeviceCostsItsOwnReadingsOnly(t *testing.T) {
	t.Parallel()
	c := config(t, "FAKE_DEVICES=2", "FAKE_LOST_AT=10")
	end := watchUntil(t, c, func(s device.Summary) bool { return len(s.Devices) == 2 && s.Devices[1].Unreadable > 0 })
	ok, lost := end.Devices[0], end.Devices[1]
	if lost.Samples != 9-1 || lost.Unreadable == 0 { // one call chose the counter
		t.Errorf("device 1: %d readings and %d gaps, want 8 and some", lost.Samples, lost.Unreadable)
	}
	if ok.Unreadable != 0 || ok.Samples != end.Samples {
		t.Errorf("device 0: %d readings of %d samples", ok.Samples, end.Samples)
	}
	if lost.Peak.Used.Number != 200*mib+12345 || lost.LargestGap < 100*time.Millisecond {
		t.Errorf("device 1: peak %v and largest gap %s, want the level before and the time since", lost.Peak.Used, lost.LargestGap)
	}
	if _, notes := read(t, c); notes.Devices[1].Texts[0] != "[GPU is lost]" {
		t.Errorf("the log says %q", notes.Devices[1].Texts)
	}
}

func TestACallThatHangsCostsAGap(t *testing.T) {
	t.Parallel()
	c := config(t, "FAKE_HANG_AT=30", "FAKE_SPIKE_AT=20")
	l, err := StartLogger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	began := time.Now()
	end := l.Stop(6 * time.Second)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %s", took)
	}
	if !strings.Contains(end.Exit, "nvmlDeviceGetMemoryInfo_v2 does not return") {
		t.Errorf("exit = %q, want the call that hangs", end.Exit)
	}
	if end.Devices[0].Peak.Used.Number != idle+31503*mib || end.LargestGap < time.Second {
		t.Errorf("peak %v, largest gap %s: want what was seen before, and the gap", end.Devices[0].Peak.Used, end.LargestGap)
	}
	gone(t, l.PID())
}

func TestAHangingChildIsKilledWhereTheGraceIsShort(t *testing.T) {
	t.Parallel()
	l, err := StartLogger(t.Context(), config(t, "FAKE_HANG_AT=30"))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	end := l.Stop(100 * time.Millisecond)
	if !strings.Contains(end.Exit, "was killed") || len(end.Devices) != 1 {
		t.Errorf("exit = %q with %d devices, want it killed and the devices kept", end.Exit, len(end.Devices))
	}
	gone(t, l.PID())
}

func TestACallThatDiesCostsAtMostTheLastSecond(t *testing.T) {
	t.Parallel()
	l, err := StartLogger(t.Context(), config(t, "FAKE_ABORT_AT=300", "FAKE_SPIKE_AT=20"))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the child did not die")
	}
	end := l.Stop(time.Second)
	if !strings.Contains(end.Exit, "died") || !strings.Contains(end.Exit, "SIGABRT") {
		t.Errorf("exit = %q, want the abort", end.Exit)
	}
	if end.Devices[0].Peak.Used.Number != idle+31503*mib || end.Samples < 100 {
		t.Errorf("peak %v of %d samples, want what was told a second before", end.Devices[0].Peak.Used, end.Samples)
	}
	if again := l.Stop(time.Second); again.Exit != end.Exit {
		t.Errorf("stopped again it says %q", again.Exit)
	}
}

func TestTheChildEndsWithItsParentAndByTERM(t *testing.T) {
	t.Parallel()
	l, err := StartLogger(t.Context(), config(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = l.process.stdin.Close() // as the kernel does for a parent that was killed
	select {
	case <-l.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the child outlives its input")
	}
	l, err = StartLogger(t.Context(), config(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(l.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the child survives TERM")
	}
	if end := l.Stop(time.Second); end.Exit != "the sampler was ended before the run did" || !end.Devices[0].Peak.Used.Known() {
		t.Errorf("exit %q, peak %+v", end.Exit, end.Devices[0].Peak.Used)
	}
}

func TestAPauseOfTheDriverIsTheLargestGap(t *testing.T) {
	t.Parallel()
	_, end := watch(t, config(t, "FAKE_PAUSE_AT=20"), 700*time.Millisecond)
	if end.LargestGap < 300*time.Millisecond || end.Lost < 50 || end.GapAt.IsZero() {
		t.Errorf("largest gap %s at %s, %d lost; want 300 ms and about 60", end.LargestGap, end.GapAt, end.Lost)
	}
}

func TestWhereNVMLCannotStartTheReasonIsTold(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env     []string
		library string
		want    string
		absent  bool
	}{
		"no library":                  {library: "/nonexistent/libnvidia-ml.so.1", want: "no NVML library here", absent: true},
		"a file that is no library":   {library: "logger_test.go", want: "load NVML"},
		"the driver is not loaded":    {env: []string{"FAKE_INIT=9"}, want: "nvmlInit_v2: the driver is not loaded"},
		"driver and library differ":   {env: []string{"FAKE_INIT=18"}, want: "driver/library version mismatch"},
		"the initialisation hangs":    {env: []string{"FAKE_HANG_INIT=1"}, want: "NVML did not answer within 400ms"},
		"the first reading hangs":     {env: []string{"FAKE_HANG_AT=1"}, want: "NVML did not answer within 400ms"},
		"the first reading dies":      {env: []string{"FAKE_ABORT_AT=1"}, want: "the sampler ended at once: exit 2: SIGABRT"},
		"the initialisation dies not": {env: []string{"FAKE_INIT=999"}, want: "unknown error (UNKNOWN)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(t, tt.env...)
			if tt.library != "" {
				abs, err := filepath.Abs(tt.library)
				if err != nil {
					t.Fatal(err)
				}
				c.Library = abs
			}
			if strings.Contains(tt.want, "400ms") {
				c.Within = 400 * time.Millisecond
			}
			_, err := StartLogger(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error = %v, want %q in it", err, tt.want)
			}
			if got := errors.Is(err, fs.ErrNotExist); got != tt.absent {
				t.Errorf("is fs.ErrNotExist: %v, want %v (%v)", got, tt.absent, err)
			}
		})
	}
}

func TestDevicesAreFoundByIdentity(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env  []string
		want []device.Device
		got  []device.Device
	}{
		"by UUID, in the order of the list and not of the indices": {
			want: []device.Device{{Index: 1, UUID: gpu1}, {Index: 0, UUID: gpu0}},
			got:  []device.Device{{Index: 1, UUID: gpu1, Name: "NVIDIA H200"}, {Index: 0, UUID: gpu0, Name: "NVIDIA H200"}},
		},
		"the UUID counts where an index contradicts it": {
			want: []device.Device{{Index: 0, UUID: gpu1}},
			got:  []device.Device{{Index: 1, UUID: gpu1, Name: "NVIDIA H200"}},
		},
		"by index where there is no UUID": {
			want: []device.Device{{Index: 1}},
			got:  []device.Device{{Index: 1, UUID: gpu1, Name: "NVIDIA H200"}},
		},
		"no list means all": {
			got: []device.Device{{Index: 0, UUID: gpu0, Name: "NVIDIA H200"}, {Index: 1, UUID: gpu1, Name: "NVIDIA H200"}},
		},
		"MIG slices of one GPU get indices of their own": {
			env:  []string{"FAKE_MIG=1"},
			want: []device.Device{{Index: -1, UUID: slice1}, {Index: -1, UUID: slice2}},
			got: []device.Device{
				{Index: 0, UUID: slice1, Name: "NVIDIA H200 MIG 1g.18gb"}, {Index: 2, UUID: slice2, Name: "NVIDIA H200 MIG 1g.18gb"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(t, append(tt.env, "FAKE_DEVICES=2")...)
			c.Devices = tt.want
			ready, _ := watch(t, c, 20*time.Millisecond)
			var got []device.Device
			for _, d := range ready.Devices {
				got = append(got, d.Device)
			}
			if diff := cmp.Diff(tt.got, got); diff != "" {
				t.Errorf("devices (-want +got)\n%s", diff)
			}
		})
	}
}

func TestAMIGSliceIsReadWhereItsGPUMayNotBe(t *testing.T) {
	t.Parallel()
	c := config(t, "FAKE_MIG=1", "FAKE_MEMORY=4", "FAKE_PROCESSES=1")
	c.Devices = []device.Device{{Index: -1, UUID: slice2}}
	_, end := watch(t, c, 50*time.Millisecond)
	d := end.Devices[0]
	if d.Peak.Used.Number != 114*mib+12345 || d.Parent != gpu0 || d.Index != 0 {
		t.Errorf("peak %v, parent %s, index %d", d.Peak.Used, d.Parent, d.Index)
	}
	if !strings.Contains(d.EnergyStart.Gap, "NOT_SUPPORTED") {
		t.Errorf("energy of a slice = %+v, want the reason", d.EnergyStart)
	}
}

func TestADeviceThatIsNotThereIsAGapBesideTheOthers(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Devices = []device.Device{{Index: 0, UUID: gpu0}, {Index: 1, UUID: gpu1}}
	_, end := watch(t, c, 50*time.Millisecond)
	if got := end.Devices[1].Peak.Used; got.Known() || !strings.Contains(got.Gap, "NOT_FOUND") {
		t.Errorf("device 1 = %+v, want a gap", got)
	}
	if !end.Devices[0].Peak.Used.Known() {
		t.Errorf("device 0 = %+v, want its peak", end.Devices[0].Peak.Used)
	}
	c.Devices, c.Dir = c.Devices[1:], t.TempDir()
	if _, err := StartLogger(t.Context(), c); err == nil || !strings.Contains(err.Error(), "NOT_FOUND") {
		t.Errorf("none of the devices is there: error = %v", err)
	}
}

func TestTheEnergyCounterIsReadAtStartAndEndOnly(t *testing.T) {
	t.Parallel()
	_, end := watch(t, config(t), 50*time.Millisecond)
	d := end.Devices[0]
	if d.EnergyStart.Number != 5001250 || d.EnergyEnd.Number != 5002500 {
		t.Errorf("energy %v to %v mJ, want two readings of the fake's counter", d.EnergyStart, d.EnergyEnd)
	}
}

func TestTheOtherLogsHoldProcessesAndStates(t *testing.T) {
	t.Parallel()
	c := config(t, "FAKE_PROCESSES=2", "FAKE_SENTINEL=1")
	watch(t, c, 50*time.Millisecond)
	rows := func(name string) []string {
		text, err := os.ReadFile(filepath.Join(c.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	cut := func(row string) string { _, rest, _ := strings.Cut(row, ","); return rest }
	processes := rows("gpu_process_logs.csv")
	if len(processes) != 3 || cut(processes[1]) != "0,"+gpu0+",1000,52428800," ||
		!strings.HasPrefix(cut(processes[2]), "0,"+gpu0+",1001,,") || !strings.Contains(processes[2], "not available") {
		t.Errorf("process log\n%s", strings.Join(processes, "\n"))
	}
	states := rows("gpu_state_logs.csv")
	if len(states) != 3 || cut(states[1]) != "0,97,692.5,1980,3201,software power cap;software thermal slowdown;bits 0x10000000000" {
		t.Errorf("state log\n%s", strings.Join(states, "\n"))
	}
}

// gone demands that the process is no longer there, not even unreaped.
func gone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

func TestACancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := StartLogger(ctx, config(t, "FAKE_HANG_INIT=1"))
	if !strings.Contains(err.Error(), "deadline") || time.Since(began) > 4*time.Second {
		t.Errorf("error = %v after %s", err, time.Since(began))
	}
}
