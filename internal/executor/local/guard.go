//go:build unix

package local

import (
	"fmt"
	"io"
	"os"
	"os/exec"
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

// Release tells the guard that the family has been ended, and waits for it.
func (g *Guarding) Release() error {
	_, werr := g.pipe.Write([]byte(allIsWell))
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

// Guard reads from the pipe until it closes. Where the word is missing, tunebench was
// killed, and the guard ends the family in its stead. It returns the number of
// processes that it found.
func Guard(pipe io.Reader, token string, grace time.Duration) int {
	word, _ := io.ReadAll(io.LimitReader(pipe, 1024)) // a broken pipe is an end like any other
	if string(word) == allIsWell || token == "" || os.Getpid() == 1 {
		return 0
	}
	found, _ := EndFamily(token, grace)
	return found
}
