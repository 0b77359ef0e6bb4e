package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tunebench/internal/experiment"
	"tunebench/internal/record"
	"tunebench/internal/sampler"
)

// The files that Exec writes beside the experiment's description and record.
const (
	StdoutName = "stdout"
	StderrName = "stderr"
	GPULogName = sampler.MemoryFile
	HostLog    = sampler.HostFile
	OutputDir  = "hf" // the trainer's own folder
)

// Forget takes away an experiment: its description, record and logs. Files that
// tunebench did not write stay, and what the trainer saved too.
func Forget(dir string) error {
	return errors.Join(forgetResults(dir), remove(dir, experiment.FileName), remove(dir, ScriptName))
}

// forgetResults takes away what an earlier start left of its record and logs; the
// record first, so that no moment shows a record beside the logs of another start.
func forgetResults(dir string) error {
	var errs []error
	for _, name := range []string{record.FileName, StdoutName, StderrName, GPULogName, sampler.ProcessFile, sampler.StateFile, HostLog} {
		errs = append(errs, remove(dir, name))
	}
	if err := os.RemoveAll(filepath.Join(dir, record.ProbeDir)); err != nil {
		errs = append(errs, fmt.Errorf("forget an earlier run: %w", err))
	}
	return errors.Join(errs...)
}

func remove(dir, name string) error {
	err := os.Remove(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget an earlier run: %w", err)
	}
	return nil
}

// setAside moves what an earlier start of the trainer saved out of the way: it is not
// ours to delete, and must not be read as the result of the next start.
func setAside(dir string) error {
	old := filepath.Join(dir, OutputDir)
	if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.before-%d", old, n)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(old, aside); err != nil {
				return fmt.Errorf("set aside what the trainer saved: %w", err)
			}
			return nil
		}
	}
}
