package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/table"
	"tunebench/internal/view"
)

// IndexColumns are the settings that benchmarks.csv has always, since rows are matched
// by them: those of one value over all rows too.
func IndexColumns() []string {
	return []string{
		"framework_config", "peft_method", "model_name_or_path", "num_gpus",
		"per_device_train_batch_size", "torch_dtype",
	}
}

// RawSummary writes every cell of every experiment as CSV. What is not known is an empty
// cell; the column notes says why.
func RawSummary(w io.Writer, t table.Table) error {
	return writeCSV(w, withResults(t.Columns(), 1, t.Rows), t.Rows)
}

// resultsColumn names the results folder of each row, where there are several: exp_0 alone
// does not say which.
const resultsColumn = "results"

// withResults puts that column at its place, where it is needed.
func withResults(columns []string, at int, rows []table.Row) []string {
	if !ofSeveral(rows) {
		return columns
	}
	columns = slices.DeleteFunc(columns, func(name string) bool { return name == resultsColumn })
	return slices.Insert(columns, at, resultsColumn)
}

// ofSeveral reports whether the rows are of several results folders.
func ofSeveral(rows []table.Row) bool {
	return slices.ContainsFunc(rows, func(r table.Row) bool { return r.Results != rows[0].Results })
}

// Benchmarks writes the experiments that ended ok as CSV, in base units: the index
// columns, the settings that differ, and all results but the raw readings that the
// memory columns are computed from. With those that did not end ok stands how they ended.
func Benchmarks(w io.Writer, t table.Table, o Options) error {
	rows := t.Ended()
	columns := IndexColumns()
	if o.WithFailed {
		rows = t.Rows
		columns = append(columns, "status")
	}
	same := constants(rows)
	for _, name := range t.Columns() {
		kept := view.Matches(name, o.Keep)
		if !slices.Contains(columns, name) && (kept || benchmarked(name, rows, same)) {
			columns = append(columns, name)
		}
	}
	columns = slices.DeleteFunc(columns, func(name string) bool { return view.Matches(name, o.Drop) })
	slices.Sort(columns)
	return writeCSV(w, withResults(columns, 0, rows), rows)
}

// isStageReading reports whether the name is one of the Trainer's memory readings of
// its stages, such as train_mem_gpu_alloc_delta. They are raw data: the memory columns
// stand for them.
func isStageReading(name string) bool {
	for _, stage := range []string{"before_init_mem_", "init_mem_", "train_mem_"} {
		rest, ok := strings.CutPrefix(name, stage)
		if !ok {
			continue
		}
		side, _, _ := strings.Cut(rest, "_")
		return side == "cpu" || side == "gpu"
	}
	return false
}

func benchmarked(name string, rows []table.Row, same map[string]string) bool {
	kind, present := kindOf(name, rows)
	switch {
	case !present || kind == table.Own || name == "output_dir":
		return false
	case kind == table.Setting:
		_, constant := same[name]
		return !constant
	}
	return !isStageReading(name) && (!isAdded(name) || slices.ContainsFunc(rows, func(r table.Row) bool { return r.Text(name) != "" }))
}

// isAdded reports whether the name is a figure that the first harness did not have. Such a
// column stands only where a row has it, so that its folders give the table that they gave.
func isAdded(name string) bool {
	switch name {
	case memory.NvidiaMax, memory.NvidiaMaxOn, memory.NvidiaMean, memory.NvidiaSource, memory.Energy,
		memory.TorchReserved, memory.TorchWorstRank, memory.TorchSource:
		return true
	}
	return false
}

// kindOf returns what the column tells of. A name that is a result in any row is one.
func kindOf(name string, rows []table.Row) (kind table.Kind, present bool) {
	for _, r := range rows {
		if c, ok := r.Cell(name); ok {
			kind, present = c.Kind, true
			if kind == table.Result {
				return kind, true
			}
		}
	}
	return kind, present
}

// constants returns the settings that have one value over all rows, absence being a
// value too.
func constants(rows []table.Row) map[string]string {
	same := make(map[string]string)
	if len(rows) == 0 {
		return same
	}
	for _, c := range rows[0].Cells {
		if c.Kind == table.Setting {
			same[c.Name] = c.String()
		}
	}
	for _, r := range rows[1:] {
		for name, value := range same {
			if c, ok := r.Cell(name); !ok || c.String() != value {
				delete(same, name)
			}
		}
	}
	return same
}

func writeCSV(out io.Writer, columns []string, rows []table.Row) error {
	w := csv.NewWriter(out)
	line := make([]string, len(columns))
	for i, name := range columns {
		line[i] = valid(name)
	}
	if err := w.Write(line); err != nil {
		return err
	}
	several := ofSeveral(rows)
	for _, r := range rows {
		for i, name := range columns {
			line[i] = valid(r.Text(name))
			if several && name == resultsColumn {
				line[i] = valid(r.Results)
			}
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
