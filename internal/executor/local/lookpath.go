//go:build unix

package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// lookPath finds the program as a shell in that environment and folder would: PATH of
// the child counts, not that of tunebench.
func lookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, executable(name, path)
	}
	for _, folder := range filepath.SplitList(last(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		path := filepath.Join(folder, name)
		if executable(name, path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: command not found: %w", name, fs.ErrNotExist)
}

func executable(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: command not found: %w", name, fs.ErrNotExist)
	case err != nil:
		return fmt.Errorf("look at %s: %w", name, err)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s: not executable: %w", name, fs.ErrPermission)
	}
	return nil
}

// last returns the value of a variable; the last of several wins, as for the child.
func last(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}
