// Package table gathers the records of one or several results folders into one table:
// a row for each experiment, a cell for each thing that is known of it.
//
// It has the row with its cells, the walk over the folders, the framework's short
// name, and the cells that are computed from the logs. How memory is computed is left
// to package memory, and what a reader sees of the table to package report.
package table

import (
	"slices"
	"strings"

	"tunebench/internal/experiment"
	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
)

// Kind says what a cell tells of.
type Kind int

// The kinds of cells.
const (
	Own     Kind = iota // how tunebench ran it: status, exit code, error text
	Setting             // what was asked for
	Result              // what came out: metrics and memory
)

// Cell is what is known of one experiment under one name: a text, or a number or the
// gap in its place.
type Cell struct {
	Name   string
	Kind   Kind
	Number bool         // whether Value counts, not Text
	Text   string       // a text cell's content
	Value  metric.Value // a number cell's content
}

// String returns the cell as a CSV file holds it: nothing for a gap.
func (c Cell) String() string {
	if c.Number {
		return c.Value.String()
	}
	return c.Text
}

// Row is one experiment folder.
type Row struct {
	Experiment string         // the folder's name, exp_N
	Dir        string         // the folder's path
	Results    string         // the results folder that it is of, as it was given
	Status     outcome.Status // running and incomplete stand for a folder without a record
	Reason     string         // one line on why it did not end ok; empty for ok
	Cells      []Cell         // with unique names, in the order in which they were found
	Notes      []string       // doubts that the reader should know
	Remarks    []string       // what a reader may want to know and need not doubt
	Exceptions []string       // what ended processes, as the probe saw it

	Memory    memory.NvidiaFigures // of the devices; without one where nothing was seen of them
	Ledger    []memory.Ledger      // what each device held at its peak and who held it
	TorchMark memory.Mark          // of torch's memory: at the Trainer's stages, and of what it reserved
	HostMark  memory.Mark          // of the host's memory
}

// Cell returns the cell of that name; ok is false where the row has none.
func (r Row) Cell(name string) (Cell, bool) {
	for _, c := range r.Cells {
		if c.Name == name {
			return c, true
		}
	}
	return Cell{Name: name}, false
}

// Text returns the cell of that name as text, or nothing.
func (r Row) Text(name string) string {
	c, _ := r.Cell(name)
	return c.String()
}

// Number returns the number of that name, or the gap in its place.
func (r Row) Number(name string) metric.Value {
	c, ok := r.Cell(name)
	switch {
	case !ok:
		return metric.Missing("there is no " + name)
	case !c.Number:
		return metric.Missing(name + " is no number: " + c.Text)
	}
	return c.Value
}

func (r *Row) addText(kind Kind, name, text string) {
	r.add(Cell{Name: name, Kind: kind, Text: text})
}

func (r *Row) addNumber(kind Kind, name string, v metric.Value) {
	r.add(Cell{Name: name, Kind: kind, Number: true, Value: v})
}

// add keeps the first of two cells of one name, so the names that tunebench gives
// must be added before those that a scenario or a trainer chose.
func (r *Row) add(c Cell) {
	if _, taken := r.Cell(c.Name); !taken {
		r.Cells = append(r.Cells, c)
	}
}

// Table is the rows of all folders, in the order given and then by number.
type Table struct {
	Rows  []Row
	Notes []string // on the folders: what was named twice, what holds no experiment
	Empty []string // the folders, as given, in which no experiment was found
}

// NotFoundError says that there is no experiment in any of the folders.
type NotFoundError struct {
	Dirs []string
}

// Error says what was looked for, and where.
func (e *NotFoundError) Error() string {
	lines := make([]string, len(e.Dirs))
	for i, dir := range e.Dirs {
		lines[i] = notFound(dir)
	}
	return strings.Join(lines, "; ")
}

func notFound(dir string) string {
	return dir + ": no experiment was found (looked for " + experiment.FileName + " and " + record.FileName +
		" in it and in its folders exp_0, exp_1, ...)"
}

// Found returns a *NotFoundError where the table has no row.
func (t Table) Found() error {
	if len(t.Rows) > 0 {
		return nil
	}
	return &NotFoundError{Dirs: t.Empty}
}

// Ended returns the rows that ended ok.
func (t Table) Ended() []Row {
	var rows []Row
	for _, r := range t.Rows {
		if r.Status == outcome.OK {
			rows = append(rows, r)
		}
	}
	return rows
}

// FirstColumns returns the columns that lead every full table, in their order.
func FirstColumns() []string {
	return []string{"experiment", "scenario", "status", "exit_code", "signal", "duration_seconds"}
}

// Columns returns the names of all cells of the table: the first columns, then the
// others by name.
func (t Table) Columns() []string {
	first := FirstColumns()
	var rest []string
	seen := make(map[string]bool)
	for _, r := range t.Rows {
		for _, c := range r.Cells {
			if !seen[c.Name] && !slices.Contains(first, c.Name) {
				rest = append(rest, c.Name)
			}
			seen[c.Name] = true
		}
	}
	slices.Sort(rest)
	return append(first, rest...)
}
