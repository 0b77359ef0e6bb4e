package table

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tunebench/internal/experiment"
	"tunebench/internal/record"
)

// Gatherer gathers tables and remembers the rows of finished experiments, so that a
// table that is made again after each experiment does not read old logs again. It is
// not safe for use by several goroutines.
type Gatherer struct {
	options Options
	mu      sync.Mutex // of rows: folders are read at the same time
	rows    map[string]remembered
}

// remembered is a finished row with the record that it was made of.
type remembered struct {
	record fs.FileInfo
	script string // what script.json said of the frameworks
	row    Row
}

// NewGatherer returns a gatherer that remembers nothing yet.
func NewGatherer(options Options) *Gatherer {
	return &Gatherer{options: options, rows: make(map[string]remembered)}
}

// Gather makes the table of the results folders, or of single experiment folders.
// What is wrong inside one experiment's folder costs no more than its own row; an
// error is a folder of dirs that cannot be listed.
func Gather(dirs []string, options Options) (Table, error) {
	return NewGatherer(options).Gather(dirs)
}

// Gather makes the table as it stands now. See the function of that name.
func (g *Gatherer) Gather(dirs []string) (Table, error) {
	var all []reader
	for _, dir := range dirs {
		readers, done, err := g.readers(dir)
		if err != nil {
			return Table{}, err
		}
		defer done()
		all = append(all, readers...)
	}
	return Table{Rows: readAll(all)}, nil
}

// readers returns what reads the experiments of a folder, in order; done ends them.
func (g *Gatherer) readers(dir string) (all []reader, done func(), err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("gather results: %w", err)
	}
	done = func() { _ = root.Close() } // it was only read
	if isExperiment(root) {
		return []reader{func() (Row, bool) { return g.single(root, dir), true }}, done, nil
	}
	names, err := experiments(root)
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("gather results: list %s: %w", dir, err)
	}
	frameworks := readFrameworks(root)
	for _, name := range names {
		all = append(all, func() (Row, bool) { return g.below(root, name, filepath.Join(dir, name), frameworks) })
	}
	return all, done, nil
}

// single is the row of a folder that was named itself.
func (g *Gatherer) single(root *os.Root, dir string) Row {
	name := filepath.Base(dir)
	if absolute, err := filepath.Abs(dir); err == nil {
		name = filepath.Base(absolute)
		if parent, err := os.OpenRoot(filepath.Dir(absolute)); err == nil {
			defer parent.Close()
			return g.row(root, name, dir, readFrameworks(parent))
		}
	}
	return g.row(root, name, dir, frameworks{})
}

// below is the row of one folder below a results folder. A link that leads out of the
// results folder is not followed. ok is false for a folder in which nothing was run, such
// as one whose experiment was forgotten.
func (g *Gatherer) below(parent *os.Root, name, dir string, f frameworks) (row Row, ok bool) {
	root, err := parent.OpenRoot(name)
	if err != nil {
		return unreadable(name, dir, "cannot be opened: "+err.Error()), true
	}
	defer root.Close()
	if !isExperiment(root) && !wasStarted(root) {
		return Row{}, false
	}
	return g.row(root, name, dir, f), true
}

// wasStarted reports whether a folder without description and record holds the traces
// of a start, as a harness leaves them that was killed.
func wasStarted(root *os.Root) bool {
	for _, name := range []string{"stdout", "stderr", "command.sh", deviceLog} {
		if _, err := root.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// row takes the row from memory where the record is the one that it was made of.
func (g *Gatherer) row(root *os.Root, name, dir string, f frameworks) Row {
	info, err := root.Stat(record.FileName)
	if err != nil {
		return readRow(root, name, dir, f, g.options)
	}
	key := dir
	if absolute, err := filepath.Abs(dir); err == nil {
		key = absolute
	}
	g.mu.Lock()
	old, ok := g.rows[key]
	g.mu.Unlock()
	if ok && sameFile(old.record, info) && old.script == f.source && old.row.Dir == dir {
		return old.row
	}
	row := readRow(root, name, dir, f, g.options)
	if row.finished() {
		g.mu.Lock()
		g.rows[key] = remembered{record: info, script: f.source, row: row}
		g.mu.Unlock()
	}
	return row
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func isExperiment(root *os.Root) bool {
	for _, name := range []string{record.FileName, experiment.FileName} {
		if info, err := root.Lstat(name); err == nil && !info.IsDir() {
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

// openRegular opens a file of the folder. ok is false where there is none; what is
// there but is no regular file inside the folder is an error.
func openRegular(root *os.Root, name string) (f *os.File, ok bool, err error) {
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	if !info.Mode().IsRegular() {
		return nil, true, fmt.Errorf("%s is not a regular file", name)
	}
	f, err = root.Open(name)
	return f, true, err
}
