package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

func gibi(n float64) metric.Value { return metric.Of(n * float64(unit.GiB)) }

// h200 is a device that tells everything.
func h200(index int, processes ...device.ProcessUse) device.Surveyed {
	return device.Surveyed{
		Device: device.Device{Index: index, UUID: fmt.Sprintf("GPU-8f1e2d3c-0000-4111-8222-%012d", index), Name: "NVIDIA H200"},
		Source: device.FromNVMLv2, Total: gibi(140), Used: gibi(0.5), Reserved: gibi(0.6), MIG: device.MIGOff, Processes: processes,
		Calls: []device.Call{{Name: "nvmlDeviceGetMemoryInfo_v2", Answer: "1 bytes used"}, {Name: "nvmlDeviceGetPowerUsage", Answer: "692.5 W"}},
	}
}

func eight() []device.Surveyed {
	var all []device.Surveyed
	for i := range 8 {
		all = append(all, h200(i))
	}
	all[3].Processes = []device.ProcessUse{{PID: 4321, Used: gibi(30)}, {PID: 4322, Used: metric.Missing("not available (NVML_VALUE_NOT_AVAILABLE)")}}
	all[5].Used = gibi(36) // in a container, by somebody outside it
	return all
}

func sliced() []device.Surveyed {
	whole, cut := h200(1), h200(0)
	cut.MIG = device.MIGOn
	cut.Name = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
	for i := range 2 {
		slice := h200(-1)
		slice.UUID, slice.Name = fmt.Sprintf("MIG-1f2e3d4c-0000-5111-9222-%012d", i), cut.Name+" MIG 1g.24gb"
		slice.Calls[1] = device.Call{Name: "nvmlDeviceGetPowerUsage", Gap: "not supported by this device (NOT_SUPPORTED)"}
		cut.Slices = append(cut.Slices, slice)
	}
	return []device.Surveyed{cut, whole}
}

func unified() []device.Surveyed {
	d := h200(0, device.ProcessUse{PID: 77, Used: gibi(9)})
	none := metric.Missing("nvmlDeviceGetMemoryInfo: not supported by this device (NOT_SUPPORTED)")
	d.Name, d.Source, d.Total, d.Used, d.Reserved = "NVIDIA GB10", device.FromProcesses, none, none, none
	return []device.Surveyed{d}
}

func TestTheDevicesOfAMachineFitIntoEightyColumns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		devices []device.Surveyed
		visible string
		want    []string
	}{
		"eight": {devices: eight(), visible: "3,1", want: []string{
			"on device 3: process 4321 (30.0 GiB), process 4322 (holds an unknown amount: not", "nobody is listed on devices 0, 1, 2, 4, 6, 7",
			"nobody is listed on device 5, but memory is in use", "answers here: nvmlDeviceGetMemoryInfo_v2, nvmlDeviceGetPowerUsage",
		}},
		"sliced": {devices: sliced(), want: []string{"in slices", "0/1", "not known of devices 0/0, 0/1: nvmlDeviceGetPowerUsage: not supported"}},
		"unified": {devices: unified(), want: []string{
			"not known of device 0: memory in use, total memory, reserved memory:", "on device 0: process 77 (9.00 GiB)"}},
		"nothing asked": {devices: []device.Surveyed{{Device: device.Device{Name: "X"}}}, want: []string{"total memory, reserved memory: it was not"}},
		"none":          {want: []string{"no device was found", "note: no NVML library here"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := device.Machine{Source: "nvml", Driver: "580.65.06", Devices: tc.devices}
			if len(tc.devices) == 0 {
				m.Notes = []string{"no NVML library here"}
			}
			s := DeviceSurvey{Machines: []device.Machine{m}, Visible: tc.visible, VisibleSet: tc.visible != ""}
			s.Seen, s.Notes = m.Seen(device.ParseVisible(s.Visible, s.VisibleSet))
			var out strings.Builder
			if err := Devices(&out, s, 80); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in\n%s", want, &out)
				}
			}
			if strings.Contains(out.String(), " 0 B") {
				t.Errorf("an unknown figure is shown as 0 B:\n%s", &out)
			}
			golden(t, "devices_"+strings.ReplaceAll(name, " ", "_")+".golden", []byte(out.String()))
		})
	}
}
