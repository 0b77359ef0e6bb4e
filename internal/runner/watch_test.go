package runner

import (
	"strings"
	"testing"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

func watchedDevice(index int, grew unit.Bytes, pids ...int) device.Watched {
	w := device.Watched{Device: device.Device{Index: index, UUID: "GPU-a"}}
	w.Baseline.Used, w.Peak.Used = metric.Of(0), metric.Of(float64(grew))
	for _, pid := range pids {
		w.Peak.Processes = append(w.Peak.Processes, device.ProcessUse{PID: pid})
	}
	return w
}

func TestDevicesThatGrewWithoutTheExperimentAreNamed(t *testing.T) {
	t.Parallel()
	unread := watchedDevice(1, unit.GiB, 99)
	unread.Peak.Used = metric.Missing("[N/A]")
	slice := watchedDevice(-1, unit.GiB, 99)
	slice.UUID = "MIG-1"
	for name, tc := range map[string]struct {
		devices []device.Watched
		want    string // empty: nothing is said
	}{
		"a stranger on the only one":           {[]device.Watched{watchedDevice(0, unit.GiB, 99)}, "device 0 (1.00 GiB)"},
		"ours on the first, strangers beside":  {[]device.Watched{watchedDevice(0, unit.GiB, 7, 99), watchedDevice(1, 2*unit.GiB, 99)}, "grew: device 1 (2.00 GiB):"},
		"ours on the first, nobody on another": {[]device.Watched{watchedDevice(0, unit.GiB, 7), watchedDevice(1, unit.GiB)}, "grew: device 1 (1.00 GiB):"},
		"a slice":                              {[]device.Watched{slice}, "MIG-1 (1.00 GiB)"},
		"ours on all":                          {[]device.Watched{watchedDevice(0, unit.GiB, 7), watchedDevice(1, unit.GiB, 8)}, ""},
		"hidden pids":                          {[]device.Watched{watchedDevice(0, unit.GiB), watchedDevice(1, unit.GiB)}, ""},
		"one that was never used":              {[]device.Watched{watchedDevice(0, unit.GiB, 7), watchedDevice(1, 0)}, ""},
		"one that cannot be read":              {[]device.Watched{watchedDevice(0, unit.GiB, 7), unread}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := unseen(&device.Summary{Devices: tc.devices}, []int{7, 8})
			if !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("%q, want %q in it", got, tc.want)
			}
		})
	}
	if got := unseen(nil, []int{7}); got != "" {
		t.Errorf("without a summary: %q", got)
	}
}
