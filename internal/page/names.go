package page

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/table"
)

// names returns what the page calls each row: its own name, with as much of its folder
// before it as sets it apart from all others.
func names(t table.Table) []string {
	whole := make([]string, len(t.Rows))
	for i, r := range t.Rows {
		whole[i] = filepath.ToSlash(r.Dir)
	}
	out := make([]string, len(t.Rows))
	for depth := 1; depth <= 3; depth++ {
		count := map[string]int{}
		for i, r := range t.Rows {
			out[i] = short(r, whole[i], depth)
			count[out[i]]++
		}
		if len(count) == len(out) {
			return out
		}
	}
	for i := range whole { // a folder that was named twice stands twice
		out[i] = whole[i]
		if at := slices.Index(whole[:i], whole[i]); at >= 0 {
			out[i] += " (" + strconv.Itoa(i+1) + ")"
		}
	}
	return out
}

// short is the end of a folder's path, of that many parts; one part is the row's own name.
func short(r table.Row, path string, depth int) string {
	if depth == 1 {
		return r.Experiment
	}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	return strings.Join(append(parts[max(0, len(parts)-depth):len(parts)-1], r.Experiment), "/")
}

// settings returns the settings that have no column of their own, by name.
func settings(t table.Table) []string {
	own := []string{"model_name_or_path", "peft_method", "framework_config", "per_device_train_batch_size", "num_gpus", "output_dir", memory.DeviceName}
	var names []string
	for _, r := range t.Rows {
		for _, c := range r.Cells {
			if c.Kind == table.Setting && !slices.Contains(own, c.Name) && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// distinct returns the values of a setting over all rows whose settings are known.
func distinct(t table.Table, name string) []string {
	var values []string
	for _, r := range t.Rows {
		if _, known := r.Cell("framework_config"); !known {
			continue
		}
		if v := r.Text(name); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return []string{""}
	}
	return values
}
