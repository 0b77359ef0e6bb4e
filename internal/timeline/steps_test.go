package timeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStepsAreThoseOfTheTrainingsBar(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []Step
	}{
		"bars over one another":           {"  0%|   | 0/4 [00:00<?, ?it/s]\r 50%|#  | 2/4 [00:05<00:05, 2.5s/it]", []Step{{0, 0}, {2, 5}}},
		"an hour":                         {" 50%|#  | 2/4 [1:02:03<1:02:03, 9s/it]", []Step{{2, 3723}}},
		"a bar with a name is another's":  {"Loading: 50%|#  | 1/2 [00:03<00:03, 3s/it]", nil},
		"a step that comes again":         {"10%|# | 1/9 [00:01<00:01, 1s/it]\r10%|# | 1/9 [00:02<00:01, 1s/it]", []Step{{1, 1}}},
		"a bar cut in half is none":       {"50%|# | 1/2 [00:0", nil},
		"text that is no bar":             {"loss 5/10 [00:03<", nil},
		"a bar without a time yet is one": {"0%|  | 0/10 [00:00<?, ?it/s]", []Step{{0, 0}}},
	} {
		if diff := cmp.Diff(c.want, bars(c.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOfManyStepsTheLastIsAmongThoseThatAreKept(t *testing.T) {
	t.Parallel()
	var all []Step
	for i := range 1000 {
		all = append(all, Step{N: i, At: float64(i)})
	}
	got := fewer(all)
	if len(got) > maxSteps || got[len(got)-1].N != 999 {
		t.Errorf("%d steps, the last of them %d", len(got), got[len(got)-1].N)
	}
	for i := 1; i < len(got); i++ {
		if got[i].N <= got[i-1].N {
			t.Fatalf("step %d follows step %d", got[i].N, got[i-1].N)
		}
	}
}

func FuzzBars(f *testing.F) {
	for _, seed := range []string{" 50%|#  | 2/4 [00:05<00:05, 2.5s/it]", "[1:02:03<", "9%|#| 1/999999999 [9999:59:59<\r"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := bars(text)
		if len(got) > maxSteps {
			t.Errorf("%d steps", len(got))
		}
		for i, s := range got {
			if s.N < 0 || s.At < 0 || i > 0 && s.N <= got[i-1].N {
				t.Errorf("bars(%q) = %v", text, got)
			}
		}
	})
}
