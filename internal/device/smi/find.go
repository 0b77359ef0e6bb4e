package smi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Find looks nvidia-smi up on the PATH of an environment (NAME=value) and returns it
// with that environment. The error is os.ErrNotExist where it is in no folder.
func Find(environ []string) (*SMI, error) {
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		path, err := filepath.Abs(filepath.Join(dir, "nvidia-smi"))
		if err != nil {
			return nil, fmt.Errorf("looking for nvidia-smi: %w", err)
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return &SMI{Path: path, Env: environ}, nil
		}
	}
	return nil, fmt.Errorf("no nvidia-smi on PATH: %w", os.ErrNotExist)
}

// lookup returns the last value of a variable, as a started program sees it.
func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}
