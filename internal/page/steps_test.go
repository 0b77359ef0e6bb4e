package page

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestStepsAreThoseOfTheTrainingsBar(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []step
	}{
		"bars over one another":           {"  0%|   | 0/4 [00:00<?, ?it/s]\r 50%|#  | 2/4 [00:05<00:05, 2.5s/it]", []step{{0, 0}, {2, 5}}},
		"an hour":                         {" 50%|#  | 2/4 [1:02:03<1:02:03, 9s/it]", []step{{2, 3723}}},
		"a bar with a name is another's":  {"Loading: 50%|#  | 1/2 [00:03<00:03, 3s/it]", nil},
		"a step that comes again":         {"10%|# | 1/9 [00:01<00:01, 1s/it]\r10%|# | 1/9 [00:02<00:01, 1s/it]", []step{{1, 1}}},
		"a bar cut in half is none":       {"50%|# | 1/2 [00:0", nil},
		"text that is no bar":             {"loss 5/10 [00:03<", nil},
		"a bar without a time yet is one": {"0%|  | 0/10 [00:00<?, ?it/s]", []step{{0, 0}}},
	} {
		if diff := cmp.Diff(c.want, bars(c.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOfManyStepsTheLastIsAmongThoseThatAreKept(t *testing.T) {
	t.Parallel()
	var all []step
	for i := range 1000 {
		all = append(all, step{N: i, At: float64(i)})
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

func TestATailIsPlainText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		cut  bool
		want string
	}{
		"colours go":                           {"\x1b[31mError\x1b[0m: x", false, "Error: x"},
		"a title for the terminal goes":        {"\x1b]0;owned\x07x", false, "x"},
		"of a bar the last state stands":       {" 1%\r 50%\r100%\nend\n", false, "100%\nend"},
		"marks that turn the direction show":   {"a\u202eb", false, "a\ufffdb"},
		"a line whose begin is cut off goes":   {"alf a line\nwhole\n", true, "whole"},
		"one cut line is better than nothing":  {"alf a line", true, "alf a line"},
		"bytes that are no text show as such":  {"a\xffb", false, "a\ufffdb"},
		"no text stays none":                   {"", false, ""},
		"tabs stay, other controls are marked": {"a\tb\x00c", false, "a\tb\ufffdc"},
	} {
		if diff := cmp.Diff(c.want, tail(c.text, c.cut)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzTail(f *testing.F) {
	for _, seed := range []string{"a\nb", "\x1b[31mred\x1b[0m", " 1%\r 2%\r", "\u202e\u2028", strings.Repeat("x\n", 100)} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		got := tail(text, cut)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > tailRunes+3 || strings.Count(got, "\n") >= tailLines {
			t.Errorf("tail(%q) = %q, too long or no text", text, got)
		}
		if strings.ContainsAny(got, "\x1b\r\x00\u202e\u2066\u2028") {
			t.Errorf("tail(%q) = %q, holds what steers a screen", text, got)
		}
	})
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
