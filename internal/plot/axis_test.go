package plot

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTicksAreSomeRoundNumbersOfTheAxis(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e4, 1e6).Draw(t, "low")
		high := low + rapid.Float64Range(1e-2, 1e7).Draw(t, "width")
		got := ticks(low, high)
		if len(got) < 3 || len(got) > 9 {
			t.Fatalf("%d ticks from %v to %v", len(got), low, high)
		}
		for i, tick := range got {
			if tick.Value < low || tick.Value > high || i > 0 && tick.Value <= got[i-1].Value {
				t.Fatalf("tick %v of %v to %v", tick.Value, low, high)
			}
			if strings.HasPrefix(tick.Label, "-") != (tick.Value < 0) {
				t.Fatalf("tick %v is called %q", tick.Value, tick.Label)
			}
			label, err := strconv.ParseFloat(tick.Label, 64)
			if err != nil || math.Abs(label-tick.Value) > (high-low)/1e6 {
				t.Fatalf("tick %v is called %q", tick.Value, tick.Label)
			}
		}
	})
}

func TestNoTickIsMinusZero(t *testing.T) {
	t.Parallel()
	for _, low := range []float64{-.001, -.4, -30} {
		for _, tick := range ticks(low, 100*-low) {
			if tick.Value == 0 && strings.HasPrefix(tick.Label, "-") {
				t.Errorf("from %v on, zero is called %q", low, tick.Label)
			}
		}
	}
}

func TestFileNamesAreSafeAndDiffer(t *testing.T) {
	t.Parallel()
	got := fileNames([]string{"exp_0", "EXP_0", "../../etc/passwd", "/etc/passwd", ".hidden", "", "-o", "a/b", "a_b", "\x00\n\u202e"})
	want := []string{"exp_0", "EXP_0_2", "etc_passwd", "etc_passwd_2", "hidden", "unnamed", "o", "a_b", "a_b_2", "unnamed_2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzFileNames(f *testing.F) {
	f.Add("exp_0", "EXP_0", "exp_0_2")
	f.Add("../x", "", strings.Repeat("\u00e4", 300))
	f.Fuzz(func(t *testing.T, a, b, c string) {
		seen := map[string]bool{}
		for _, name := range fileNames([]string{a, b, c, a}) {
			if name == "" || len(name) > maxFileName+2 || strings.ContainsAny(name, "/\\\x00 :") || strings.ContainsRune("._-", rune(name[0])) {
				t.Errorf("a file name %q", name)
			}
			if seen[strings.ToLower(name)] {
				t.Errorf("%q twice", name)
			}
			seen[strings.ToLower(name)] = true
		}
	})
}

func FuzzShown(f *testing.F) {
	f.Add("model </text><script>", 10)
	f.Add("a\x00\x1b[31m\u202e\xff\tb", 4)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = 2 + abs(most)%200
		got := shown(text, most)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > most || strings.ContainsFunc(got, func(r rune) bool { return !strconv.IsPrint(r) }) {
			t.Errorf("shown(%q, %d) = %q", text, most, got)
		}
	})
}

func abs(n int) int { return int(math.Abs(float64(n % 1000))) }
