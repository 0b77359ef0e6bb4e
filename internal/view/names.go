package view

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/table"
)

// deepest is how many parts of a path a name has at the most, short of the whole path.
const deepest = 3

// Names returns what each row is called: its own name, with as much of its folder before it
// as sets it apart from all others.
func Names(t table.Table) []string {
	out := make([]string, len(t.Rows))
	for depth := 1; depth <= deepest; depth++ {
		count := make(map[string]bool)
		for i, r := range t.Rows {
			out[i] = ending(r, depth)
			count[out[i]] = true
		}
		if len(count) == len(out) {
			return out
		}
	}
	for i, r := range t.Rows { // a folder that was named twice stands twice
		out[i] = filepath.ToSlash(r.Dir)
		if slices.Contains(out[:i], out[i]) {
			out[i] += " (" + strconv.Itoa(i+1) + ")"
		}
	}
	return out
}

// ending is the end of a row's path, of that many parts; one part is the row's own name.
func ending(r table.Row, parts int) string {
	if parts == 1 {
		return r.Experiment
	}
	path := strings.Split(strings.TrimSuffix(filepath.ToSlash(r.Dir), "/"), "/")
	return strings.Join(append(path[max(0, len(path)-parts):len(path)-1], r.Experiment), "/")
}
