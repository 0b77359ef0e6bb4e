package memory

import (
	"strings"
	"testing"

	"tunebench/internal/device"
	"tunebench/internal/unit"
)

func TestGrowthThatNobodyExplainsIsDoubtful(t *testing.T) {
	t.Parallel()
	left := peaked(0, 9004)
	left.ProcessPeak = device.Moment{Used: mibValue(8000), Processes: []device.ProcessUse{process(7, 8000)}}
	desktop := peaked(300, 9300, process(50, 300))
	desktop.Baseline.Processes = []device.ProcessUse{process(50, 300)}
	torch := func(reserved unit.Bytes) []TorchUse { return []TorchUse{rank(0, 7, 100, reserved)} }
	for name, tc := range map[string]struct {
		w     device.Watched
		torch []TorchUse
		mark  Mark
		text  string // of the doubts, else of a gap; empty: no doubt
	}{
		"more than the listed ones hold":          {peaked(4, 9004, process(7, 8000)), nil, Doubtful, "1000 MiB of the growth of device 0 belong to no listed process"},
		"just above one percent":                  {peaked(0, 10000, process(7, 9899)), nil, Doubtful, "101 MiB of the growth"},
		"just below one percent":                  {peaked(0, 10000, process(7, 9901)), nil, Sure, ""},
		"of a small device a few MiB":             {peaked(0, 600, process(7, 584)), nil, Sure, ""},
		"of a small device more than that":        {peaked(0, 600, process(7, 583)), nil, Doubtful, "17 MiB of the growth"},
		"nobody at the peak, and somebody before": {left, nil, Doubtful, "9004 MiB of the growth of device 0 belong to no listed process"},
		"a desktop that was there":                {desktop, nil, Doubtful, "9000 MiB of the growth of device 0 belong to no listed process"},
		"a desktop, and torch tells":              {desktop, torch(8500), Sure, ""},
		"strangers, and no torch":                 {peaked(4, 9004, process(99, 8000)), nil, Doubtful, "device 0 grew by 9000 MiB, and none of the processes"},
		"strangers, and little of torch":          {peaked(4, 9004, process(99, 8000)), torch(500), Doubtful, "or their pids are of another namespace"},
		"strangers, and torch that explains it":   {peaked(4, 9004, process(40007, 8990)), torch(8200), Sure, ""},
		"strangers on a device that hardly grew":  {peaked(4, 14, process(99, 8)), nil, Sure, ""},
		"B11 hidden pids":                         {peaked(4, 9004), nil, Sure, ""},
		"B11 hidden pids, and torch":              {peaked(4, 9004), torch(500), Sure, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			devices := []device.Watched{tc.w}
			f := Watched(summary(devices...), NvidiaFigures{}, Run{})
			was := f.Mark
			ledgers := Ledgers(Inputs(devices, [][]TorchUse{tc.torch}, "", []int{7}, nil))
			f.Adopt(ledgers)
			text := strings.Join(ledgers[0].Doubts, "\n")
			if !strings.Contains(text, tc.text) || (tc.text == "") != (text == "") || f.Mark != max(was, tc.mark) {
				t.Errorf("mark %d with %q, want %d with %q", f.Mark, text, tc.mark, tc.text)
			}
			if strings.HasPrefix(name, "B11") && !strings.Contains(ledgers[0].Foreign.Gap, "hidden") {
				t.Errorf("foreign is %v (%s), want a gap that says that pids are hidden", ledgers[0].Foreign, ledgers[0].Foreign.Gap)
			}
		})
	}
}

func TestWhatOneDeviceListsTellsOfTheOthers(t *testing.T) {
	t.Parallel()
	other := func(at ...device.ProcessUse) device.Watched {
		return like(peaked(0, 5000, at...), func(w *device.Watched) { w.Index, w.UUID = 1, "GPU-b" })
	}
	ours := peaked(0, 9000, process(7, 8991))
	for name, tc := range map[string]struct {
		first, second device.Watched
		spans         []ProcessSpan
		mark          Mark
		doubt         string
	}{
		"a stranger alone on the second":          {ours, other(process(99, 4995)), nil, Contaminated, "process 99 is not the experiment's"},
		"nobody on the second, which grew":        {ours, other(), nil, Doubtful, "5000 MiB of the growth of device 1 belong to no listed process"},
		"ours on both":                            {ours, other(process(8, 4995)), nil, Sure, ""},
		"nobody on either: pids are hidden":       {peaked(0, 9000), other(), nil, Sure, ""},
		"the log of processes knows ours":         {peaked(0, 9000), other(), []ProcessSpan{{Index: 0, UUID: "GPU-a", PID: 7}}, Doubtful, "5000 MiB of the growth of device 1"},
		"strangers on both may be another's pids": {peaked(0, 9000, process(99, 8991)), other(process(98, 4995)), nil, Doubtful, "another namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inputs := Inputs([]device.Watched{tc.first, tc.second}, make([][]TorchUse, 2), "", []int{7, 8}, tc.spans)
			l := Ledgers(inputs)[1]
			if text := strings.Join(l.Doubts, "\n"); l.Mark != tc.mark || !strings.Contains(text, tc.doubt) || (tc.doubt == "") != (text == "") {
				t.Errorf("mark %d with %q, want %d with %q", l.Mark, text, tc.mark, tc.doubt)
			}
		})
	}
}
