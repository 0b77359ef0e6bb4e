package cli

import (
	"strings"
	"testing"

	"tunebench/internal/progress"
)

func TestNothingIsWrittenWhileTheMeasuredCommandRuns(t *testing.T) {
	t.Parallel()
	warn := func(text string) progress.Event { return progress.Event{Kind: progress.Warned, Message: text} }
	var out strings.Builder
	q := &quiet{w: &out}
	steps := []struct {
		name string
		do   func()
		want string // written by this step
	}{
		{"a warning before the start is written at once", func() { q.Event(warn("a")) }, "warning: a\n"},
		{"a sample before the start is dropped", func() { q.Event(progress.Event{Kind: progress.Sampled}) }, ""},
		{"the start writes nothing", q.hold, ""},
		{"a warning while it runs is held", func() { q.Event(warn("b")) }, ""},
		{"so is a second one", func() { q.Event(warn("c")) }, ""},
		{"a sample while it runs is dropped", func() { q.Event(progress.Event{Kind: progress.Sampled}) }, ""},
		{"so is the end of an experiment", func() { q.Event(progress.Event{Kind: progress.Finished}) }, ""},
		{"the end writes what was held, in order", q.release, "warning: b\nwarning: c\n"},
		{"a warning after the end is written at once", func() { q.Event(warn("d")) }, "warning: d\n"},
		{"a second end writes nothing again", q.release, ""},
	}
	for _, s := range steps {
		out.Reset()
		s.do()
		if got := out.String(); got != s.want {
			t.Errorf("%s: wrote %q, want %q", s.name, got, s.want)
		}
	}
}
