package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

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

// Gather makes the table of the results folders, or of single experiment folders. A
// folder that is named twice, also by a link, is counted once. What is wrong inside one
// experiment's folder costs no more than its own row; an error is a folder of dirs that
// cannot be listed. That no experiment was found is no error here: see Table.Found.
func Gather(dirs []string, options Options) (Table, error) {
	return NewGatherer(options).Gather(dirs)
}

// Gather makes the table as it stands now. See the function of that name.
func (g *Gatherer) Gather(dirs []string) (Table, error) {
	var t Table
	var batches []batch
	var all []reader
	known := newFolders()
	for _, dir := range dirs {
		b, err := g.batch(dir, known)
		if err != nil {
			return Table{}, fmt.Errorf("gather results: %w", err)
		}
		t.Notes = append(t.Notes, b.twice...)
		batches, all = append(batches, b), append(all, b.readers...)
	}
	read := readAll(all)
	for _, b := range batches {
		rows := found(read[:len(b.readers)])
		read = read[len(b.readers):]
		t.Rows = append(t.Rows, rows...)
		if len(rows) == 0 && len(b.twice) == 0 {
			t.Empty = append(t.Empty, b.dir)
			t.Notes = append(t.Notes, notFound(b.dir))
		}
	}
	return t, nil
}

// batch is what a folder that was given holds.
type batch struct {
	dir     string
	readers []reader // of its experiments, in order
	twice   []string // a note for each folder that is left out, since it is known already
}

func (g *Gatherer) batch(dir string, known *folders) (batch, error) {
	b := batch{dir: dir}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return b, err
	}
	defer root.Close()
	twice, err := known.given(root, dir)
	if err != nil {
		return b, fmt.Errorf("look into %s: %w", dir, err)
	}
	if twice != "" {
		b.twice = []string{twice}
		return b, nil
	}
	names, err := experiments(root)
	if err != nil {
		return b, fmt.Errorf("list %s: %w", dir, err)
	}
	if isExperiment(root) || len(names) == 0 && holdsAny(root) {
		b.add(known.experiment(dir, dir), func() (Row, bool) { return g.single(dir), true })
		return b, nil
	}
	f := readFrameworks(root)
	for _, name := range names {
		b.add(known.experiment(filepath.Join(dir, name), dir), func() (Row, bool) { return g.below(dir, name, f) })
	}
	return b, nil
}

// add adds an experiment, or the note that it is known already.
func (b *batch) add(twice string, r reader) {
	if twice != "" {
		b.twice = append(b.twice, twice)
		return
	}
	b.readers = append(b.readers, r)
}

// single is the row of a folder that was named itself.
func (g *Gatherer) single(dir string) Row {
	results, name, f := filepath.Dir(filepath.Clean(dir)), filepath.Base(dir), frameworks{}
	if absolute, err := filepath.Abs(dir); err == nil {
		if name == "." || name == ".." {
			results = filepath.Dir(absolute)
		}
		name = filepath.Base(absolute)
		if parent, err := os.OpenRoot(filepath.Dir(absolute)); err == nil {
			defer parent.Close()
			f = readFrameworks(parent)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return unreadable(name, dir, results, err)
	}
	defer root.Close()
	row := g.row(root, name, dir, f)
	row.Results = results
	return row
}

// below is the row of one folder below a results folder. A link that leads out of the
// results folder is not followed. ok is false for a folder in which nothing was run, such
// as one whose experiment was forgotten.
func (g *Gatherer) below(results, name string, f frameworks) (row Row, ok bool) {
	dir := filepath.Join(results, name)
	parent, err := os.OpenRoot(results)
	if err != nil {
		return unreadable(name, dir, results, err), true
	}
	defer parent.Close()
	root, err := parent.OpenRoot(name)
	if err != nil {
		return unreadable(name, dir, results, err), true
	}
	defer root.Close()
	if !holdsAny(root) && !wasStarted(root) {
		return Row{}, false
	}
	row = g.row(root, name, dir, f)
	row.Results = results
	return row, true
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
