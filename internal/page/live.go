package page

import (
	"io/fs"
	"os"
	"slices"

	"tunebench/internal/curve"
	"tunebench/internal/folder"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
	"tunebench/internal/table"
	"tunebench/internal/timeline"
	"tunebench/internal/view"
)

// Maker makes the data of a live page and remembers what cannot change any more. It is
// not safe for use by several goroutines.
type Maker struct {
	options Options
	seen    map[string]aside
}

// aside is what stands beside a row, with the record that it was made of.
type aside struct {
	record fs.FileInfo
	beside beside
}

// NewMaker returns a maker that remembers nothing yet.
func NewMaker(o Options) *Maker { return &Maker{options: o, seen: map[string]aside{}} }

// Data returns the data of the live page: all rows, without the curves of their logs.
func (m *Maker) Data(t table.Table) ([]byte, error) {
	d := makeData(t, m.options)
	for i, r := range t.Rows {
		b := m.beside(r)
		d.Rows[i].Tail, d.Rows[i].Env = b.tail, b.env
	}
	return encode(d)
}

// Curves returns what the page draws of the row that it calls name; ok is false where the
// table has none of that name. A name is compared and never becomes a path.
func Curves(t table.Table, name string) (data []byte, ok bool, err error) {
	i := slices.Index(view.Names(t), name)
	if i < 0 {
		return nil, false, nil
	}
	data, err = encode(makeCurves(timeline.Read(t.Rows[i], curve.Limit)))
	return data, true, err
}

// beside reads the record and the end of stderr, unless the row is one that has ended and
// was read before.
func (m *Maker) beside(r table.Row) beside {
	root, err := folder.Open(r.Dir)
	if err != nil {
		return beside{}
	}
	defer root.Close()
	info, err := root.Lstat(record.FileName)
	old, ok := m.seen[r.Dir]
	if ok && err == nil && sameFile(old.record, info) {
		return old.beside
	}
	b := readIn(root, r)
	if err == nil && ended(r) {
		m.seen[r.Dir] = aside{record: info, beside: b}
	}
	return b
}

func ended(r table.Row) bool {
	switch r.Status {
	case outcome.Running, outcome.Incomplete, outcome.Interrupted:
		return false
	}
	return true
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
