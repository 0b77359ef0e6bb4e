//go:build unix

package local

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// GuardCommand is the hidden command of the tunebench binary that runs Guard.
const GuardCommand = "guard"

// Guarding is a running guard.
type Guarding struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// StartGuard starts self as a guard over the family of that token, in a session of its
// own so that neither Ctrl-C nor the end of the terminal reaches it. self is the path of
// the tunebench binary.
func StartGuard(self, token string, env []string) (*Guarding, error) {
	cmd := exec.Command(self, GuardCommand, token)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make the guard's pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &Guarding{cmd: cmd, pipe: pipe}, nil
}

// Tell tells the guard of processes that belong to the family, so that it finds them
// without the token too.
func (g *Guarding) Tell(pids []int) {
	for _, pid := range pids {
		_, _ = fmt.Fprintln(g.pipe, pid) // a guard that has ended is missed at Release
	}
}

// Release tells the guard that the family has been ended, and waits for it.
func (g *Guarding) Release() error {
	_, werr := io.WriteString(g.pipe, allIsWell+"\n")
	_ = g.pipe.Close()
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("end the guard: %w", err)
	}
	if werr != nil {
		return fmt.Errorf("release the guard: %w", werr)
	}
	return nil
}

// allIsWell is what a living tunebench writes before it closes the pipe; a killed one
// closes it without a word.
const allIsWell = "done"

// Guard reads from the pipe until it closes: a number for each process that it is told
// of, and the word at the end. Where the word is missing, tunebench was killed, and the
// guard ends the family in its stead. It returns the number of processes that it found.
func Guard(pipe io.Reader, token string, grace time.Duration) int {
	told := newFamily(0, "", nil).strays
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		if lines.Text() == allIsWell {
			return 0
		}
		if pid, err := strconv.Atoi(lines.Text()); err == nil && pid > 1 {
			told.add([]int{pid}) // with its start time now, while it surely is the one that is meant
		}
	}
	if token == "" {
		return 0
	}
	found, _ := endFamily(token, told.alive(), grace)
	return found
}
