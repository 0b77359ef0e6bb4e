package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// field is a metric with its name; the value is a float64 or an int64.
type field struct {
	name  string
	value any
}

// entry is a line of metrics, in the order in which they are printed.
type entry []field

// String returns the entry as Python prints a dict.
func (e entry) String() string {
	parts := make([]string, len(e))
	for i, f := range e {
		parts[i] = fmt.Sprintf("'%s': %s", f.name, python(f.value))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// python spells a number as Python's repr does: the shortest text that reads back as
// the same number, with an exponent below 1e-4 and from 1e16 on.
func python(value any) string {
	x, ok := value.(float64)
	if !ok {
		return fmt.Sprint(value)
	}
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), "+")
	case x != 0 && (math.Abs(x) < 1e-4 || math.Abs(x) >= 1e16):
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// MarshalJSON keeps the order of the fields. JSON has no word for a number that is
// not finite, so that is written as text.
func (e entry) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range e {
		if i > 0 {
			b.WriteByte(',')
		}
		value := f.value
		if x, ok := value.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			value = python(x)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", f.name, err)
		}
		fmt.Fprintf(&b, "%q:%s", f.name, text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// state is trainer_state.json.
type state struct {
	Epoch      float64 `json:"epoch"`
	GlobalStep int     `json:"global_step"`
	LogHistory []entry `json:"log_history"`
	MaxSteps   int     `json:"max_steps"`
	Epochs     float64 `json:"num_train_epochs"`
	BatchSize  int     `json:"train_batch_size"`
}

// writeResults writes all_results.json and trainer_state.json into the output folder.
func writeResults(t *training, final entry) error {
	results := slices.Clone(final)
	slices.SortFunc(results, func(a, b field) int { return strings.Compare(a.name, b.name) })
	if err := writeJSON(filepath.Join(t.outputDir, "all_results.json"), results); err != nil {
		return err
	}
	return writeJSON(filepath.Join(t.outputDir, "trainer_state.json"), state{
		Epoch: t.epoch(), GlobalStep: t.done, LogHistory: t.history,
		MaxSteps: t.steps, Epochs: t.epochs, BatchSize: t.batch,
	})
}

// writeJSON writes beside the file and renames, so that no reader meets half of it.
func writeJSON(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return nil
}
