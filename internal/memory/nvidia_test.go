package memory

import (
	"fmt"
	"strings"
	"testing"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

const header = "timestamp, name, index, memory.used [MiB]\n"

// rows writes a log of one device, a cell a second.
func rows(name string, index int, cells ...string) string {
	var b strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&b, "2025/03/04 10:00:%02d.101, %s, %d, %s\n", i, name, index, cell)
	}
	return b.String()
}

func level(index int, used metric.Value) []device.Level {
	return []device.Level{{Index: index, Used: used}}
}

func mibValue(n unit.Bytes) metric.Value { return metric.Of(float64(n * unit.MiB)) }

type nvidiaCase struct {
	log    string
	opts   NvidiaOptions
	want   string // the mean in MiB; empty for a gap
	gap    string // must stand in the gap
	name   string
	doubts []string // each must stand in one doubt; none: there must be no doubt
}

func (tc nvidiaCase) check(t *testing.T) NvidiaFigures {
	t.Helper()
	got := Nvidia(strings.NewReader(tc.log), tc.opts)
	if got.Reserved.String() != tc.want || !strings.Contains(got.Reserved.Gap, tc.gap) {
		t.Errorf("reserved %q, gap %q; want %q, gap with %q", got.Reserved, got.Reserved.Gap, tc.want, tc.gap)
	}
	if got.Name != tc.name {
		t.Errorf("device name %q, want %q", got.Name, tc.name)
	}
	all := strings.Join(got.Doubts, "\n")
	for _, d := range tc.doubts {
		if !strings.Contains(all, d) {
			t.Errorf("no doubt with %q in:\n%s", d, all)
		}
	}
	if len(tc.doubts) == 0 && all != "" {
		t.Errorf("unexpected doubts:\n%s", all)
	}
	return got
}

func runNvidia(t *testing.T, cases map[string]nvidiaCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t)
		})
	}
}

func TestB01UnreadableReadingsAreLeftOut(t *testing.T) {
	t.Parallel()
	runNvidia(t, map[string]nvidiaCase{
		"one of three in the middle": {log: header + rows("NVIDIA A10G", 0, "3 MiB", "[N/A]", "20483 MiB"),
			want: "20480", name: "NVIDIA A10G", doubts: []string{"1 of 3 readings of device 0 unreadable: [N/A], first in line 3"}},
		"the first reading is no baseline of 0": {log: header + rows("NVIDIA A10G", 0, "[N/A]", "300 MiB", "20300 MiB"),
			want: "20000", name: "NVIDIA A10G", doubts: []string{"1 of 3 readings"}},
		"the older word": {log: header + rows("Tesla K80", 2, "3 MiB", "103 MiB", "[Not Supported]", "[Not Supported]"),
			want: "100", name: "Tesla K80", doubts: []string{"2 of 4 readings of device 2 unreadable: [Not Supported]"}},
		"one readable reading is too few": {log: header + rows("X", 0, "[N/A]", "900 MiB", "[N/A]"),
			gap: "2 of 3 readings of device 0 unreadable", name: "X", doubts: []string{"2 of 3 readings"}},
	})
}

func TestB02AnErrorInPlaceOfALog(t *testing.T) {
	t.Parallel()
	runNvidia(t, map[string]nvidiaCase{
		"a mismatch of driver and library": {
			log:  "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 555.42\n",
			opts: NvidiaOptions{LoggerExit: "exit 18"},
			gap:  `"Failed to initialize NVML: Driver/library version mismatch" in line 1; the logger ended by itself: exit 18`},
		"no driver": {log: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n\n",
			opts: NvidiaOptions{LoggerExit: "exit 9"}, gap: "exit 9"},
		"an unknown device": {log: "No devices were found\n", opts: NvidiaOptions{LoggerExit: "exit 6"},
			gap: `"No devices were found" in line 1; the logger ended by itself: exit 6`},
		"an empty log":  {log: "", opts: NvidiaOptions{LoggerExit: "SIGKILL"}, gap: "the log is empty; the logger ended by itself: SIGKILL"},
		"a header only": {log: header, gap: "the log has a header and no reading"},
	})
}

func TestB03AGPUIsLost(t *testing.T) {
	t.Parallel()
	const lost = "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the system to recover this GPU"
	two := rows("NVIDIA A100-SXM4-80GB", 0, "4 MiB", "40004 MiB") + rows("NVIDIA A100-SXM4-80GB", 1, "4 MiB", "39004 MiB")
	tc := nvidiaCase{log: header + two + lost + "\n", want: "39500", name: "NVIDIA A100-SXM4-80GB",
		doubts: []string{"lower bound: the log ended in an error: \"" + lost + `" in line 6`}}
	got := tc.check(t)
	if a, b := got.Devices[0].Reserved.Number, got.Devices[1].Reserved.Number; a != 40000 || b != 39000 {
		t.Errorf("devices have %v and %v, want 40000 and 39000", a, b)
	}
	runNvidia(t, map[string]nvidiaCase{
		"the error has no line end": {log: header + two + lost, want: "39500", name: "NVIDIA A100-SXM4-80GB",
			doubts: []string{"lower bound: the log ended in an error"}},
		"another error": {log: header + two + "Unable to determine the device handle for GPU0: Unknown Error\n", want: "39500",
			name: "NVIDIA A100-SXM4-80GB", doubts: []string{"ended in an error"}},
		"the other device goes on": {log: header + two + lost + "\n" + rows("NVIDIA A100-SXM4-80GB", 1, "41004 MiB"), want: "40500",
			name: "NVIDIA A100-SXM4-80GB", doubts: []string{"lower bound: an error stands in the log"}},
		"the logger's end alone": {log: header + two, opts: NvidiaOptions{LoggerExit: "exit 15"}, want: "39500",
			name: "NVIDIA A100-SXM4-80GB", doubts: []string{"lower bound: the logger ended by itself before the run did: exit 15"}},
	})
}

func TestB04AndB05DevicesWithoutAReading(t *testing.T) {
	t.Parallel()
	times := func(n int, cell string) []string { return strings.Split(strings.Repeat(cell+"|", n-1)+cell, "|") }
	runNvidia(t, map[string]nvidiaCase{
		"B04 a MIG slice in a container": {log: header + rows("NVIDIA A100-SXM4-40GB", 0, times(5, "[Insufficient Permissions]")...),
			gap: "may not be read: [Insufficient Permissions] in all 5 readings, first in line 2 (a MIG slice", name: "NVIDIA A100-SXM4-40GB"},
		"B04 one reading only": {log: header + rows("NVIDIA H100 MIG 1g.10gb", 3, "[Insufficient Permissions]"),
			gap: "MIG", name: "NVIDIA H100 MIG 1g.10gb"},
		"B04 beside a device that can be read": {log: header + rows("A", 0, "[Insufficient Permissions]") + rows("B", 1, "0 MiB", "10 MiB"),
			want: "10", name: "A; B", doubts: []string{"device 0 is left out of the mean: memory of device 0 may not be read"}},
		"B05 unified memory": {log: header + rows("NVIDIA GB10", 0, times(10, "[N/A]")...),
			gap: "device reports no framebuffer memory: [N/A] in all 10 readings", name: "NVIDIA GB10"},
		"B05 the older word": {log: header + rows("Orin", 0, times(2, "[Not Supported]")...),
			gap: "device reports no framebuffer memory", name: "Orin"},
		"B05 both words": {log: header + rows("Thor", 0, "[Not Supported]", "[N/A]"),
			gap: "[Not Supported], [N/A] in all 2 readings", name: "Thor"},
		"B05 an error is not unified memory": {log: header + rows("X", 0, times(4, "[Unknown Error]")...),
			gap: "no reading of device 0 is a number: [Unknown Error] in all 4", name: "X"},
	})
}

func TestB06AndB07AndB08ForeignCutAndOddRows(t *testing.T) {
	t.Parallel()
	l4 := header + rows("NVIDIA L4", 0, "3 MiB", "21501 MiB")
	runNvidia(t, map[string]nvidiaCase{
		"B06 a header that comes again behind a foreign line": {
			log:  "ERROR: no input message specified\n" + header + rows("NVIDIA L40S", 0, "10 MiB") + header + rows("NVIDIA L40S", 0, "5010 MiB"),
			want: "5000", name: "NVIDIA L40S", doubts: []string{`1 foreign line in the log, first "ERROR: no input message specified" in line 1`}},
		"B06 several foreign lines": {log: "a\nb\n" + header + rows("X", 0, "1 MiB") + "c\n" + rows("X", 0, "2 MiB"),
			want: "1", name: "X", doubts: []string{"3 foreign lines in the log"}},
		"B06 columns in another place": {log: "memory.used [MiB], index, name\n7 MiB, 0, X\n9 MiB, 0, X\n", want: "2", name: "X"},
		"B07 a cut number":             {log: l4 + "2025/03/04 10:00:04.111, NVIDIA L4, 0, 21", want: "21498", name: "NVIDIA L4"},
		"B07 a cut name":               {log: l4 + "2025/03/04 10:00:04.111, NVIDIA L", want: "21498", name: "NVIDIA L4"},
		"B07 a cut index":              {log: l4 + "2025/03/04 10:00:04.111, NVIDIA L4, 1", want: "21498", name: "NVIDIA L4"},
		"B07 a cut unit":               {log: l4 + "2025/03/04 10:00:04.111, NVIDIA L4, 0, 99999 M", want: "21498", name: "NVIDIA L4"},
		"B07 a cut header":             {log: "timestamp, name, ind", gap: "ends within line 1"},
		"B08 commas, brackets, blank lines, two models": {log: header +
			rows("Example GPU 12GB, rev B", 0, "100 MiB") + "\n" + rows("Example RTX (Workstation) Edition", 6, "2 MiB") +
			rows("Example GPU 12GB, rev B", 0, "1100 MiB") + "\n" + rows("Example RTX (Workstation) Edition", 6, "3002 MiB"),
			want: "2000", name: "Example GPU 12GB, rev B; Example RTX (Workstation) Edition"},
		"B08 two commas":         {log: header + rows("A, B, C", 1, "0 MiB", "8 MiB"), want: "8", name: "A, B, C"},
		"B08 a number in a name": {log: header + rows("Card, 7, 9 MiB", 1, "0 MiB", "8 MiB"), want: "8", name: "Card, 7, 9 MiB"},
	})
}

func TestB11AndB12OtherCounters(t *testing.T) {
	t.Parallel()
	v1 := level(0, metric.Of(314572800))
	runNvidia(t, map[string]nvidiaCase{
		"B11 the device's counter": {log: header + rows("X", 0, "4 MiB", "9004 MiB"), want: "9000", name: "X"},
		"B11 an empty process list is unknown": {log: "pid, process_name, used_gpu_memory [MiB], gpu_uuid\n",
			gap: "the log holds an error"},
		"B11 a growing process list is no device": {log: "pid, process_name, used_gpu_memory [MiB]\n12, python, 429 MiB\n",
			gap: "the log holds an error"},
		"B12 no baseline at all": {log: header + rows("X", 0, "0 MiB", "10240 MiB"), want: "10240", name: "X"},
		"B12 a baseline of the same counter": {log: header + rows("X", 0, "10240 MiB", "10240 MiB"),
			opts: NvidiaOptions{Baselines: level(0, metric.Of(0)), BaselineSource: "nvidia-smi"}, want: "10240", name: "X"},
		"B12 a baseline of another counter": {log: header + rows("X", 0, "0 MiB", "10240 MiB"),
			opts: NvidiaOptions{Baselines: v1, BaselineSource: "nvml v1"}, want: "10240", name: "X",
			doubts: []string{"the baseline is from nvml v1 and the log from nvidia-smi, which count differently"}},
	})
}

func TestB43TheBaseline(t *testing.T) {
	t.Parallel()
	log := func(cells ...string) string { return header + rows("X", 0, cells...) }
	runNvidia(t, map[string]nvidiaCase{
		"an idle device": {log: log("4 MiB", "12292 MiB"), want: "12288", name: "X"},
		"another job before the run": {log: log("30000 MiB", "41000 MiB"), opts: NvidiaOptions{Baselines: level(0, mibValue(30000))},
			want: "11000", name: "X", doubts: []string{"device 0 was in use before the run: 30000 MiB"}},
		"another job that ends during the run": {log: log("30000 MiB", "41000 MiB", "11000 MiB"),
			want: "11000", name: "X", doubts: []string{"in use before the run", "device 0 fell to 11000 MiB, below its baseline"}},
		"sampling began late, baseline taken": {log: log("20000 MiB", "41000 MiB"), opts: NvidiaOptions{Baselines: level(0, mibValue(4))},
			want: "40996", name: "X"},
		"sampling began late, the log alone": {log: log("20000 MiB", "41000 MiB"),
			want: "21000", name: "X", doubts: []string{"baseline doubtful: the first reading of device 0 is already 20000 MiB"}},
		"the baseline could not be read": {log: log("4 MiB", "104 MiB"),
			opts: NvidiaOptions{Baselines: level(0, metric.Missing("[N/A]"))},
			want: "100", name: "X", doubts: []string{"no baseline from before the start ([N/A])"}},
		"the baseline of another device": {log: log("4 MiB", "104 MiB"), opts: NvidiaOptions{Baselines: level(1, mibValue(50))}, want: "100", name: "X"},
		"the other job ended at once": {log: log("100 MiB", "11000 MiB"), opts: NvidiaOptions{Baselines: level(0, mibValue(30000))},
			gap: "held 30000 MiB before the start and never as much", name: "X"},
		"a baseline to the byte that the log rounds down": {log: log("100 MiB", "100 MiB"), opts: NvidiaOptions{Baselines: level(0, metric.Of(100.4375*1048576))},
			want: "0", name: "X"},
		"a baseline to the byte that the log rounds up": {log: log("101 MiB", "101 MiB"), opts: NvidiaOptions{Baselines: level(0, metric.Of(100.75*1048576))},
			want: "0.25", name: "X"},
		"a whole MiB was given back": {log: log("99 MiB", "99 MiB"), opts: NvidiaOptions{Baselines: level(0, mibValue(100))},
			gap: "held 100 MiB before the start and never as much", name: "X"},
	})
}

func TestB44PeaksBetweenSamples(t *testing.T) {
	t.Parallel()
	runNvidia(t, map[string]nvidiaCase{
		"as sampled":                    {log: header + rows("X", 0, "4 MiB", "8004 MiB", "8004 MiB"), want: "8000", name: "X"},
		"one reading":                   {log: header + rows("X", 0, "4 MiB"), gap: "the run was shorter than the sampling interval", name: "X"},
		"one reading and a baseline":    {log: header + rows("X", 0, "4 MiB"), opts: NvidiaOptions{Baselines: level(0, mibValue(4))}, gap: "fewer than two readings", name: "X"},
		"one reading of each of two":    {log: header + rows("X", 0, "4 MiB") + rows("X", 1, "4 MiB"), gap: "fewer than two readings", name: "X"},
		"no reading":                    {log: header, gap: "no reading"},
		"two readings that do not grow": {log: header + rows("X", 0, "4 MiB", "4 MiB"), want: "0", name: "X"},
	})
}

func TestCompareTellsMissedPeaksAndOtherDevices(t *testing.T) {
	t.Parallel()
	figures := func(cells ...string) NvidiaFigures {
		return Nvidia(strings.NewReader(header+rows("X", 0, "4 MiB")+rows("X", 1, "4 MiB")+rows("X", 0, cells[0])+rows("X", 1, cells[1])), NvidiaOptions{})
	}
	for name, tc := range map[string]struct {
		f    NvidiaFigures
		peak metric.Value
		want []string
	}{
		"the sampler missed the peak":         {figures("8004 MiB", "8004 MiB"), metric.Of(12884901888), []string{"growth of 8000 MiB is below torch's own peak of 12288 MiB"}},
		"one MiB is enough":                   {figures("8004 MiB", "8003 MiB"), mibValue(8001), []string{"sampled growth"}},
		"the sampled peak is above torch's":   {figures("12292 MiB", "12292 MiB"), metric.Of(10737418240), nil},
		"one device of two reaches it":        {figures("12292 MiB", "2292 MiB"), metric.Of(10737418240), nil},
		"a device that never grew":            {figures("12292 MiB", "4 MiB"), metric.Of(10737418240), []string{"device 1 never grew"}},
		"torch did not report":                {figures("8004 MiB", "4 MiB"), metric.Missing("no"), nil},
		"a log without a figure says no more": {Nvidia(strings.NewReader(header), NvidiaOptions{}), metric.Of(1e9), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Compare(tc.f, tc.peak)
			if len(got) != len(tc.want) {
				t.Fatalf("doubts %q, want %q", got, tc.want)
			}
			for i := range got {
				if !strings.Contains(got[i], tc.want[i]) {
					t.Errorf("doubt %q, want %q in it", got[i], tc.want[i])
				}
			}
		})
	}
}
