package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHelpFitsATerminalOf80Columns(t *testing.T) {
	t.Parallel()
	commands := [][]string{{}}
	for _, c := range newRoot(System{}).Commands() {
		if !c.Hidden && c.Name() != "completion" && c.Name() != "help" {
			commands = append(commands, []string{c.Name()})
		}
	}
	if len(commands) < 10 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	for _, words := range commands {
		var out, errs bytes.Buffer
		code := Main(context.Background(), System{Args: append(words, "--help"), Stdout: &out, Stderr: &errs})
		if code != 0 || !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%q --help: exit code %d, %q", words, code, errs.String())
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > plainWidth {
				t.Errorf("%q --help: %d columns: %s", words, n, line)
			}
		}
		if len(words) > 0 && words[0] != "version" && !strings.Contains(out.String(), "Examples:") {
			t.Errorf("%q --help has no examples", words)
		}
	}
}
