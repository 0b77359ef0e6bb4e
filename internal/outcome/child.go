package outcome

import (
	"regexp"
	"strconv"
	"strings"
)

// What launchers print of a child that failed: torch elastic a table and a line of its
// log, subprocess and torch.multiprocessing an exception, DeepSpeed a line of its log,
// and a data loader of its worker.
var (
	elasticRank = regexp.MustCompile(`^\s*rank\s+: (\d{1,6})\b`)
	elasticExit = regexp.MustCompile(`^\s*exitcode\s+: (-?\d{1,5})\b`)
	elasticLine = regexp.MustCompile(`failed \(exitcode: (-?\d{1,5})\) local_rank: (\d{1,6})`)
	otherExit   = regexp.MustCompile(`died with <Signals\.\w+: (\d{1,3})>|exits with return code = -(\d{1,3})`)
	killedChild = regexp.MustCompile(`terminated with signal SIGKILL|is killed by signal: Killed`)
)

// children follows what launchers say. The first child to fail is the cause; torch
// elastic names it under "Root Cause", the others were ended by the launcher.
type children struct {
	first *Child
	root  bool // inside the section of the root cause
	done  bool // the root cause was read
	rank  *int // of the section being read
}

func (c *children) line(line string) {
	if !hasAny(line, []string{"rank", "exitcode", "Root Cause", "<Signals.", "return code", "SIGKILL", "Killed"}) {
		return // Most lines: the patterns below are slow.
	}
	switch {
	case strings.HasPrefix(line, "Root Cause"):
		c.root, c.rank = true, nil
	case elasticRank.MatchString(line):
		n, _ := strconv.Atoi(elasticRank.FindStringSubmatch(line)[1])
		c.rank = &n
	case elasticExit.MatchString(line):
		c.exit(elasticExit.FindStringSubmatch(line)[1])
	case elasticLine.MatchString(line):
		m := elasticLine.FindStringSubmatch(line)
		code, _ := strconv.Atoi(m[1])
		rank, _ := strconv.Atoi(m[2])
		c.keep(Child{Rank: &rank, ExitCode: code})
	case otherExit.MatchString(line):
		m := otherExit.FindStringSubmatch(line)
		code, _ := strconv.Atoi(m[1] + m[2])
		c.keep(Child{ExitCode: -code})
	case killedChild.MatchString(line):
		c.keep(Child{ExitCode: -9})
	}
}

func (c *children) exit(text string) {
	code, _ := strconv.Atoi(text) // At most five digits.
	if c.root && !c.done {
		c.first, c.done = &Child{Rank: c.rank, ExitCode: code}, true
		return
	}
	c.keep(Child{Rank: c.rank, ExitCode: code})
}

func (c *children) keep(child Child) {
	if c.first == nil {
		c.first = &child
	}
}
