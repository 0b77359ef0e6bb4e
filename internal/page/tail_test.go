package page

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

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
