package memory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

const processHead = "timestamp,index,uuid,pid,used_bytes,gap\n"

func TestProcessLogIsReadListByList(t *testing.T) {
	t.Parallel()
	notBefore := metric.Missing("not there before the start")
	for name, tc := range map[string]struct {
		log  string
		want []ProcessSpan
	}{
		"one that came":        {processHead + "a,0,G,,,\nb,0,G,7,100,\n", []ProcessSpan{{0, "G", 7, notBefore, metric.Of(100), true}}},
		"one that stayed":      {processHead + "a,0,G,9,100,\nb,0,G,7,5,\nb,0,G,9,100,\n", []ProcessSpan{{0, "G", 7, notBefore, metric.Of(5), true}, {0, "G", 9, metric.Of(100), metric.Of(100), false}}},
		"one that grew":        {processHead + "a,0,G,9,100,\nb,0,G,9,300,\nc,0,G,9,200,\n", []ProcessSpan{{0, "G", 9, metric.Of(100), metric.Of(300), true}}},
		"one that left":        {processHead + "a,0,G,9,100,\nb,0,G,,,\n", []ProcessSpan{{0, "G", 9, metric.Of(100), metric.Of(100), true}}},
		"a list that failed":   {processHead + "a,0,G,9,100,\nb,0,G,,,NOT_SUPPORTED\n", []ProcessSpan{{0, "G", 9, metric.Of(100), metric.Of(100), false}}},
		"an unknown amount":    {processHead + "a,0,G,9,,NOT_AVAILABLE\n", []ProcessSpan{{0, "G", 9, metric.Missing("NOT_AVAILABLE"), metric.Missing("NOT_AVAILABLE"), false}}},
		"a cut row is no data": {processHead + "a,0,G,9,100,\na,0,G,8,1", []ProcessSpan{{0, "G", 9, metric.Of(100), metric.Of(100), false}}},
		"other lines":          {"hello\n" + processHead + "a,x,G,9,100,\na,0,G,-1,100,\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Processes(strings.NewReader(tc.log))
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestForeignProcessesContaminate(t *testing.T) {
	t.Parallel()
	span := func(pid int, changed bool) ProcessSpan {
		return ProcessSpan{Index: 0, UUID: "GPU-a", PID: pid, Highest: mibValue(2100), Changed: changed}
	}
	for name, tc := range map[string]struct {
		spans []ProcessSpan
		mark  Mark
		doubt string
	}{
		"one that came":                 {[]ProcessSpan{span(7, true), span(99, true)}, Contaminated, "process 99 is not the experiment's and held up to 2100 MiB of device 0"},
		"one that never moved":          {[]ProcessSpan{span(7, true), span(99, false)}, Sure, ""},
		"ours alone":                    {[]ProcessSpan{span(7, true)}, Sure, ""},
		"none that is known":            {[]ProcessSpan{span(40007, true)}, Doubtful, "device 0 grew by 100 MiB, and none of the processes that the driver lists on it is known"},
		"one on a device not ours":      {[]ProcessSpan{span(7, true), {Index: 3, PID: 99, Changed: true}}, Sure, ""},
		"one that holds an unknown sum": {[]ProcessSpan{span(7, true), {UUID: "GPU-a", PID: 99, Highest: metric.Missing("no"), Changed: true}}, Contaminated, "an unknown amount"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Watched(summary(peaked(4, 104)), NvidiaFigures{}, Run{})
			f.Foreign(tc.spans, Inputs([]device.Watched{peaked(4, 104)}, [][]TorchUse{nil}, "", []int{7}, tc.spans))
			text := strings.Join(f.Doubts, "\n")
			if f.Mark != tc.mark || !strings.Contains(text, tc.doubt) || (tc.doubt == "") != (text == "") {
				t.Errorf("mark %d with %q, want %d with %q", f.Mark, text, tc.mark, tc.doubt)
			}
		})
	}
}

func TestALogStandsForASamplerInTheLedger(t *testing.T) {
	t.Parallel()
	f := Nvidia(strings.NewReader(header+rows("X", 0, "4 MiB", "8004 MiB")), NvidiaOptions{})
	devices := Devices(nil, []device.Device{{Index: 3}, {Index: 0, UUID: "GPU-a"}}, f)
	uses, _ := Assign([]TorchUse{rank(0, 7, 6000, 7000)}, devices)
	ledgers := Ledgers(Inputs(devices, uses, "", []int{7}, nil))
	if len(ledgers) != 1 {
		t.Fatalf("%d ledgers, want that of device 0 alone", len(ledgers))
	}
	same(t, "beyond torch", scaled(ledgers[0].BeyondTorch), "1000")
	same(t, "context", ledgers[0].Context, "gap: the log holds no processes")
	foreign := Watched(summary(peaked(0, 300, process(7, 100), process(8, 200))), NvidiaFigures{}, Run{})
	foreign.Adopt(Ledgers(Inputs([]device.Watched{peaked(0, 300, process(7, 100), process(8, 200))}, [][]TorchUse{nil}, "", []int{7}, nil)))
	if foreign.Mark != Contaminated {
		t.Errorf("mark %d with %q, want that of the ledger", foreign.Mark, foreign.Doubts)
	}
}

func FuzzProcesses(f *testing.F) {
	f.Add(processHead + "a,0,G,9,100,\nb,0,G,9,300,\n")
	f.Add("a,0,,1,-5,gap\na,0,,1,9223372036854775807,\n")
	f.Fuzz(func(t *testing.T, text string) {
		spans, _ := Processes(strings.NewReader(text))
		if len(spans) > strings.Count(text, "\n") {
			t.Errorf("%d spans of %q", len(spans), text)
		}
		for i, s := range spans {
			if s.PID <= 0 || s.Highest.Known() && s.Highest.Number < 0 {
				t.Errorf("span %+v of %q", s, text)
			}
			if s.First.Known() && s.First.Number > s.Highest.Number {
				t.Errorf("span %+v began above its highest", s)
			}
			if i > 0 && s.Index == spans[i-1].Index && s.UUID == spans[i-1].UUID && s.PID == spans[i-1].PID {
				t.Errorf("process %d stands twice", s.PID)
			}
		}
	})
}
