package memory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

func process(pid int, mib unit.Bytes) device.ProcessUse {
	return device.ProcessUse{PID: pid, Kind: "compute", Used: mibValue(mib)}
}

// peaked is one device with its level before the start and at its peak, in MiB.
func peaked(base, peak unit.Bytes, at ...device.ProcessUse) device.Watched {
	return device.Watched{
		Device: device.Device{Index: 0, UUID: "GPU-a", Name: "Example"}, Source: device.FromNVMLv2,
		Baseline: device.Moment{Used: mibValue(base)},
		Peak:     device.Moment{Used: mibValue(peak), Processes: at, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		Samples:  100,
	}
}

func rank(n, pid int, allocated, reserved unit.Bytes) TorchUse {
	return TorchUse{Label: "rank " + string(rune('0'+n)), Rank: n, PIDs: []int{pid}, UUID: "GPU-a", Allocated: mibValue(allocated), Reserved: mibValue(reserved)}
}

func TestTheLedgerSplitsAPeakAmongItsHolders(t *testing.T) {
	t.Parallel()
	hidden := peaked(0, 21875)
	withheld := peaked(0, 21875)
	withheld.Peak.ProcessesGap = "[Insufficient Permissions]"
	unsized := peaked(0, 21875, device.ProcessUse{PID: 7, Used: metric.Missing("[N/A]")})
	before := peaked(2100, 23975, process(7, 21866), process(99, 2100))
	before.Baseline.Processes = []device.ProcessUse{process(99, 2100)}
	gone := peaked(2100, 21875, process(7, 21866))
	gone.Baseline.Processes = []device.ProcessUse{process(99, 2100)}
	odd := peaked(0, 0)
	odd.Source = device.FromProcesses
	odd.Baseline, odd.Peak = device.Moment{Used: metric.Missing("[N/A]")}, device.Moment{Used: metric.Missing("[N/A]")}
	odd.ProcessPeak = device.Moment{Used: mibValue(5000), Processes: []device.ProcessUse{process(7, 5000)}}
	one := []TorchUse{rank(0, 7, 19210, 21108)}
	for name, tc := range map[string]struct {
		watched device.Watched
		torch   []TorchUse
		family  []int
		// allocated, slack, context, foreign, unexplained and beyond torch, in MiB
		want  []string
		mark  Mark
		doubt string
	}{
		"a run that was recorded":        {peaked(0, 21875, process(7, 21866)), one, []int{7}, []string{"19210", "1898", "758", "0", "9", "767"}, Sure, ""},
		"a pid that only the probe knew": {peaked(0, 21875, process(7, 21866)), one, nil, []string{"19210", "1898", "758", "0", "9", "767"}, Sure, ""},
		"it closes exactly over a base":  {peaked(500, 22366, process(7, 21866)), one, []int{7}, []string{"19210", "1898", "758", "0", "0", "758"}, Sure, ""},
		"torch beyond what was sampled": {peaked(0, 20009, process(7, 20000)), one, []int{7},
			[]string{"19210", "1898", "gap: torch reserved up to 21108 MiB, and the process held 20000 MiB", "0", "9", "gap: more than the 20009 MiB"}, Doubtful, "the sampler missed at least 1108 MiB"},
		"a foreign process that came": {peaked(0, 23975, process(7, 21866), process(99, 2100)), one, []int{7},
			[]string{"19210", "1898", "758", "2100", "9", "2867"}, Contaminated, "process 99 is not the experiment's and held 2100 MiB of device 0 at the peak"},
		"a foreign process that was there is in the baseline": {before, one, []int{7}, []string{"19210", "1898", "758", "0", "9", "767"}, Sure, ""},
		"a foreign process that left": {gone, one, []int{7},
			[]string{"19210", "1898", "758", "-2100", "9", "gap: more than the 19775 MiB"}, Contaminated, "foreign processes gave 2100 MiB of device 0 back"},
		"nobody is listed and torch is beyond what was sampled": {peaked(0, 20009), one, []int{7},
			[]string{"19210", "1898", "gap: lists no process", "gap: lists no process", "gap: lists no process", "gap: more than the 20009 MiB"}, Doubtful, "the sampler missed the peak"},
		"nobody is listed": {hidden, one, []int{7}, []string{"19210", "1898", "gap: lists no process", "gap: lists no process", "gap: lists no process", "767"}, Sure, ""},
		"the list is withheld": {withheld, one, []int{7},
			[]string{"19210", "1898", "gap: [Insufficient Permissions]", "gap: [Insufficient", "gap: [Insufficient", "767"}, Sure, ""},
		"pids of another namespace": {peaked(0, 21875, process(40007, 21866)), one, []int{7},
			[]string{"19210", "1898", "gap: another namespace", "gap: another namespace", "gap: another namespace", "767"}, Sure, ""},
		"a process of unknown size": {unsized, one, []int{7}, []string{"19210", "1898", "gap: [N/A]", "0", "gap: [N/A]", "767"}, Sure, ""},
		"two ranks on one device": {peaked(0, 3516, process(7, 1700), process(8, 1800)), []TorchUse{rank(0, 7, 900, 1000), rank(1, 8, 1000, 1100)}, []int{7, 8},
			[]string{"1900", "200", "1400", "0", "16", "1416"}, Sure, ""},
		"a helper without a record": {peaked(0, 2700, process(7, 1700), process(8, 1000)), []TorchUse{rank(0, 7, 900, 1000)}, []int{7, 8},
			[]string{"900", "100", "1700", "0", "0", "1700"}, Sure, ""},
		"no probe": {peaked(0, 910, process(7, 900)), nil, []int{7},
			[]string{"gap: no process left", "gap: no process left", "gap: no process left", "0", "10", "gap: no process left"}, Sure, ""},
		"the terms explain a little too much": {peaked(0, 21860, process(7, 21866)), one, []int{7}, []string{"19210", "1898", "758", "0", "-6", "752"}, Sure, ""},
		"the terms explain far too much":      {peaked(0, 21500, process(7, 21866)), one, []int{7}, []string{"19210", "1898", "758", "0", "-366", "392"}, Doubtful, "366 MiB more than it held"},
		"a device known by its processes":     {odd, []TorchUse{rank(0, 7, 4000, 4500)}, []int{7}, []string{"4000", "500", "500", "0", "0", "500"}, Sure, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(LedgerInput{Watched: tc.watched, Torch: tc.torch, Family: tc.family})
			got := []metric.Value{l.Allocated, l.Slack, l.Context, l.Foreign, l.Unexplained, l.BeyondTorch}
			for i, what := range []string{"allocated", "slack", "context", "foreign", "unexplained", "beyond torch"} {
				same(t, what, scaled(got[i]), tc.want[i])
			}
			if l.Mark != tc.mark || !strings.Contains(strings.Join(l.Doubts, "\n"), tc.doubt) {
				t.Errorf("mark %d with %q, want %d with %q", l.Mark, l.Doubts, tc.mark, tc.doubt)
			}
			checkSum(t, l)
		})
	}
}

func TestCountersOfAProcessThatWasKilledAreLowerBounds(t *testing.T) {
	t.Parallel()
	killed := func(u TorchUse) TorchUse { u.Partial = true; return u }
	w := peaked(0, 21875, process(7, 21866))
	two := peaked(0, 3510, process(7, 1700), process(8, 1800))
	const why = "gap: rank 0 did not reach its exit"
	for name, tc := range map[string]struct {
		watched device.Watched
		torch   []TorchUse
		want    []string // allocated, slack, context, unexplained and beyond torch, in MiB
		marks   []Mark   // of allocated, and of each share
		doubt   string
	}{
		"one that reached its exit": {w, []TorchUse{rank(0, 7, 19210, 21108)}, []string{"19210", "1898", "758", "9", "767"}, []Mark{Sure, Sure}, ""},
		"the only one":              {w, []TorchUse{killed(rank(0, 7, 9000, 9500))}, []string{"9000", why, why, "9", why}, []Mark{Doubtful, Doubtful}, ""},
		"one of two": {two, []TorchUse{killed(rank(0, 7, 900, 1000)), rank(1, 8, 1000, 1100)},
			[]string{"1900", why, why, "10", why}, []Mark{Doubtful, Doubtful, Sure}, ""},
		"a lower bound above what was sampled": {peaked(0, 9009, process(7, 9000)), []TorchUse{killed(rank(0, 7, 9000, 9500))},
			[]string{"9000", why, why, "9", why}, []Mark{Doubtful, Doubtful}, "torch reserved at least 9500 MiB, and the process held 9000 MiB at the sampled peak of device 0: the sampler missed at least 500 MiB"},
		"hidden pids": {peaked(0, 21875), []TorchUse{killed(rank(0, 7, 9000, 9500))},
			[]string{"9000", why, "gap: lists no process", "gap: lists no process", why}, []Mark{Doubtful, Doubtful}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(LedgerInput{Watched: tc.watched, Torch: tc.torch, Family: []int{7, 8}})
			got := []metric.Value{l.Allocated, l.Slack, l.Context, l.Unexplained, l.BeyondTorch}
			for i, what := range []string{"allocated", "slack", "context", "unexplained", "beyond torch"} {
				same(t, what, scaled(got[i]), tc.want[i])
			}
			marks := []Mark{l.AllocatedMark}
			for _, s := range l.Shares {
				marks = append(marks, s.Mark)
			}
			if !slices.Equal(marks, tc.marks) || (l.Mark == Doubtful) != (tc.doubt != "") || !strings.Contains(strings.Join(l.Doubts, "\n"), tc.doubt) {
				t.Errorf("marks %v and %d of used with %q, want %v with %q", marks, l.Mark, l.Doubts, tc.marks, tc.doubt)
			}
			if said := slices.Contains(l.Remarks, "rank 0 did not reach its exit, so what torch counted in it is a lower bound"); said != tc.torch[0].Partial {
				t.Errorf("remarks %q", l.Remarks)
			}
		})
	}
}

func TestABaselineNamesWhatTheDriverReserves(t *testing.T) {
	t.Parallel()
	of := func(source string, reserved metric.Value) device.Watched {
		return like(peaked(615, 10855, process(7, 10240)), func(w *device.Watched) { w.Source, w.Reserved = source, reserved })
	}
	unknown := metric.Missing("NVML's first memory call does not say")
	unread := like(of(device.FromNVMLv1, unknown), func(w *device.Watched) { w.Baseline.Used = metric.Missing("[N/A]") })
	for name, tc := range map[string]struct {
		w    device.Watched
		want string // empty: no remark
	}{
		"B12 v1, and the part is known":     {of(device.FromNVMLv1, mibValue(615)), "615 MiB of the baseline of device 0 are reserved by the driver, which nvml-v1 counts as used"},
		"B12 v1 alone":                      {of(device.FromNVMLv1, unknown), "the baseline of device 0 includes what the driver reserves, which nvml-v1 counts as used without saying how much"},
		"B12 v2 does not count it":          {of(device.FromNVMLv2, mibValue(615)), ""},
		"B12 a sum of processes has none":   {of(device.FromProcesses, unknown), ""},
		"B12 v1, and no baseline was taken": {unread, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(LedgerInput{Watched: tc.w, Family: []int{7}})
			if text := strings.Join(l.Remarks, "\n"); !strings.Contains(text, tc.want) || (tc.want == "") != (text == "") || l.Mark != Sure {
				t.Errorf("mark %d, remarks %q, want %q", l.Mark, text, tc.want)
			}
		})
	}
}

// checkSum holds the ledger to its own definition.
func checkSum(t *testing.T, l Ledger) {
	t.Helper()
	sum := plus(plus(plus(plus(plus(l.Baseline, l.Allocated), l.Slack), l.Context), l.Foreign), l.Unexplained)
	if sum.Known() && sum.Number != l.Used.Number {
		t.Errorf("the terms sum up to %v, and the device held %v", sum, l.Used)
	}
}

func TestEachRankHasItsShare(t *testing.T) {
	t.Parallel()
	l := NewLedger(LedgerInput{
		Watched: peaked(0, 3600, process(7, 1700), process(8, 1800)),
		Torch:   []TorchUse{rank(0, 7, 900, 1000), rank(1, 8, 1000, 1100)},
	})
	if len(l.Shares) != 2 {
		t.Fatalf("%d shares, want 2", len(l.Shares))
	}
	for i, want := range []string{"700", "700"} {
		same(t, l.Shares[i].Label, scaled(l.Shares[i].Context), want)
		same(t, l.Shares[i].Label, scaled(l.Shares[i].Slack), "100")
	}
}

func TestTorchIsPutOnItsDevice(t *testing.T) {
	t.Parallel()
	watched := func(uuids ...string) (out []device.Watched) {
		for i, u := range uuids {
			out = append(out, device.Watched{Device: device.Device{Index: i + 4, UUID: u}})
		}
		return out
	}
	slice := []device.Watched{{Device: device.Device{Index: -1, UUID: "MIG-1"}, Parent: "GPU-a"}}
	for name, tc := range map[string]struct {
		use     TorchUse
		devices []device.Watched
		want    int // -1: on none
		note    string
	}{
		"by its UUID":                     {TorchUse{UUID: "GPU-b", Index: 0}, watched("GPU-a", "GPU-b"), 1, ""},
		"the only one there is":           {TorchUse{Index: 3}, watched("GPU-a"), 0, ""},
		"by its place in the list":        {TorchUse{Label: "rank 1", Index: 1}, watched("GPU-a", "GPU-b"), 1, "taken for device 5 by its place"},
		"one that was not watched":        {TorchUse{Label: "rank 0", UUID: "GPU-c"}, watched("GPU-a"), -1, "used GPU-c, which was not watched"},
		"a number beyond the list":        {TorchUse{Label: "rank 0", Index: 2}, watched("GPU-a", "GPU-b"), -1, "number 2 that was not watched"},
		"a slice that torch names by GPU": {TorchUse{UUID: "GPU-a"}, slice, 0, ""},
		"a log without UUIDs":             {TorchUse{UUID: "GPU-c", Index: 0}, watched("", ""), 0, "by its place"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uses, notes := Assign([]TorchUse{tc.use}, tc.devices)
			for i := range uses {
				if (len(uses[i]) == 1) != (i == tc.want) {
					t.Errorf("%d uses on the device at %d, want the one at %d", len(uses[i]), i, tc.want)
				}
			}
			if text := strings.Join(notes, "\n"); !strings.Contains(text, tc.note) || (tc.note == "") != (text == "") {
				t.Errorf("notes %q, want %q", text, tc.note)
			}
		})
	}
}
