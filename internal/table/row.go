package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
	"tunebench/internal/trainer"
)

// maxDescription bounds the size of an experiment.json that is read.
const maxDescription = 64 << 20

// Words for a folder without a record.
const (
	reasonNoRecord = "no results.json yet: it is running, or was cut off"
	reasonEmpty    = "the folder has neither results.json nor experiment.json"
)

// readRow makes the row of one experiment folder. It has no error: what is wrong
// becomes the row's reason or one of its notes.
func readRow(root *os.Root, name, dir string, f frameworks, o Options) Row {
	r, err := record.ReadIn(root)
	row := Row{Experiment: name, Dir: dir, Status: r.Outcome.Status, Reason: r.Outcome.Reason}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		row.Status, row.Reason, r.Experiment = described(root)
	case err != nil:
		row.Status, row.Reason = outcome.Incomplete, err.Error()
		if len(r.Experiment.Settings) == 0 {
			_, _, r.Experiment = described(root)
		}
	case r.Outcome.Status == outcome.OK:
		row.Reason = ""
	}
	row.fill(root, r, f, o)
	return row
}

// unreadable is the row of a folder that cannot be looked into.
func unreadable(name, dir, results string, err error) Row {
	row := Row{Experiment: name, Dir: dir, Results: results, Status: outcome.Incomplete, Reason: "cannot be opened: " + err.Error()}
	row.addOwn(record.Record{})
	return row
}

// described says what a folder without a readable record is known to hold.
func described(root *os.Root) (outcome.Status, string, experiment.Experiment) {
	var e experiment.Experiment
	f, ok, err := openRegular(root, experiment.FileName)
	if !ok {
		return outcome.Incomplete, reasonEmpty, e
	}
	if err == nil {
		defer f.Close()
		err = decodeDescription(f, &e)
	}
	if err != nil {
		return outcome.Incomplete, fmt.Sprintf("no results.json, and %s cannot be read: %v", experiment.FileName, err), experiment.Experiment{}
	}
	return outcome.Running, reasonNoRecord, e
}

func decodeDescription(r io.Reader, e *experiment.Experiment) error {
	data, err := io.ReadAll(io.LimitReader(r, maxDescription))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, e)
}

// finished reports whether the row cannot change unless its record does.
func (r Row) finished() bool {
	switch r.Status {
	case outcome.Running, outcome.Incomplete, outcome.Interrupted:
		return false
	}
	return true
}

// fill adds all cells. The names that are ours come first, since of two equal names
// the first stays.
func (r *Row) fill(root *os.Root, rec record.Record, f frameworks, o Options) {
	r.Notes = recordNotes(rec)
	r.addOwn(rec)
	r.addAsked(rec.Experiment, f)
	p := r.readProbe(root, rec)
	rec.Metrics = exact(rec, p)
	r.addMemory(root, rec, p, o)
	r.addMetrics(rec)
	for _, s := range rec.Experiment.Settings {
		r.addText(Setting, s.Name, strings.Join(s.Values, " "))
	}
	r.addVersions(rec, p)
	r.Notes, r.Remarks = distinct(r.Notes), distinct(r.Remarks)
	r.addText(Own, "notes", strings.Join(slices.Concat(r.gaps(), r.Notes, r.Remarks), "; "))
}

// gaps says for each result that has no number why it has none.
func (r *Row) gaps() []string {
	var gaps []string
	for _, c := range r.Cells {
		if c.Kind == Result && c.Number && !c.Value.Known() {
			gaps = append(gaps, c.Name+": "+c.Value.Gap)
		}
	}
	return gaps
}

// distinct keeps the first of equal notes.
func distinct(notes []string) []string {
	var kept []string
	for _, n := range notes {
		if !slices.Contains(kept, n) {
			kept = append(kept, n)
		}
	}
	return kept
}

func recordNotes(rec record.Record) []string {
	var notes []string
	notes = append(notes, rec.Outcome.Notes...)
	notes = append(notes, rec.Notes...)
	if rec.Watch != nil {
		notes = append(notes, rec.Watch.Notes...)
		if rec.Watch.Gap != "" && rec.Experiment.NumGPUs == 0 { // else it stands in the cell of device memory
			notes = append(notes, unlogged("", rec.Watch))
		}
	}
	notes = append(notes, rec.Host.Notes...)
	return append(notes, rec.Experiment.Warnings...)
}

func (r *Row) addOwn(rec record.Record) {
	r.addText(Own, "experiment", r.Experiment)
	r.addText(Own, "scenario", rec.Experiment.Scenario)
	r.addText(Own, "status", string(r.Status))
	code := metric.Missing("no exit status is known")
	if c := rec.Outcome.Ending.ExitCode; c != nil {
		code = metric.Of(float64(*c))
	}
	r.addNumber(Own, "exit_code", code)
	r.addText(Own, "signal", rec.Outcome.Ending.Signal)
	duration := metric.Missing("the duration was not recorded")
	if rec.Duration > 0 {
		duration = metric.Of(rec.Duration.Seconds())
	}
	r.addNumber(Own, "duration_seconds", duration)
	r.addText(Own, "error_messages", rec.Outcome.ErrorMessages)
}

// addAsked adds what was asked for beside the trainer's settings.
func (r *Row) addAsked(e experiment.Experiment, f frameworks) {
	if len(e.Settings) == 0 && e.NumGPUs == 0 && e.Framework == nil {
		return
	}
	if e.Trainer != trainer.Any { // any command at all has no way of tuning
		name, note := f.name(e.Framework)
		r.addText(Setting, "framework_config", name)
		if note != "" {
			r.Notes = append(r.Notes, note)
		}
	}
	gpus := strconv.Itoa(e.NumGPUs)
	if e.NumGPUs == 0 && e.ID == "" {
		gpus = "" // an older record that does not say it
	}
	r.addText(Setting, "num_gpus", gpus)
	if e.Trial > 0 {
		r.addText(Setting, "trial", strconv.Itoa(e.Trial))
		r.addText(Setting, "trainer", e.Trainer)
		r.addText(Own, "launcher", e.Launcher) // follows from the number of GPUs, so no setting that differs
	}
}

// addMetrics adds the trainer's final metrics. The throughput has a cell wherever the
// trainer came to its end, so that a trainer that does not print it leaves a gap.
func (r *Row) addMetrics(rec record.Record) {
	for _, m := range rec.Metrics {
		if words, ok := record.Words(m.Value); ok {
			r.addText(Result, m.Name, words)
			continue
		}
		r.addNumber(Result, m.Name, m.Value)
	}
	if r.Status == outcome.OK {
		const throughput = "train_tokens_per_second"
		r.addNumber(Result, throughput, metric.Missing("the trainer printed no "+throughput))
	}
}
