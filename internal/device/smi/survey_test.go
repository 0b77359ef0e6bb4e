package smi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

func mib(n float64) metric.Value { return metric.Of(n * float64(unit.MiB)) }

func TestTheSurveySaysWhatThisVersionKnows(t *testing.T) {
	t.Parallel()
	unknown := func(field string) metric.Value {
		return metric.Missing("this nvidia-smi does not know the field " + field)
	}
	na := metric.Missing(`nvidia-smi says "[N/A]"`)
	for mode, tc := range map[string]struct {
		total, used, reserved metric.Value
		mig                   string
	}{
		"survey":  {mib(12288), mib(4), mib(300), device.MIGOff},
		"old":     {mib(12288), mib(4), unknown("memory.reserved"), device.MIGOff},
		"ancient": {mib(12288), mib(4), unknown("memory.reserved"), unknown("mig.mode.current").Gap},
		"unified": {na, na, na, na.Gap},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			m, err := fakeSMI(t, mode).Survey(t.Context())
			if err != nil || len(m.Devices) != 2 || m.Driver != "580.65.06" || m.Source != "nvidia-smi" {
				t.Fatalf("error %v, machine %+v", err, m)
			}
			d := m.Devices[0]
			got := []metric.Value{d.Total, d.Used, d.Reserved}
			if diff := cmp.Diff([]metric.Value{tc.total, tc.used, tc.reserved}, got); diff != "" || d.MIG != tc.mig {
				t.Errorf("MIG %q, want %q; total, used, reserved (-want +got):\n%s", d.MIG, tc.mig, diff)
			}
			if want := (device.Device{UUID: "GPU-aaaa", Name: "Example GPU 12GB, rev B"}); d.Device != want || d.PCI != "00000000:41:00.0" {
				t.Errorf("device %+v at %s, want %+v", d.Device, d.PCI, want)
			}
			second := m.Devices[1]
			if second.UUID != "" || second.Total.Known() || second.Used.Known() || second.Reserved.Known() || second.ProcessesGap == "" {
				t.Errorf("a device without UUID and memory is %+v", second)
			}
		})
	}
}

func TestTheSurveySaysWhoComputes(t *testing.T) {
	t.Parallel()
	m, err := fakeSMI(t, "survey").Survey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []device.ProcessUse{
		{PID: 41, Kind: "compute", Used: mib(5000)},
		{PID: 42, Kind: "compute", Used: metric.Missing(`nvidia-smi says "[N/A]"`)},
	}
	if diff := cmp.Diff(want, m.Devices[0].Processes); diff != "" || m.Devices[0].ProcessesGap != "" {
		t.Errorf("gap %q, processes (-want +got):\n%s", m.Devices[0].ProcessesGap, diff)
	}
	denied, err := fakeSMI(t, "apps denied").Survey(t.Context())
	if err != nil || !strings.Contains(denied.Devices[0].ProcessesGap, "Insufficient Permissions") {
		t.Errorf("error %v, gap %q", err, denied.Devices[0].ProcessesGap)
	}
}

func TestTheSurveyListsTheSlicesOfACutGPU(t *testing.T) {
	t.Parallel()
	m, err := fakeSMI(t, "mig").Survey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	usable, _ := (device.Machine{Devices: m.Devices[:1]}).Usable()
	want := []device.Device{{Index: -1, UUID: "MIG-1", Name: "NVIDIA A100 MIG 1g.5gb"}, {Index: -1, UUID: "MIG-2", Name: "NVIDIA A100 MIG 3g.20gb"}}
	if diff := cmp.Diff(want, usable); diff != "" {
		t.Errorf("usable (-want +got):\n%s", diff)
	}
	for _, slice := range m.Devices[0].Slices {
		if slice.Parent != "GPU-aaaa" || slice.Used.Known() || !strings.Contains(slice.Used.Gap, "MIG slice") || slice.ProcessesGap == "" {
			t.Errorf("slice %+v, want gaps with their reason", slice)
		}
	}
}

func TestASurveySaysWhatFailed(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"mismatch": "exit 18: Failed to initialize NVML: Driver/library version mismatch",
		"unknown":  "exit 6: No devices were found",
		"stderr":   "exit 127: cannot open shared object file",
		"good":     "is no device",
	} {
		_, err := fakeSMI(t, mode).Survey(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", mode, err, want)
		}
	}
	if _, err := (SMI{Path: "/no/such/nvidia-smi"}).Survey(t.Context()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing program: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := fakeSMI(t, "hung").Survey(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a hung program: %v", err)
	}
}

func TestARowThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	var m device.Machine
	text := "0, GPU-a, X\r\nUnable to determine the device handle: GPU is lost\n\n2, GPU-c, Y, Z\n"
	err := ParseSurvey(strings.NewReader(text), []string{fieldIndex, fieldUUID, fieldName}, &m)
	var got []device.Device
	m.Each(func(d device.Surveyed) { got = append(got, d.Device) })
	want := []device.Device{{Index: 0, UUID: "GPU-a", Name: "X"}, {Index: 2, UUID: "GPU-c", Name: "Y, Z"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), `line 2 of nvidia-smi's list is no device: "Unable`) {
		t.Errorf("error %v", err)
	}
	if m.Devices[0].Used.Known() || m.Devices[0].Used.Gap == "" {
		t.Errorf("memory that was not asked for is %+v", m.Devices[0].Used)
	}
}

func FuzzParseSurvey(f *testing.F) {
	f.Add("0, GPU-aaaa, 12288, Enabled, Example GPU 12GB, rev B\n1, [N/A], [N/A], [N/A], NVIDIA L4\n")
	f.Add("No devices were found\n")
	f.Add("-1,,,,\n+2, , 99999999999999999999, , \xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		var m device.Machine
		err := ParseSurvey(strings.NewReader(text), []string{fieldIndex, fieldUUID, fieldTotal, fieldMIG, fieldName}, &m)
		if len(m.Devices) == 0 && err == nil && strings.TrimSpace(text) != "" {
			t.Errorf("%q is neither a list nor an error", text)
		}
		for _, d := range m.Devices {
			if d.Index < 0 || strings.Contains(d.UUID, ",") || strings.Contains(d.Name, "\n") || d.MIG == "" {
				t.Errorf("device %+v of %q", d, text)
			}
			if d.Total.Known() == (d.Total.Gap != "") || d.Total.Known() && d.Total.Number <= 0 || d.Used.Known() {
				t.Errorf("memory %+v, %+v of %q", d.Total, d.Used, text)
			}
		}
	})
}

func FuzzParseSlices(f *testing.F) {
	f.Add("GPU 0: NVIDIA A100 (UUID: GPU-a)\n  MIG 1g.5gb Device 0: (UUID: MIG-1)\n")
	f.Add("  MIG 1g.5gb Device 0: (UUID: MIG-1)\n")
	f.Add("GPU 0: (UUID: \nGPU (UUID: )\n(UUID: MIG-)")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range ParseSlices(strings.NewReader(text)) {
			if !d.IsMIG() || d.Parent == "" || d.Index != -1 || strings.ContainsAny(d.Name+d.UUID, "\n") {
				t.Errorf("slice %+v of %q", d, text)
			}
		}
	})
}

func FuzzParseApps(f *testing.F) {
	f.Add("GPU-a, 41, 5000\nGPU-a, 42, [N/A]\n")
	f.Add("No running processes found\n")
	f.Add("GPU-a, -1, 5\n, 1, 18446744073709551615\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, app := range ParseApps(strings.NewReader(text)) {
			if app.PID <= 0 || app.Used.Known() && app.Used.Number < 0 || !app.Used.Known() && app.Used.Gap == "" {
				t.Errorf("app %+v of %q", app, text)
			}
		}
	})
}
