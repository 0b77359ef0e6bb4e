// Package probe rides along in the Python processes of an experiment and reads what
// they leave.
//
// It has a small Python package, embedded in the binary, that reaches every Python
// process by environment alone; the reader of the records that those processes write;
// and what those records say together: which process is which rank, what each rank held
// on each device, the Trainer's exact figures. A process that the probe cannot reach is
// left to be noticed: Ignored looks at a command before it runs, Report.Notes afterwards.
//
// What the kernel and the driver say about the same processes is left to the samplers,
// and holding both against each other to package memory.
package probe

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed python/sitecustomize.py python/tunebench_probe/*.py
var python embed.FS

// The variables that carry the probe into a process.
const (
	PathVariable   = "PYTHONPATH"          // Python's own: folders searched ahead of its library
	FolderVariable = "TUNEBENCH_PROBE_DIR" // the folder for the records; without it the probe stays idle
)

// Install writes the Python files into a folder, which is made where it is missing.
// Python keeps compiled copies beside them where it may write there: a second process
// starts faster than the first.
func Install(dir string) error {
	if strings.ContainsRune(dir, os.PathListSeparator) {
		return fmt.Errorf("install the probe in %s: a folder on %s cannot have %q in its name",
			dir, PathVariable, os.PathListSeparator)
	}
	root, err := fs.Sub(python, "python")
	if err != nil {
		return fmt.Errorf("open the embedded probe: %w", err)
	}
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return install(root, name, filepath.Join(dir, filepath.FromSlash(name)), entry.IsDir())
	})
	if err != nil {
		return fmt.Errorf("install the probe: %w", err)
	}
	return nil
}

func install(root fs.FS, name, path string, folder bool) error {
	if folder {
		return os.MkdirAll(path, 0o755)
	}
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// Env returns the variables that bring the probe installed in siteDir into a process and
// its children, and have it write into outDir, which must exist. Inherited is the
// environment that the process would have had, as KEY=VALUE: its own PYTHONPATH stays
// behind the probe's. Both folders should be absolute, because processes change theirs.
func Env(siteDir, outDir string, inherited []string) map[string]string {
	path := siteDir
	// An empty element would stand for the working directory.
	if own := lookup(inherited, PathVariable); own != "" {
		path += string(os.PathListSeparator) + own
	}
	return map[string]string{PathVariable: path, FolderVariable: outDir}
}

// lookup returns the value of a variable; the last one counts, as for a new process.
func lookup(environment []string, key string) string {
	value := ""
	for _, entry := range environment {
		if name, v, ok := strings.Cut(entry, "="); ok && name == key {
			value = v
		}
	}
	return value
}
