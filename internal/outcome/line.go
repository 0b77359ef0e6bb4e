package outcome

import (
	"regexp"
	"strconv"
	"strings"

	"tunebench/internal/trainer"
)

// source is who printed a line: the prefixes before it, and the rank where one says it.
type source struct {
	name string
	rank *int
}

var (
	ansi = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

	// The marks that launchers put before each line: torch's [rank0]: and torchrun's
	// [default0]:, srun's 0: and mpirun's [1,0]<stderr>:, each once or behind another.
	rankPrefix = regexp.MustCompile(`^\[(?:rank|default|trainer|worker)(\d{1,6})\]: ?`)
	taskPrefix = regexp.MustCompile(`^(?:\d{1,6}:(?: |$)|\[\d+,\d+\]<std(?:err|out)>: ?|[\w.-]+-\d+: (?:\[rank))`)

	// A bar of tqdm with or without description, up to the end of its times.
	progressBar = regexp.MustCompile(`^[^|]{0,200}?\d{1,3}%\|[^|]*\|[^\[]{0,60}\[[^\]]{0,120}\]`)
	// A line that starts with a moment or with a level is a logger's.
	logLine = regexp.MustCompile(`^(\[?[EWIF]?\d{4}[- ]\d\d[-:]\d\d|[EWIF]\d{4} |\[\d{4}-|(INFO|WARNING|DEBUG|ERROR|wandb)\b:?)`)
)

// cleaned takes the prefixes, bars and colours off a line. A line may have several, as
// stdout and stderr of several processes are glued together. Where a bar was taken off,
// moved says how far the training was.
func cleaned(line string) (text string, from source, moved int) {
	if strings.Contains(line, "\x1b") {
		line = ansi.ReplaceAllString(line, "")
	}
	moved = -1
	for range 8 {
		rest := from.strip(line)
		if strings.Contains(rest, "%|") {
			rest, moved = stripBar(rest, moved)
		}
		if rest == line {
			break
		}
		line = rest
	}
	return line, from, moved
}

func (s *source) strip(line string) string {
	if line == "" || line[0] != '[' && (line[0] < '0' || line[0] > '9') && !strings.Contains(line, ": [rank") {
		return line // Most lines: the patterns below are slow.
	}
	if m := rankPrefix.FindStringSubmatch(line); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			s.rank = &n
		}
		s.name += strings.TrimSpace(m[0])
		return line[len(m[0]):]
	}
	if m := taskPrefix.FindString(line); m != "" {
		m = strings.TrimSuffix(m, "[rank")
		s.name += strings.TrimSpace(m)
		return line[len(m):]
	}
	return line
}

func stripBar(line string, moved int) (string, int) {
	m := progressBar.FindString(line)
	if m == "" {
		return line, moved
	}
	if step, _, ok := trainer.Bar(m); ok {
		moved = step
	}
	return line[len(m):], moved
}
