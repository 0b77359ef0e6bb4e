//go:build linux && !nonvml

package nvml

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

func TestTheSurveySaysWhatEachDeviceTells(t *testing.T) {
	t.Parallel()
	m, err := List(t.Context(), config(t, "FAKE_DEVICES=2", "FAKE_MIG=1", "FAKE_PROCESSES=2"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Source != "nvml" || m.Driver != "580.65.06" || len(m.Devices) != 2 {
		t.Fatalf("machine = %+v", m)
	}
	d := m.Devices[0]
	if d.PCI != "00000000:41:00.0" || d.ComputeMode != "exclusive process" || d.MIG != "on" || m.Devices[1].MIG != "off" {
		t.Errorf("pci %s, mode %s, mig %s and %s", d.PCI, d.ComputeMode, d.MIG, m.Devices[1].MIG)
	}
	if d.Total.Number != 143771*mib || d.Used.Number != idle || d.Reserved.Number != reserved || len(d.Processes) != 2 {
		t.Errorf("total %v, used %v, reserved %v, %d processes", d.Total, d.Used, d.Reserved, len(d.Processes))
	}
	want := []device.Device{
		{Index: 0, UUID: gpu0, Name: "NVIDIA H200"},
		{Index: -1, UUID: slice1, Name: "NVIDIA H200 MIG 1g.18gb"},
		{Index: -1, UUID: slice2, Name: "NVIDIA H200 MIG 1g.18gb"},
		{Index: 1, UUID: gpu1, Name: "NVIDIA H200"},
	}
	var got []device.Device
	m.Each(func(d device.Surveyed) { got = append(got, d.Device) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("identities (-want +got)\n%s", diff)
	}
	if calls := answers(d.Slices[0]); !strings.Contains(calls["nvmlDeviceGetUtilizationRates"], "NOT_SUPPORTED") || d.Slices[0].Parent != gpu0 {
		t.Errorf("a slice says %v", calls)
	}
	if calls := answers(d); calls["nvmlDeviceGetPowerUsage"] != "692.5 W" || calls["nvmlDeviceGetMemoryInfo"] != "749809721 bytes used" {
		t.Errorf("a GPU says %v", calls)
	}
}

func answers(d device.Surveyed) map[string]string {
	out := map[string]string{}
	for _, c := range d.Calls {
		out[c.Name] = c.Answer + c.Gap
		if (c.Answer == "") == (c.Gap == "") {
			out[c.Name] = "neither an answer nor a gap, or both"
		}
	}
	return out
}

func TestAnOldLibraryIsSurveyedWithoutWhatItLacks(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Library = fake(t, "-DOLD")
	m, err := List(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	calls := answers(m.Devices[0])
	for _, name := range []string{"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetTotalEnergyConsumption"} {
		if !strings.Contains(calls[name], "library does not have the function") {
			t.Errorf("%s answers %q", name, calls[name])
		}
	}
	if _, ok := calls["nvmlDeviceGetCurrentClocksThrottleReasons"]; !ok || m.Devices[0].Source != device.FromNVMLv1 {
		t.Errorf("source %s, calls %v", m.Devices[0].Source, calls)
	}
	if !strings.Contains(m.Devices[0].MIG, "does not have the function") {
		t.Errorf("MIG: %q, want that it is not known", m.Devices[0].MIG)
	}
}

func TestASurveyThatCannotBeMadeSaysWhy(t *testing.T) {
	t.Parallel()
	hung := config(t, "FAKE_HANG_INIT=1")
	hung.Within = 300 * time.Millisecond
	absent := config(t)
	absent.Library = "/nonexistent/libnvidia-ml.so.1"
	tests := map[string]struct {
		c      Config
		want   string
		absent bool
	}{
		"no library":         {absent, "no NVML library here", true},
		"a hanging driver":   {hung, "did not answer within 300ms", false},
		"a dying driver":     {config(t, "FAKE_ABORT_AT=1"), "SIGABRT", false},
		"a driver not there": {config(t, "FAKE_INIT=9"), "DRIVER_NOT_LOADED", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := List(t.Context(), tt.c)
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, fs.ErrNotExist) != tt.absent {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}

// The loader keeps its error for each thread: a goroutine that changes threads between the
// failure and the question would be told nothing.
func TestWhyALibraryCannotBeLoadedIsNotLostBetweenThreads(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	if err := os.WriteFile(broken, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/nonexistent/libnvidia-ml.so.1", t.TempDir(), broken} {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 200 {
					_, err := load(path)
					if err == nil || !strings.Contains(err.Error(), path) {
						t.Errorf("loading %s: %v, which does not say why", path, err)
						return
					}
				}
			})
		}
		all.Wait()
	}
}

// B05, B11: what odd devices do not tell is a gap with its reason, and what they tell of
// their processes is kept.
func TestOddDevicesAreSurveyedAsFarAsTheyTell(t *testing.T) {
	t.Parallel()
	const known, unknown = "known", "unknown"
	for name, tt := range map[string]struct {
		env                   []string
		memory, process       string
		gap, processGap, list string // what the reasons hold
		source                string
	}{
		"GB10, unified memory: its processes alone": {
			[]string{"FAKE_MEMORY=3", "FAKE_PROCESSES=2"}, unknown, known, "NOT_SUPPORTED", "", "", device.FromProcesses},
		"WSL: the device alone": {
			[]string{"FAKE_WSL=1", "FAKE_PROCESSES=2"}, known, unknown, "", "NVML_VALUE_NOT_AVAILABLE", "", device.FromNVMLv2},
		"Jetson: nothing": {
			[]string{"FAKE_ALL=3", "FAKE_PROCESSES=2"}, unknown, "", "NOT_SUPPORTED", "", "NOT_SUPPORTED", device.FromProcesses},
		"a vGPU without memory of its own": {
			[]string{"FAKE_TOTAL0=1", "FAKE_PROCESSES=2"}, unknown, known, "cannot be true", "", "", device.FromNVMLv2},
		"a vGPU without permission": {
			[]string{"FAKE_ALL=4"}, unknown, "", "NO_PERMISSION", "", "NO_PERMISSION", device.FromNVMLv2},
		"an old driver on unified memory": {
			[]string{"FAKE_V2=13", "FAKE_MEMORY=3", "FAKE_PROCESSES=1"}, unknown, known, "NOT_SUPPORTED", "", "", device.FromProcesses},
		"a container that shows no process": {
			[]string{"FAKE_PROCESSES=0"}, known, "", "", "", "", device.FromNVMLv2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := List(t.Context(), config(t, tt.env...))
			if err != nil {
				t.Fatal(err)
			}
			d := m.Devices[0]
			for what, v := range map[string]metric.Value{"used": d.Used, "total": d.Total, "reserved": d.Reserved} {
				if v.Known() != (tt.memory == known) || !strings.Contains(v.Gap, tt.gap) || v.Known() && v.Number == 0 {
					t.Errorf("%s = %+v, want it %s (%s)", what, v, tt.memory, tt.gap)
				}
			}
			if d.Source != tt.source || len(d.Processes) == 0 != (tt.process == "") || !strings.Contains(d.ProcessesGap, tt.list) {
				t.Errorf("source %s, processes %+v (%s)", d.Source, d.Processes, d.ProcessesGap)
			}
			for _, p := range d.Processes {
				if p.Used.Known() != (tt.process == known) || !strings.Contains(p.Used.Gap, tt.processGap) {
					t.Errorf("process %d holds %+v, want it %s (%s)", p.PID, p.Used, tt.process, tt.processGap)
				}
			}
		})
	}
}

func TestOddDevicesAreWatchedAsFarAsTheyTell(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env       []string
		peak, sum float64 // 0: a gap
		peakGap   string
		sumGap    string
	}{
		"GB10, unified memory: the sum of its processes": {[]string{"FAKE_MEMORY=3", "FAKE_PROCESSES=2"}, 0, 110 * mib, "NOT_SUPPORTED", ""},
		"WSL: the device alone":                          {[]string{"FAKE_WSL=1", "FAKE_PROCESSES=2"}, idle, 0, "", "process 1000 is not known"},
		"Jetson: nothing":                                {[]string{"FAKE_ALL=3"}, 0, 0, "NOT_SUPPORTED", "no process"},
		"a container that shows no process":              {nil, idle, 0, "", "lists no process"},
		"one process whose memory is not known":          {[]string{"FAKE_SENTINEL=1", "FAKE_PROCESSES=2"}, 0, 0, "NVML_VALUE_NOT_AVAILABLE", "process 1001 is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, end := watch(t, config(t, tt.env...), 50*time.Millisecond)
			d := end.Devices[0]
			for _, v := range []struct {
				what string
				got  metric.Value
				want float64
				gap  string
			}{{"peak", d.Peak.Used, tt.peak, tt.peakGap}, {"sum of processes", d.ProcessPeak.Used, tt.sum, tt.sumGap}} {
				if v.got.Known() != (v.want > 0) || v.got.Number != v.want || !strings.Contains(v.got.Gap, v.gap) {
					t.Errorf("%s = %+v, want %v or a gap with %q", v.what, v.got, v.want, v.gap)
				}
			}
		})
	}
}

func TestAListOfProcessesIsReadWhateverTheSizeOfItsEntries(t *testing.T) {
	t.Parallel()
	for _, stride := range []string{"16", "24", "32"} {
		for _, n := range []int{1, 2, 3, 100} { // 100 do not fit into the first buffer
			t.Run(stride+" bytes", func(t *testing.T) {
				t.Parallel()
				m, err := List(t.Context(), config(t, "FAKE_STRIDE="+stride, "FAKE_PROCESSES="+itoa(n)))
				if err != nil {
					t.Fatal(err)
				}
				list := m.Devices[0].Processes
				if len(list) != n {
					t.Fatalf("%d processes, want %d (%s)", len(list), n, m.Devices[0].ProcessesGap)
				}
				for i, p := range list {
					if p.PID != 1000+i || p.Used.Number != float64((50+10*i)*mib) {
						t.Errorf("entry %d = %+v", i, p)
					}
				}
			})
		}
	}
}

func itoa(n int) string { return metric.Of(float64(n)).String() }

// FuzzSplitter holds the reader of the child's lines to its promise: replies come
// through whole and in order, however the bytes are cut and whatever stands between.
func FuzzSplitter(f *testing.F) {
	f.Add("garbage from a library", uint8(1))
	f.Add("{\"ready\":", uint8(7))
	f.Add("", uint8(255))
	f.Fuzz(func(t *testing.T, noise string, cut uint8) {
		noise = strings.ReplaceAll(noise, "\n", " ")
		if strings.HasPrefix(strings.TrimSpace(noise), "{") || strings.TrimSpace(noise) == "null" {
			noise = "#" + noise // a line that is a reply is none of the noise
		}
		var got []string
		s := &splitter{each: func(m reply) { got = append(got, m.Error) }}
		text := "{\"error\":\"one\"}\n" + noise + "\n{\"error\":\"two\"}\n" + noise
		for size := int(cut) + 1; len(text) > 0; {
			n, err := s.Write([]byte(text[:min(size, len(text))]))
			if err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
		if diff := cmp.Diff([]string{"one", "two"}, got); diff != "" {
			t.Errorf("replies (-want +got)\n%s", diff)
		}
	})
}
