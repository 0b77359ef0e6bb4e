package memory

import (
	"strings"
	"testing"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

func summary(devices ...device.Watched) device.Summary {
	return device.Summary{Interval: 100 * time.Millisecond, Samples: 100, Devices: devices}
}

func figuresOf(t *testing.T, s device.Summary, log string) NvidiaFigures {
	t.Helper()
	return Watched(s, Nvidia(strings.NewReader(log), NvidiaOptions{LogSource: "nvml", LoggerExit: s.Exit}), Run{})
}

// like changes a device.
func like(w device.Watched, change func(*device.Watched)) device.Watched {
	change(&w)
	return w
}

func TestFiguresOfASampler(t *testing.T) {
	t.Parallel()
	perProcess := like(peaked(0, 0), func(w *device.Watched) {
		w.Source, w.Samples, w.Unreadable, w.Gaps = device.FromProcesses, 0, 10, []string{"NOT_SUPPORTED"}
		w.Peak, w.Baseline = device.Moment{Used: metric.Missing("NOT_SUPPORTED")}, device.Moment{Used: metric.Missing("NOT_SUPPORTED")}
		w.ProcessPeak.Used = metric.Missing("the driver lists no process")
	})
	seen := like(perProcess, func(w *device.Watched) {
		w.ProcessPeak = device.Moment{Used: mibValue(5000), Processes: []device.ProcessUse{process(7, 5000)}}
	})
	dead := summary(peaked(4, 9004))
	dead.Exit = "the driver did not answer for 10 s"
	late := like(peaked(0, 41000), func(w *device.Watched) { w.Baseline.Used = metric.Missing("[Unknown Error]") })
	for name, tc := range map[string]struct {
		s     device.Summary
		log   string
		want  string
		mark  Mark
		doubt string
	}{
		"B12 v1 grows as nvidia-smi does": {summary(like(peaked(300, 10540), func(w *device.Watched) { w.Source = device.FromNVMLv1 })), "", "10240", Sure, ""},
		"B12 v2":                          {summary(peaked(0, 10240)), "", "10240", Sure, ""},
		"B43 an idle device":              {summary(peaked(4, 12292)), "", "12288", Sure, ""},
		"B43 another job before the run":  {summary(peaked(30000, 41000)), "", "11000", Contaminated, "in use before the run: 30000 MiB"},
		"B43 another job that ends in it": {summary(peaked(30000, 41000)), header + rows("X", 0, "30000 MiB", "41000 MiB", "11000 MiB"), "11000", Contaminated, "fell to 11000 MiB"},
		"B43 another job that ends at once": {summary(peaked(30000, 30000)), "",
			"gap: device 0 held 30000 MiB before the start and never more", Sure, ""},
		"B43 a first sample that failed":   {summary(late), header + rows("X", 0, "20000 MiB", "41000 MiB"), "21000", Contaminated, "the first reading of the log stands for the baseline"},
		"B43 nor is there a log":           {summary(late), "", "gap: no baseline from before the start: [Unknown Error]", Sure, ""},
		"B44 as sampled":                   {summary(peaked(4, 8004)), "", "8000", Sure, ""},
		"B44 no sample fell into the run":  {summary(like(peaked(4, 4), func(w *device.Watched) { w.Samples = 2 })), "", "gap: shorter than the sampling interval", Sure, ""},
		"B44 one sample":                   {summary(like(peaked(4, 4), func(w *device.Watched) { w.Samples = 1 })), "", "gap: shorter than the sampling interval", Sure, ""},
		"B44 two that differ":              {summary(like(peaked(4, 104), func(w *device.Watched) { w.Samples = 2 })), "", "100", Sure, ""},
		"B44 many that do not differ":      {summary(peaked(4, 4)), "", "0", Sure, ""},
		"B05 a device without a counter":   {summary(perProcess), "", "gap: device reports no framebuffer memory: NOT_SUPPORTED", Sure, ""},
		"B05 but its processes are known":  {summary(seen), "", "5000", Doubtful, "its processes' sum stands for it"},
		"B04 a lost device":                {summary(like(perProcess, func(w *device.Watched) { w.Source, w.Gaps = device.FromNVMLv2, []string{"GPU_IS_LOST"} })), "", "gap: no reading of device 0 is a number: GPU_IS_LOST", Sure, ""},
		"B01 some readings failed":         {summary(like(peaked(4, 104), func(w *device.Watched) { w.Unreadable, w.Gaps = 3, []string{"[N/A]"} })), "", "100", Doubtful, "3 of 103 readings of device 0 unreadable: [N/A]"},
		"a sampler that died, by its log":  {dead, header + rows("X", 0, "4 MiB", "9000 MiB"), "8996", Doubtful, "the sampler ended early"},
		"a sampler that died without log":  {dead, "", "9000", Sure, ""},
		"a peak that only the log holds":   {summary(peaked(4, 104)), header + rows("X", 0, "4 MiB", "9004 MiB", "104 MiB"), "9000", Doubtful, "the peak of device 0 is from its log"},
		"a log that was rounded up":        {summary(peaked(4, 104)), header + rows("X", 0, "4 MiB", "104 MiB"), "100", Sure, ""},
		"a log with a lower peak":          {summary(peaked(4, 104)), header + rows("X", 0, "4 MiB", "90 MiB"), "100", Sure, ""},
		"nothing watched":                  {summary(), "", "gap: no device was watched", Sure, ""},
		"the mean of two devices":          {summary(peaked(0, 100), like(peaked(0, 200), func(w *device.Watched) { w.Index = 1 })), "", "150", Sure, ""},
		"a device that is left out of it":  {summary(peaked(0, 100), like(perProcess, func(w *device.Watched) { w.Index = 1 })), "", "100", Doubtful, "device 1 is left out of the mean"},
		"a log of another device is apart": {summary(peaked(4, 104)), header + rows("X", 5, "9 MiB", "90 MiB"), "100", Sure, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := figuresOf(t, tc.s, tc.log)
			same(t, "reserved", got.Reserved, tc.want)
			want := tc.mark
			if name == "a sampler that died without log" {
				want, tc.doubt = Doubtful, "lower bound: the logger ended by itself"
			}
			if got.Mark != want || !strings.Contains(strings.Join(got.Doubts, "\n"), tc.doubt) {
				t.Errorf("mark %d with %q, want %d with %q", got.Mark, got.Doubts, want, tc.doubt)
			}
		})
	}
}

func TestLongSilenceMakesAPeakDoubtful(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	run := Run{Started: start, Ended: start.Add(time.Minute)}
	for name, tc := range map[string]struct {
		at     time.Duration
		gap    time.Duration
		mark   Mark
		remark string
	}{
		"while a context was made": {10 * time.Second, 104 * time.Millisecond, Sure, ""},
		"for some intervals":       {10 * time.Second, 400 * time.Millisecond, Sure, "400ms, within the run"},
		"for seconds":              {10 * time.Second, 5 * time.Second, Doubtful, "5s, within the run"},
		"before the start":         {-10 * time.Second, 5 * time.Second, Sure, "5s, before the start"},
		"into the start":           {-2 * time.Second, 5 * time.Second, Doubtful, "within the run"},
		"after the end":            {2 * time.Minute, 5 * time.Second, Sure, "after the end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := summary(peaked(4, 104))
			s.LargestGap, s.GapAt, s.Lost, s.Samples = tc.gap, start.Add(tc.at), 14, 9296
			got := Watched(s, NvidiaFigures{}, run)
			text := strings.Join(got.Remarks, "\n")
			if got.Mark != tc.mark || !strings.Contains(text, tc.remark) || !strings.Contains(text, "14 of 9310 samples were lost") {
				t.Errorf("mark %d, remarks %q; want %d with %q", got.Mark, text, tc.mark, tc.remark)
			}
		})
	}
}

func TestTorchsPeakAboveTheSampledOne(t *testing.T) {
	t.Parallel()
	second := like(peaked(4, 12292), func(w *device.Watched) { w.Index, w.UUID = 1, "GPU-b" })
	for name, tc := range map[string]struct {
		devices []device.Watched
		torch   []TorchUse
		want    string
	}{
		"B44 it is missed by the rest":       {[]device.Watched{peaked(4, 8004)}, []TorchUse{rank(0, 7, 12288, 12288)}, "missed at least 4288 MiB"},
		"B44 by one MiB":                     {[]device.Watched{peaked(4, 8004)}, []TorchUse{rank(0, 7, 1, 8001)}, "missed at least 1 MiB"},
		"B44 on the device where it is":      {[]device.Watched{peaked(4, 8004), second}, []TorchUse{rank(0, 7, 9000, 9000)}, "device 0 grew by 8000 MiB"},
		"B43 the sampled one is above":       {[]device.Watched{peaked(4, 12292)}, []TorchUse{rank(0, 7, 10240, 10300)}, ""},
		"two ranks whose sum is above":       {[]device.Watched{peaked(4, 8004)}, []TorchUse{rank(0, 7, 5000, 5000), rank(1, 8, 5000, 5000)}, ""},
		"a device that never grew":           {[]device.Watched{peaked(4, 4)}, []TorchUse{rank(0, 7, 5, 5)}, "device 0 never grew while torch"},
		"torch did not say":                  {[]device.Watched{peaked(4, 4)}, []TorchUse{{Reserved: metric.Missing("no"), UUID: "GPU-a"}}, ""},
		"torch on a device not watched":      {[]device.Watched{peaked(4, 40)}, []TorchUse{{Reserved: mibValue(900), UUID: "GPU-x"}}, ""},
		"one that held nothing on a device ": {[]device.Watched{peaked(4, 4)}, []TorchUse{rank(0, 7, 0, 0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Watched(summary(tc.devices...), NvidiaFigures{}, Run{})
			uses, _ := Assign(tc.torch, tc.devices)
			f.Exceed(tc.devices, uses)
			text := strings.Join(f.Doubts, "\n")
			if !strings.Contains(text, tc.want) || (tc.want == "") != (text == "") || (f.Mark == Doubtful) != (tc.want != "") {
				t.Errorf("mark %d with %q, want %q", f.Mark, text, tc.want)
			}
		})
	}
}

func TestMeansAreWeightedByTime(t *testing.T) {
	t.Parallel()
	log := header +
		"2025/03/04 10:00:00.000, X, 0, 0 MiB\n2025/03/04 10:00:01.000, X, 0, 100 MiB\n" +
		"2025/03/04 10:00:02.000, X, 0, 100 MiB\n2025/03/04 10:00:04.000, X, 0, 0 MiB\n"
	f := Nvidia(strings.NewReader(log), NvidiaOptions{})
	same(t, "mean", f.MeanGrowth(), "75")
	back := header + "2025/03/04 10:00:05.000, X, 0, 10 MiB\n2025/03/04 10:00:01.000, X, 0, 100 MiB\n2025/03/04 10:00:02.000, X, 0, 30 MiB\n"
	same(t, "mean over a clock set back", Nvidia(strings.NewReader(back), NvidiaOptions{}).MeanGrowth(), "90")
	same(t, "mean of one time", Nvidia(strings.NewReader("index, memory.used [MiB]\n0, 1 MiB\n0, 2 MiB\n"), NvidiaOptions{}).MeanGrowth(), "gap: spans no time")
	w := like(peaked(100, 500), func(w *device.Watched) { w.Mean = mibValue(300) })
	same(t, "mean of a sampler", Watched(summary(w), NvidiaFigures{}, Run{}).MeanGrowth(), "200")
	w.Mean = mibValue(50)
	same(t, "mean below the baseline", Watched(summary(w), NvidiaFigures{}, Run{}).MeanGrowth(), "gap: gave memory back")
}

func TestJoulesAreTheSumOverDevices(t *testing.T) {
	t.Parallel()
	of := func(start, end metric.Value) device.Watched {
		return device.Watched{EnergyStart: start, EnergyEnd: end}
	}
	a := of(metric.Of(1000), metric.Of(5500))
	same(t, "one", Joules(device.Summary{Devices: []device.Watched{a}}), "4.5")
	same(t, "two", Joules(device.Summary{Devices: []device.Watched{a, a}}), "9")
	same(t, "one unknown", Joules(device.Summary{Devices: []device.Watched{a, of(metric.Of(1), metric.Missing("NOT_SUPPORTED"))}}), "gap: NOT_SUPPORTED")
	same(t, "set back", Joules(device.Summary{Devices: []device.Watched{of(metric.Of(5), metric.Of(1))}}), "gap: set back")
	same(t, "none", Joules(device.Summary{}), "gap: no device")
}
