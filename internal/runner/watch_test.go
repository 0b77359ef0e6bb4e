package runner

import (
	"strings"
	"testing"

	"tunebench/internal/device"
	"tunebench/internal/experiment"
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

// machine knows devices of those models.
func machine(models ...string) device.Machine {
	var m device.Machine
	for i, model := range models {
		m.Devices = append(m.Devices, device.Surveyed{Device: device.Device{Index: i, Name: model}})
	}
	return m
}

func TestB09AnOrderThatIsNotTheDriversIsDoubted(t *testing.T) {
	t.Parallel()
	mixed := machine("Slow", "Fast")
	for name, tc := range map[string]struct {
		machine device.Machine
		order   string
		devices []string
		want    string // empty: no doubt
	}{
		"B09 the user wants the fastest first": {mixed, "FASTEST_FIRST", []string{"0"}, `CUDA_DEVICE_ORDER is "FASTEST_FIRST" and the models differ`},
		"B09 an order that CUDA does not know": {mixed, "X", []string{"1"}, `CUDA_DEVICE_ORDER is "X"`},
		"B09 CUDA's own order":                 {machine("Slow", "Slow", "Fast"), "", []string{"2"}, "device memory may be of another device than the trainer's"},
		"B09 the driver's order":               {mixed, "PCI_BUS_ID", []string{"0"}, ""},
		"B09 equal models":                     {machine("Fast", "Fast"), "FASTEST_FIRST", []string{"0"}, ""},
		"B10 a device named by UUID":           {mixed, "FASTEST_FIRST", []string{"GPU-8f1e2d3c-0000-4111-8222-abcdefabcdef"}, ""},
		"B10 a slice named by UUID":            {mixed, "FASTEST_FIRST", []string{"MIG-1f2e3d4c-0000-5111-9222-abcdefabcdef"}, ""},
		"a machine that lists no device":       {machine(), "FASTEST_FIRST", []string{"0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := experiment.Experiment{Devices: tc.devices, Env: map[string]string{"CUDA_DEVICE_ORDER": tc.order}}
			got := orderDoubt(tc.machine, e)
			if !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("%q, want %q in it", got, tc.want)
			}
		})
	}
}
