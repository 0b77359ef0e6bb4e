package table

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/experiment"
	"tunebench/internal/record"
)

// folders are those that a table has been given, so that none is counted twice.
type folders struct {
	results     []givenFolder
	experiments map[string]string // by their real paths: as they were found
}

type givenFolder struct {
	dir  string
	info fs.FileInfo
}

func newFolders() *folders { return &folders{experiments: make(map[string]string)} }

// given takes a folder that was named. It returns a note where it is known already under
// whatever name.
func (f *folders) given(root *os.Root, dir string) (twice string, err error) {
	info, err := root.Stat(".")
	if err != nil {
		return "", err
	}
	for _, known := range f.results {
		if os.SameFile(known.info, info) {
			return sameFolder(dir, known.dir), nil
		}
	}
	f.results = append(f.results, givenFolder{dir, info})
	return "", nil
}

// experiment takes an experiment's folder, found in the folder dir or the same as it. A
// link out of dir stands for itself, since it is not followed.
func (f *folders) experiment(path, dir string) (twice string) {
	actual := resolved(path)
	if within := resolved(dir); actual != within && !strings.HasPrefix(actual, within+string(filepath.Separator)) {
		actual = filepath.Join(within, filepath.Base(path))
	}
	if known, ok := f.experiments[actual]; ok {
		return sameFolder(path, known)
	}
	f.experiments[actual] = path
	return ""
}

func sameFolder(dir, known string) string {
	if dir == known {
		return dir + " is named twice and counted once"
	}
	return dir + " is the same folder as " + known + " and counted once"
}

// resolved is the path without links and detours, as far as they can be told.
func resolved(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if actual, err := filepath.EvalSymlinks(path); err == nil {
		return actual
	}
	return path
}

// isExperiment reports whether the folder is an experiment's and no folder of experiments.
func isExperiment(root *os.Root) bool {
	return holds(root, func(info fs.FileInfo) bool { return !info.IsDir() })
}

// holdsAny reports whether anything at all stands at the place of a record or description,
// a folder or a link to nowhere included: it makes a row that says so.
func holdsAny(root *os.Root) bool {
	return holds(root, func(fs.FileInfo) bool { return true })
}

func holds(root *os.Root, counts func(fs.FileInfo) bool) bool {
	for _, name := range []string{record.FileName, experiment.FileName} {
		if info, err := root.Lstat(name); err == nil && counts(info) {
			return true
		}
	}
	return false
}

// experiments returns the names of the experiment folders, by number.
func experiments(root *os.Root) ([]string, error) {
	folder, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		_, ok := number(entry.Name())
		if ok && (entry.IsDir() || entry.Type()&fs.ModeSymlink != 0) {
			names = append(names, entry.Name())
		}
	}
	slices.SortFunc(names, byNumber)
	return names, nil
}

func byNumber(a, b string) int {
	m, _ := number(a)
	n, _ := number(b)
	return cmp.Or(cmp.Compare(m, n), cmp.Compare(a, b))
}

// number returns the N of exp_N.
func number(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, "exp_")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}
