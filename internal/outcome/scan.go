package outcome

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"tunebench/internal/trainer"
)

// Bounds on what is kept of the logs.
const (
	maxFailures  = 64
	firstKept    = 16 // of very many failures; the rest are the last ones
	maxSources   = 256
	maxTail      = 20
	maxTailLine  = 400
	recoveryStep = 2 // steps of progress after a failure that show it was got over
)

// ScanLogs looks for the causes of a failure in the logs of a run, in memory that does
// not grow with them. The log that explains most, stderr, comes last. A log that cannot
// be read to its end counts as far as it was read.
func ScanLogs(logs ...io.Reader) LogEvidence {
	s := scan{}
	for _, log := range logs {
		if log != nil {
			s.log(log)
		}
	}
	slices.SortStableFunc(s.found, func(a, b found) int { return a.order - b.order })
	e := LogEvidence{Child: s.children.first, Tail: strings.Join(s.tail, "\n"), Notes: s.notes}
	for _, f := range s.found {
		e.Failures = append(e.Failures, f.Failure)
	}
	return e
}

type found struct {
	Failure
	order   int
	log     int
	caught  bool // nothing says that the exception ended its process: no rank's own hook printed it
	advance int  // steps of progress seen after it
}

// scan is the state of reading; what is of one log is reset for the next.
type scan struct {
	found    []found
	children children
	tail     []string
	notes    []string
	order    int

	current int // which log, from 1
	open    []*block
	usage   []string // the sources whose last words began with "usage:"
	step    int      // of the last bar
	lines   []string
}

func (s *scan) log(log io.Reader) {
	s.open, s.usage, s.step, s.lines = nil, nil, -1, nil
	s.current++
	if err := trainer.EachLine(log, s.line); err != nil {
		s.notes = append(s.notes, fmt.Sprintf("a log was not read to its end: %v", err))
	}
	for _, b := range s.open {
		s.finish(b)
	}
	if len(s.lines) > 0 {
		s.tail = s.lines
	}
}

func (s *scan) line(line string) {
	text, from, moved := cleaned(line)
	if moved >= 0 {
		s.progress(moved)
	}
	if text == "" && moved >= 0 {
		return
	}
	if strings.HasPrefix(text, "{'loss'") {
		s.advance()
	}
	s.remember(text)
	s.children.line(text)
	s.text(text, from)
}

// text hands a line to the open block of its source, or looks at it by itself.
func (s *scan) text(text string, from source) {
	at := slices.IndexFunc(s.open, func(b *block) bool { return b.from.name == from.name })
	if start, indent := header(text); start >= 0 {
		s.header(at, text[start:], indent, from)
		return
	}
	if at >= 0 {
		if s.open[at].take(text) {
			return
		}
		s.close(at)
	}
	s.loose(text, from)
}

// header starts a block. A traceback that the last one is linked to goes on with it.
func (s *scan) header(at int, line, indent string, from source) {
	if at >= 0 && s.open[at].state == linked {
		s.open[at].begin(line, indent)
		return
	}
	if at >= 0 {
		s.close(at)
	}
	if indent != "" && from.rank == nil {
		from.rank = s.children.rank
	}
	s.start(from).begin(line, indent)
}

func (s *scan) start(from source) *block {
	if len(s.open) == maxSources {
		s.close(0)
	}
	s.order++
	b := &block{from: from, order: s.order}
	s.open = append(s.open, b)
	return b
}

func (s *scan) close(at int) {
	b := s.open[at]
	s.open = slices.Delete(s.open, at, at+1)
	s.finish(b)
}

func (s *scan) finish(b *block) {
	s.add(found{Failure: b.failure(), order: b.order, caught: b.from.rank == nil})
}

func (s *scan) add(f found) {
	if len(s.found) == maxFailures {
		s.found = slices.Delete(s.found, firstKept, firstKept+1)
	}
	f.log = s.current
	s.found = append(s.found, f)
}

// loose looks at a line outside any traceback.
func (s *scan) loose(text string, from source) {
	if s.arguments(text, from) {
		return
	}
	if isException(text) {
		b := s.start(from)
		b.orphan = true
		b.text.line(text)
		b.message(text)
		return
	}
	kind, exact := classify(text)
	if kind == Error {
		return
	}
	s.order++
	f := Failure{Kind: kind, Message: text, Text: clip(text), Rank: from.rank, Weak: !exact}
	f.explain(text)
	s.add(found{Failure: f, order: s.order, caught: from.rank == nil})
}

var argumentError = regexp.MustCompile(`^(?:\S.{0,200}: )?[Ee]rror: `)

// arguments follows the two parts of a refusal of the command line, as argparse and click
// print it: the usage, and then what is wrong.
func (s *scan) arguments(text string, from source) bool {
	if len(text) > 6 && strings.EqualFold(text[:6], "usage:") {
		if len(s.usage) < maxSources && !slices.Contains(s.usage, from.name) {
			s.usage = append(s.usage, from.name)
		}
		return true
	}
	at := slices.Index(s.usage, from.name)
	if at < 0 || !argumentError.MatchString(text) {
		return false
	}
	s.usage = slices.Delete(s.usage, at, at+1)
	s.order++
	s.add(found{Failure: Failure{Kind: Usage, Message: text, Text: clip(text), Rank: from.rank}, order: s.order})
	return true
}

// progress hears of a bar of the training.
func (s *scan) progress(step int) {
	moved := s.step >= 0 && step != s.step && step > 0
	s.step = step
	if moved {
		s.advance()
	}
}

// advance counts the progress after each failure of this log. An exception that a rank
// printed behind its own mark ended that rank, whatever the others do.
func (s *scan) advance() {
	for at := len(s.open) - 1; at >= 0; at-- {
		if b := s.open[at]; b.state == afterward || b.state == inMessage {
			s.close(at)
		}
	}
	for i := range s.found {
		if f := &s.found[i]; f.log == s.current {
			f.advance++
			f.Recovered = f.caught && f.advance >= recoveryStep
		}
	}
}

// remember keeps the last lines, for a failure that nothing else explains.
func (s *scan) remember(text string) {
	if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "{'") {
		return
	}
	if len(text) > maxTailLine {
		text = strings.ToValidUTF8(text[:maxTailLine], "") + "..."
	}
	if len(s.lines) == maxTail {
		s.lines = slices.Delete(s.lines, 0, 1)
	}
	s.lines = append(s.lines, text)
}
