package builtin

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestResidentMemoryIsTheSecondFieldInPages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, statm string
		want        int64
		wrong       bool
	}{
		{"as Linux writes it", "45678 1200 800 300 0 9000 0\n", 1200 * 4096, false},
		{"two fields", "10 7", 7 * 4096, false},
		{"no memory", "0 0 0 0 0 0 0\n", 0, false},
		{"empty", "", 0, true},
		{"cut off", "45678", 0, true},
		{"not a number", "45678 many", 0, true},
		{"negative", "45678 -3", 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseResident([]byte(test.statm), 4096)
			if got != test.want || (err != nil) != test.wrong {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
}

func FuzzParseResident(f *testing.F) {
	f.Add([]byte("45678 1200 800 300 0 9000 0\n"))
	f.Add([]byte("1 99999999999999999999"))
	f.Add([]byte(" \x00 7"))
	f.Fuzz(func(t *testing.T, statm []byte) {
		got, err := parseResident(statm, 1)
		if got < 0 || err != nil && got != 0 {
			t.Errorf("%q gives %d, %v", statm, got, err)
		}
		if err == nil && !strings.Contains(string(statm), strings.TrimLeft(python(got), "0")) {
			t.Errorf("%q gives %d, which is not in it", statm, got)
		}
	})
}

func TestAStageTellsWhatStaysFromWhatPassed(t *testing.T) {
	t.Parallel()
	if _, err := residentMemory(); err != nil {
		t.Skipf("needs /proc/self/statm: %v", err)
	}
	stdout, _ := trainTiny(t, "--skip_memory_metrics", "False")
	lines := dicts(t, stdout)
	final := lines[len(lines)-1]
	for _, name := range []string{
		"before_init_mem_cpu", "init_mem_cpu_alloc_delta", "init_mem_cpu_peaked_delta",
		"train_mem_cpu_alloc_delta", "train_mem_cpu_peaked_delta",
	} {
		if _, ok := final[name]; !ok {
			t.Errorf("%s is missing in %v", name, final)
		}
	}
	if final["before_init_mem_cpu"] < 1<<20 || final["train_mem_cpu_peaked_delta"] < 0 || final["init_mem_cpu_peaked_delta"] < 0 {
		t.Errorf("unlikely memory in %v", final)
	}
}

func TestTheWatchSeesAPeakThatIsGoneAtTheEnd(t *testing.T) {
	t.Parallel()
	w, err := watchMemory()
	if err != nil {
		t.Skipf("needs /proc/self/statm: %v", err)
	}
	w.peak.Store(w.begin + 1<<40) // as if it had been seen
	w.settle()
	s, err := w.end()
	if err != nil {
		t.Fatal(err)
	}
	if s.alloc+s.peaked != 1<<40 {
		t.Errorf("alloc %d and peaked %d do not sum up to the peak", s.alloc, s.peaked)
	}
}

func TestAStageThatFailsHasNoMetrics(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	for _, skip := range []bool{true, false} {
		tr := newTracker(skip, &bytes.Buffer{})
		if err := tr.during("init", func() error { return wrong }, nil); !errors.Is(err, wrong) || len(tr.entry) > 0 {
			t.Errorf("skip %v: error %v, metrics %v", skip, err, tr.entry)
		}
	}
}
