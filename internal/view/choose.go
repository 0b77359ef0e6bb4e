package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/table"
)

// Choice says which experiments a table shows, and in which order.
type Choice struct {
	Where []Condition // all must hold
	Sort  []Key       // the first counts most; none: the order of the experiments
}

// Condition demands that a column has a value, or that it has another one.
type Condition struct {
	Column string
	Value  string // * stands for any text
	Not    bool
}

// Key is a column to sort by.
type Key struct {
	Column string
	Down   bool // largest first
}

// ParseCondition reads name=value or name!=value.
func ParseCondition(text string) (Condition, error) {
	name, value, found := strings.Cut(text, "=")
	not := strings.HasSuffix(name, "!")
	name = strings.TrimSpace(strings.TrimSuffix(name, "!"))
	if !found || name == "" {
		return Condition{}, fmt.Errorf("%q is no condition (write it like peft_method=lora or torch_dtype!=float16)", text)
	}
	return Condition{Column: column(name), Value: strings.TrimSpace(value), Not: not}, nil
}

// ParseKey reads the name of a column; a minus before it means largest first.
func ParseKey(text string) (Key, error) {
	name := strings.TrimSpace(strings.TrimPrefix(text, "-"))
	if name == "" {
		return Key{}, fmt.Errorf("%q names no column to sort by", text)
	}
	return Key{Column: column(name), Down: strings.HasPrefix(text, "-")}, nil
}

// memoryColumn stands for the memory that a table for the eye shows.
const memoryColumn = "memory"

// column turns the heading of a table for the eye into the name of its column.
func column(name string) string {
	switch strings.ToLower(name) {
	case "exp":
		return "experiment"
	case "model":
		return "model_name_or_path"
	case "method":
		return "peft_method"
	case "batch":
		return "per_device_train_batch_size"
	case "gpus":
		return "num_gpus"
	case "tok/s", "tokens/s":
		return "train_tokens_per_second"
	case "loss":
		return "train_loss"
	}
	return name
}

// UnknownColumn is a name that no row of a table has.
type UnknownColumn struct {
	Name  string
	Known []string
}

// Error names the column.
func (e *UnknownColumn) Error() string { return fmt.Sprintf("there is no column %q", e.Name) }

// Choose returns the rows of the choice in its order. The error is an *UnknownColumn.
func (c Choice) Choose(t table.Table) (table.Table, error) {
	columns := append(t.Columns(), memoryColumn)
	for _, name := range c.columns() {
		if !slices.Contains(columns, name) {
			return table.Table{}, &UnknownColumn{Name: name, Known: columns}
		}
	}
	chosen := t
	chosen.Rows = nil
	for _, r := range t.Rows {
		if c.holds(r) {
			chosen.Rows = append(chosen.Rows, r)
		}
	}
	slices.SortStableFunc(chosen.Rows, c.compare)
	return chosen, nil
}

func (c Choice) columns() []string {
	var names []string
	for _, w := range c.Where {
		names = append(names, w.Column)
	}
	for _, k := range c.Sort {
		names = append(names, k.Column)
	}
	return names
}

func (c Choice) holds(r table.Row) bool {
	for _, w := range c.Where {
		if w.meets(r.Text(w.Column)) == w.Not {
			return false
		}
	}
	return true
}

// meets compares numbers as numbers, so that 2e-5 meets 0.00002.
func (w Condition) meets(text string) bool {
	a, errA := strconv.ParseFloat(text, 64)
	b, errB := strconv.ParseFloat(w.Value, 64)
	if errA == nil && errB == nil {
		return a == b
	}
	return star(w.Value, text)
}

func (c Choice) compare(a, b table.Row) int {
	for _, k := range c.Sort {
		if n := k.compare(a, b); n != 0 {
			return n
		}
	}
	return 0
}

// compare puts numbers before texts, and what is not known last, whichever way it sorts.
func (k Key) compare(a, b table.Row) int {
	x, y := k.value(a), k.value(b)
	if n := cmp.Compare(x.rank(), y.rank()); n != 0 {
		return n
	}
	n := cmp.Or(cmp.Compare(x.number, y.number), cmp.Compare(x.text, y.text))
	if k.Down {
		return -n
	}
	return n
}

type sortValue struct {
	known   bool
	numeric bool
	number  float64
	text    string
}

func (v sortValue) rank() int {
	switch {
	case v.numeric:
		return 0
	case v.known:
		return 1
	}
	return 2
}

func (k Key) value(r table.Row) sortValue {
	if k.Column == memoryColumn {
		return numeric(MemoryOf(r).Value)
	}
	if k.Column == "experiment" {
		if n, err := strconv.ParseFloat(strings.TrimPrefix(r.Experiment, "exp_"), 64); err == nil {
			return sortValue{known: true, numeric: true, number: n}
		}
	}
	text := r.Text(k.Column)
	if n, err := strconv.ParseFloat(text, 64); err == nil && n == n {
		return sortValue{known: true, numeric: true, number: n}
	}
	return sortValue{known: text != "", text: text}
}

func numeric(v metric.Value) sortValue {
	return sortValue{known: v.Known(), numeric: v.Known(), number: v.Number}
}

// Matches reports whether a column has one of the names, which may hold * for any text.
func Matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return star(p, name) })
}

// CheckColumns finds the first pattern that no column of the table meets. The error is an
// *UnknownColumn.
func CheckColumns(t table.Table, patterns []string) error {
	columns := t.Columns()
	for _, p := range patterns {
		if !slices.ContainsFunc(columns, func(name string) bool { return Matches(name, []string{p}) }) {
			return &UnknownColumn{Name: p, Known: columns}
		}
	}
	return nil
}

// Column returns the name of the column behind a heading of a table for the eye, and any
// other name as it is.
func Column(heading string) string {
	if heading == memoryColumn {
		return memory.NvidiaReserved
	}
	return column(heading)
}
