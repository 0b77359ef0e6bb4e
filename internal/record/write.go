package record

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"tunebench/internal/metric"
	"tunebench/internal/outcome"
)

// structuredKey is the key of the flat object under which the whole record stands.
const structuredKey = "tunebench"

// Write puts the record into dir as results.json. The file appears whole or not at
// all: it is written beside its place, flushed to the disk, and then renamed.
func Write(dir string, r Record) error {
	data, err := Format(r)
	if err != nil {
		return fmt.Errorf("write the record of %s: %w", dir, err)
	}
	path := filepath.Join(dir, FileName)
	if err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("write the record of %s: %w", dir, err)
	}
	return nil
}

// Format returns the text of results.json. It is valid JSON and valid UTF-8 whatever
// the trainer printed: a value is finite or a gap, and bytes that are no UTF-8 become
// replacement characters.
func Format(r Record) ([]byte, error) {
	if r.Version == 0 {
		r.Version = Version
	}
	var o object
	o.addReserved(r)
	for _, m := range r.Metrics {
		o.add(m.Name, flatMetric(m.Value))
	}
	for _, s := range r.Experiment.Settings {
		o.add(s.Name, strings.Join(s.Values, " "))
	}
	o.force(structuredKey, r)
	return o.bytes()
}

// addReserved adds the keys that no setting and no metric may overwrite. They come
// first, since the first of two equal names stays.
func (o *object) addReserved(r Record) {
	o.add("experiment", r.Experiment.Name)
	o.add("scenario", r.Experiment.Scenario)
	o.add("status", string(r.Outcome.Status))
	o.add("exit_code", r.Outcome.Ending.ExitCode)
	o.add("signal", textOrNull(r.Outcome.Ending.Signal))
	o.add("duration_seconds", r.Duration.Seconds())
	o.add("num_gpus", r.Experiment.NumGPUs)
	o.reserve(structuredKey)
	// These two are reserved even where they are not written: a setting of that name
	// would be taken for a framework file or for a failure.
	o.reserve(frameworkKey, errorsKey)
	if f := r.Experiment.Framework; f != nil {
		o.force(frameworkKey, f.Path)
	}
	if text := failureText(r.Outcome); text != "" {
		o.force(errorsKey, []string{text})
	}
}

// failureText is what the first harness's readers look for in a failed run; where the
// log said nothing, the reason stands in, so that no failure reads as a result.
func failureText(o outcome.Outcome) string {
	switch {
	case o.Status == outcome.OK:
		return ""
	case o.ErrorMessages != "":
		return o.ErrorMessages
	case o.Reason != "":
		return o.Reason
	}
	return string(o.Status)
}

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// flatMetric is a number, null for a number that is not finite or was not printed,
// and the text of anything else.
func flatMetric(v metric.Value) any {
	if v.Known() {
		return v.Number
	}
	if words, ok := Words(v); ok {
		return words
	}
	return nil
}

// Words returns the text of a metric that is none of numbers: True, cosine. ok is
// false for a number, for one that is not finite, and for one that is not there.
func Words(v metric.Value) (text string, ok bool) {
	_, err := strconv.ParseFloat(v.Text, 64)
	if v.Known() || v.Text == "" || v.Text == "None" || err == nil || strings.HasPrefix(v.Gap, "not finite") {
		return "", false
	}
	return v.Text, true
}
