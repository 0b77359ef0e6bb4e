package report

import (
	"slices"

	"tunebench/internal/memory"
	"tunebench/internal/table"
	"tunebench/internal/view"
)

// The least width to which the columns of free text are shortened.
const (
	minModel   = 8
	minMethod  = 8
	minWord    = 6
	minSetting = 5
)

// spec is a column of the tables for the eye: the same in a terminal and in Markdown.
type spec struct {
	name        string // of the column in raw_summary.csv
	short, long string // its heading in a terminal, and in Markdown
	right       bool
	least       int
	cell        func(line) string
}

// specs are the columns in their order, with those of the settings behind what was run and
// before what came out.
func specs(settings []string, u view.Unit, letters map[view.Source]string) []spec {
	out := []spec{
		{"experiment", "exp", "experiment", false, minWord, func(l line) string { return l.experiment }},
		{"model_name_or_path", "model", "model", false, minModel, func(l line) string { return l.model }},
		{"peft_method", "method", "method", false, minMethod, func(l line) string { return l.method }},
		{"per_device_train_batch_size", "batch", "batch", true, 0, func(l line) string { return l.batch }},
		{"num_gpus", "gpus", "GPUs", true, 0, func(l line) string { return l.gpus }},
	}
	for _, name := range settings {
		out = append(out, spec{name, plain(name), plain(name), false, minSetting, func(l line) string { return orDash(l.row.Text(name)) }})
	}
	return append(out,
		spec{"status", "status", "status", false, minWord, func(l line) string { return l.status }},
		spec{memory.NvidiaReserved, u.String(), "memory (" + u.String() + ")", true, 0, func(l line) string { return withLetter(l, letters) }},
		spec{memory.NvidiaMax, "max@device", "largest device", true, 0, func(l line) string { return orDash(l.largest) }},
		spec{"train_tokens_per_second", "tok/s", "tokens/s", true, 0, func(l line) string { return l.speed }},
		spec{"train_loss", "loss", "loss", true, 0, func(l line) string { return l.loss }},
	)
}

// visibleSpecs leaves out what was dropped, and the largest device where none has several.
func visibleSpecs(all []spec, rows []line, o Options) []spec {
	several := slices.ContainsFunc(rows, func(l line) bool { return l.largest != "" })
	return slices.DeleteFunc(all, func(s spec) bool {
		return s.name == memory.NvidiaMax && !several || view.Matches(s.name, o.Drop)
	})
}

// telling are the settings that a terminal shows: those that tell rows apart, and those
// that are to be kept.
func telling(t table.Table, o Options) []string {
	names := view.Telling(t)
	for _, s := range view.Settings(t) {
		if view.Matches(s.Name, o.Keep) && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// varying are the settings that Markdown shows: those of a terminal, and all of which two
// values are set. The scenario only names a set of settings, so it stands where they do not do.
func varying(t table.Table, o Options) []string {
	names := telling(t, o)
	for _, s := range view.Settings(t) {
		if len(s.Set()) > 1 && s.Name != "scenario" && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func withLetter(l line, letters map[view.Source]string) string {
	if letter := letters[l.of.Source]; letter != "" {
		return l.memory + " " + letter
	}
	return l.memory
}
