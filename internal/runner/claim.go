package runner

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"tunebench/internal/executor/local"
)

// claimName is the file by which a process holds a folder. The lock on it ends with
// the process, however that ends; its content tells the next one whom to look for.
const claimName = ".tunebench.lock"

// holder is the content of a claim.
type holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
	Token string    `json:"token,omitempty"` // family of the experiment in that folder
}

// claim is a folder that this process holds.
type claim struct {
	lock  *flock.Flock
	path  string
	token string
}

// HeldError says that another process works in a folder.
type HeldError struct {
	Dir  string
	PID  int
	Host string
}

// Error names the holder and the remedy.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%s: in use by tunebench with pid %d on host %s (wait for it, or choose another folder with -o)", e.Dir, e.PID, e.Host)
}

// take claims dir, which exists, and ends what a holder that was killed left running
// there; left says so, or is empty.
func take(dir string, grace time.Duration) (c *claim, left string, err error) {
	path := filepath.Join(dir, claimName)
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, "", fmt.Errorf("lock %s: %w", dir, err)
	}
	if !ok {
		h := readHolderPatiently(path)
		return nil, "", &HeldError{Dir: dir, PID: h.PID, Host: h.Host}
	}
	// The old token is read and its family ended before the new one is written: a kill
	// between the two must not make anybody forget whom to look for.
	if h, err := readHolder(path); err == nil && h.Token != "" {
		left = clearLeftovers(dir, h, grace)
	}
	c = &claim{lock: lock, path: path, token: rand.Text()}
	if err := c.sign(c.token); err != nil {
		return nil, left, errors.Join(err, lock.Unlock())
	}
	return c, left, nil
}

// sign writes who holds the folder. It writes in place, since the lock is on this very file.
func (c *claim) sign(token string) error {
	data, err := json.Marshal(holder{PID: os.Getpid(), Host: hostname(), Since: time.Now(), Token: token})
	if err != nil {
		return fmt.Errorf("describe the holder of %s: %w", c.path, err)
	}
	if err := os.WriteFile(c.path, data, 0o600); err != nil {
		return fmt.Errorf("sign %s: %w", c.path, err)
	}
	return nil
}

// release gives the folder back. The file stays, without a token: to take it away would
// let two processes lock two files of that name.
func (c *claim) release() error {
	return errors.Join(c.sign(""), c.lock.Unlock())
}

// readHolderPatiently reads once more where the holder was just writing.
func readHolderPatiently(path string) holder {
	h, err := readHolder(path)
	if err != nil {
		time.Sleep(100 * time.Millisecond)
		h, _ = readHolder(path) // an unreadable claim still is one; the pid is then 0
	}
	return h
}

func readHolder(path string) (holder, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return holder{}, fmt.Errorf("read %s: %w", path, err)
	}
	var h holder
	if err := json.Unmarshal(data, &h); err != nil {
		return holder{}, fmt.Errorf("read %s: %w", path, err)
	}
	return h, nil
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// clearLeftovers ends what a killed tunebench left running. It returns a sentence for
// the reader, or nothing where nothing was left.
func clearLeftovers(dir string, h holder, grace time.Duration) string {
	if h.Host != hostname() {
		return fmt.Sprintf("%s: tunebench with pid %d on host %s ended without a word; look there for processes that it left", dir, h.PID, h.Host)
	}
	found, gone := local.EndFamily(h.Token, grace)
	switch {
	case found == 0:
		return ""
	case gone:
		return fmt.Sprintf("%s: ended %d processes that an earlier start had left running", dir, found)
	}
	return fmt.Sprintf("%s: %d processes of an earlier start could not be ended; their memory will be blamed on what runs now", dir, found)
}
