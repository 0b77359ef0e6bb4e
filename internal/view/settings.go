package view

import (
	"slices"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/table"
)

// Setting is a setting with what the rows say of it.
type Setting struct {
	Name   string
	Values []string // each once, in the order of the rows; an empty text is a row that does not set it
}

// Varies reports whether the setting tells rows apart.
func (s Setting) Varies() bool { return len(s.Values) > 1 }

// Set returns the values of the rows that set it.
func (s Setting) Set() []string {
	return slices.DeleteFunc(slices.Clone(s.Values), func(v string) bool { return v == "" })
}

// shown are the settings that every table has a column for, and what is no setting of an
// experiment.
func shown() []string {
	return []string{"model_name_or_path", "peft_method", "framework_config", "per_device_train_batch_size", "num_gpus", "output_dir", memory.DeviceName}
}

// Settings returns the settings that have no column of their own, by name, with their values
// over all rows whose settings are known. The scenario is among them, as the first.
func Settings(t table.Table) []Setting {
	var rows []table.Row
	for _, r := range t.Rows {
		if Described(r) {
			rows = append(rows, r)
		}
	}
	var out []Setting
	if s := (Setting{"scenario", distinct(rows, "scenario")}); len(rows) > 0 && s.Varies() {
		out = append(out, s)
	}
	for _, name := range names(rows) {
		out = append(out, Setting{name, distinct(rows, name)})
	}
	return out
}

func names(rows []table.Row) []string {
	seen := make(map[string]bool)
	for _, name := range shown() {
		seen[name] = true
	}
	var out []string
	for _, r := range rows {
		for _, c := range r.Cells {
			if c.Kind == table.Setting && !seen[c.Name] {
				out = append(out, c.Name)
			}
			seen[c.Name] = true
		}
	}
	slices.Sort(out)
	return out
}

func distinct(rows []table.Row, name string) []string {
	var values []string
	seen := make(map[string]bool)
	for _, r := range rows {
		v := r.Text(name)
		if !seen[v] {
			values = append(values, v)
		}
		seen[v] = true
	}
	return values
}

// Telling returns the names of the settings that must stand beside model, method, batch
// size and number of GPUs, so that no two rows of different settings look alike. Where the
// scenario makes it fewer columns it is among them.
func Telling(t table.Table) []string {
	var settings []Setting
	var scenario []Setting
	for _, s := range Settings(t) {
		if s.Name == "scenario" {
			scenario = append(scenario, s)
		} else if s.Varies() {
			settings = append(settings, s)
		}
	}
	without := needed(t, settings)
	with := needed(t, append(scenario, settings...))
	if len(with) < len(without) {
		return with
	}
	return without
}

// needed goes through settings in their order and takes those that tell apart what looked
// alike until then.
func needed(t table.Table, settings []Setting) []string {
	labels := make([]string, len(t.Rows))
	for i, r := range t.Rows {
		labels[i] = strings.Join([]string{r.Text("model_name_or_path"), Method(r), r.Text("per_device_train_batch_size"), r.Text("num_gpus")}, "\x00")
	}
	var names []string
	for _, s := range settings {
		if !splits(t, labels, s.Name) {
			continue
		}
		names = append(names, s.Name)
		for i, r := range t.Rows {
			labels[i] += "\x00" + r.Text(s.Name)
		}
	}
	return names
}

// splits reports whether rows of one label differ in the setting.
func splits(t table.Table, labels []string, name string) bool {
	values := make(map[string]string)
	for i, r := range t.Rows {
		if !Described(r) {
			continue
		}
		if old, seen := values[labels[i]]; seen && old != r.Text(name) {
			return true
		}
		values[labels[i]] = r.Text(name)
	}
	return false
}
