package outcome

import (
	"regexp"
	"strings"
)

const (
	tracebackHeader = "Traceback (most recent call last):"
	terminateHeader = "terminate called after throwing an instance of"
	directCause     = "The above exception was the direct cause of the following exception:"
	whileHandling   = "During handling of the above exception, another exception occurred:"
)

// Bounds on one block.
const (
	maxMessage      = 16 << 10
	maxMessageLines = 400
	maxChain        = 64
)

// state says what the next line of a block may be.
type state int

const (
	inFrames  state = iota // the frames of a traceback, then the exception's line
	inMessage              // more lines of the exception's message
	afterward              // after the blank line that ends a message: a chain may go on
	linked                 // after the sentence that links two tracebacks
)

// block collects one failure as one process prints it: a traceback, several that are
// chained, or the last words of a C++ program.
type block struct {
	from     source
	order    int
	state    state
	indent   string // before every line of it
	text     clipped
	messages []string // the exceptions with their messages, first raised first
	lines    int      // of the last message
	orphan   bool     // an exception's line without the traceback before it
}

// hostMark is the name of a host, as pdsh puts it before each line.
var hostMark = regexp.MustCompile(`^[A-Za-z][\w.-]*: $`)

// header finds the first line of a block in a line, and what stands before each line.
func header(line string) (start int, indent string) {
	start = strings.Index(line, tracebackHeader)
	if start < 0 {
		if strings.HasPrefix(line, terminateHeader) {
			return 0, ""
		}
		return -1, ""
	}
	switch before := line[:start]; {
	case strings.TrimSpace(before) == "traceback :": // torch elastic indents what its child left
		return start, "  "
	case hostMark.MatchString(before):
		return start, before
	}
	return start, ""
}

// begin starts the block, or the next traceback of its chain, with its first line.
func (b *block) begin(line, indent string) {
	b.text.line(line)
	b.indent, b.state = indent, inFrames
	if strings.HasPrefix(line, terminateHeader) {
		b.message(line)
	}
}

// take adds a line and reports whether the line belongs to the block.
func (b *block) take(line string) bool {
	line = strings.TrimPrefix(line, b.indent)
	blank := strings.TrimSpace(line) == ""
	if b.state != inFrames && isLink(line) {
		b.text.line("\n" + line + "\n")
		b.state = linked
		return true
	}
	switch b.state {
	case inFrames:
		return b.frame(line, blank)
	case inMessage:
		return b.more(line, blank)
	}
	return blank
}

func isLink(line string) bool {
	trimmed := strings.TrimSpace(line)
	return trimmed == directCause || trimmed == whileHandling
}

func (b *block) frame(line string, blank bool) bool {
	b.text.line(line)
	if !blank && line[0] != ' ' && line[0] != '\t' {
		b.message(line)
	}
	return true
}

func (b *block) message(line string) {
	if len(b.messages) == maxChain { // A chain that long repeats itself; its cause stays.
		b.messages = b.messages[:maxChain-1]
	}
	b.messages = append(b.messages, line)
	b.state, b.lines = inMessage, 1
}

func (b *block) more(line string, blank bool) bool {
	if blank {
		b.state = afterward
		return true
	}
	if b.lines++; b.lines > maxMessageLines || logLine.MatchString(line) {
		return false
	}
	b.text.line(line)
	last := &b.messages[len(b.messages)-1]
	if len(*last)+len(line) < maxMessage {
		*last += "\n" + line
	}
	return true
}

// failure judges the block's kind: that of the first exception of the chain which has
// one, since what came after is what it caused.
func (b *block) failure() Failure {
	f := Failure{Kind: Error, Text: b.text.String(), Rank: b.from.rank}
	for _, m := range b.messages {
		kind, line := decide(m)
		if f.Kind == Error {
			f.Kind, f.Message = kind, line
			f.explain(m)
		}
		f.Weak = f.Kind == Error && b.orphan
		if len(b.messages) > 1 {
			f.Chain = append(f.Chain, oneLine(m))
		}
	}
	if n := len(b.messages); n > 0 && f.Kind == Error {
		f.Launcher = launcherWords.MatchString(b.messages[n-1])
	} else if n == 0 {
		f.Weak = true // It was cut off before it said what it is.
	}
	return f
}

// explain reads the figures of the kind out of the message.
func (f *Failure) explain(message string) {
	switch f.Kind {
	case OOM, HostMemory:
		f.OutOfMemory = figures(message)
	case NCCLTimeout:
		f.Collective = collective(message)
	}
	if f.Rank == nil {
		f.Rank = rankIn(message)
	}
}
