package smi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

func two() []device.Device { return []device.Device{{Index: 0}, {Index: 1}} }

func TestListReadsTheDevices(t *testing.T) {
	t.Parallel()
	got, err := fakeSMI(t, "list").List(t.Context())
	want := []device.Device{{Index: 0, UUID: "GPU-aaaa", Name: "Example GPU 12GB, rev B"}, {Index: 1, Name: "NVIDIA L4"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestListSaysWhatFailed(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"mismatch": "exit 18: Failed to initialize NVML: Driver/library version mismatch",
		"unknown":  "exit 6: No devices were found",
		"stderr":   "exit 127: cannot open shared object file",
	} {
		_, err := fakeSMI(t, mode).List(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", mode, err, want)
		}
	}
	if _, err := (SMI{Path: "/no/such/nvidia-smi"}).List(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing program: %v", err)
	}
}

func TestAHungProgramDoesNotHangTheQuery(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	levels, err := fakeSMI(t, "hung").Read(ctx, two())
	if err == nil || !strings.Contains(err.Error(), "did not answer") || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	if len(levels) != 2 || levels[0].Used.Known() || !strings.Contains(levels[1].Used.Gap, "did not answer") {
		t.Errorf("levels %+v, want two gaps that say why", levels)
	}
}

func TestReadTakesOneReading(t *testing.T) {
	t.Parallel()
	mib := func(n float64) metric.Value { return metric.Of(n * (1 << 20)) }
	for name, tc := range map[string]struct {
		mode    string
		devices []device.Device
		want    []device.Level
		err     string
	}{
		"of two devices":              {"good", two(), []device.Level{{Index: 0, Used: mib(4)}, {Index: 1, Used: mib(5)}}, ""},
		"one may not be read":         {"permission", two(), []device.Level{{Index: 0, Used: metric.Missing("nvidia-smi says [Insufficient Permissions]")}, {Index: 1, Used: mib(7)}}, ""},
		"one that is not printed":     {"good", []device.Device{{Index: 3}}, []device.Level{{Index: 3, Used: metric.Missing("nvidia-smi printed no row of this device")}}, ""},
		"a MIG slice is not asked":    {"good", []device.Device{{Index: -1, UUID: "MIG-1"}}, []device.Level{{Index: -1, Used: metric.Missing("nvidia-smi does not tell the memory of a MIG slice (MIG-1)")}}, "MIG slice"},
		"no device is nothing to ask": {"good", nil, []device.Level{}, "no device"},
		"an unknown device": {"unknown", []device.Device{{Index: 9}},
			[]device.Level{{Index: 9, Used: metric.Missing("nvidia-smi: exit 6: No devices were found")}}, "exit 6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fakeSMI(t, tc.mode).Read(t.Context(), tc.devices)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

func TestParseListNamesTheLineThatIsNone(t *testing.T) {
	t.Parallel()
	got, err := ParseList(strings.NewReader("0, GPU-a, X\r\nUnable to determine the device handle: GPU is lost\n\n2, GPU-c, Y, Z\n"))
	want := []device.Device{{Index: 0, UUID: "GPU-a", Name: "X"}, {Index: 2, UUID: "GPU-c", Name: "Y, Z"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), `line 2 of nvidia-smi's list is no device: "Unable`) {
		t.Errorf("error %v", err)
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("0, GPU-aaaa, Example GPU 12GB, rev B\n1, [N/A], NVIDIA L4\n")
	f.Add("No devices were found\n")
	f.Add("-1,,\n+2, , \xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		devices, err := ParseList(strings.NewReader(text))
		if len(devices) == 0 && err == nil && strings.TrimSpace(text) != "" {
			t.Errorf("%q is neither a list nor an error", text)
		}
		for _, d := range devices {
			if d.Index < 0 || strings.Contains(d.UUID, ",") || strings.ContainsAny(d.Name, "\n") {
				t.Errorf("device %+v of %q", d, text)
			}
		}
	})
}
