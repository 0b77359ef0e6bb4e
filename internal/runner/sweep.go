package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"tunebench/internal/device/host"
	"tunebench/internal/executor/local"
	"tunebench/internal/experiment"
	"tunebench/internal/trainer"
)

// temporary is what the names of folders begin with that nobody asked to keep.
const temporary = "tunebench-measure-"

// TemporaryFolder makes a folder for a measurement that nobody asked to keep. It takes
// away those of measurements that were killed, which had no time to do it themselves.
func TemporaryFolder() (string, error) {
	sweep(os.TempDir())
	dir, err := os.MkdirTemp("", temporary)
	if err != nil {
		return "", fmt.Errorf("make a folder for the readings: %w", err)
	}
	return dir, nil
}

// sweep removes the abandoned folders below parent. What cannot be removed stays: a
// leftover in the temporary files harms nobody.
func sweep(parent string) {
	folders, err := filepath.Glob(filepath.Join(globSafe(parent), temporary+"*"))
	if err != nil {
		return
	}
	for _, dir := range folders {
		if ours(dir) {
			removeAbandoned(dir)
		}
	}
}

// ours reports whether dir is a folder of this user's that a measurement has described.
func ours(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false // a link is not followed
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Getuid() {
		return false
	}
	e, err := experiment.Load(dir)
	return err == nil && e.Trainer == trainer.Any
}

// removeAbandoned removes dir where its lock is free, the process that held it is gone, and
// nothing of its family runs, which a guard may be about to end.
func removeAbandoned(dir string) {
	path := filepath.Join(dir, claimName)
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return
	}
	defer func() { _ = lock.Unlock() }() // the file may be gone, and the lock with it
	h, err := readHolder(path)
	if err != nil || h.Host != hostname() || !isGone(h.PID) || !familyGone(h.Token) {
		return
	}
	_ = os.RemoveAll(dir) // the next one tries again
}

// isGone reports whether there is no process of that number.
func isGone(pid int) bool { return pid > 1 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// familyGone reports whether no process is known to carry the token. Where that cannot be
// told, some may.
func familyGone(token string) bool {
	if token == "" {
		return true // it was ended in order
	}
	for _, t := range []string{token, local.WatchToken(token)} {
		if pids, err := host.FamilyPIDs(t); err != nil || len(pids) > 0 {
			return false
		}
	}
	return true
}
