package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/google/renameio/v2"
)

// Save writes the description into the experiment's folder, which must exist. A
// file that was there is replaced whole or not at all.
func (e Experiment) Save() error {
	for _, arg := range append([]string{e.Dir, e.Workdir}, e.Argv...) {
		if !utf8.ValidString(arg) {
			return fmt.Errorf("writing %s: %q is not UTF-8 and would not read back the same", FileName, arg)
		}
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(e); err != nil {
		return fmt.Errorf("writing %s: %w", FileName, err)
	}
	path := filepath.Join(e.Dir, FileName)
	if err := renameio.WriteFile(path, buffer.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Load reads the description in a folder. The folder may have been moved since it
// was written: Dir is what the file says, and Relocate takes it elsewhere.
func Load(dir string) (Experiment, error) {
	path := filepath.Join(dir, FileName)
	file, err := os.Open(path)
	if err != nil {
		return Experiment{}, fmt.Errorf("reading an experiment: %w", err)
	}
	defer file.Close()
	e, err := Parse(file)
	if err != nil {
		return Experiment{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return e, nil
}

// Parse reads a description.
func Parse(r io.Reader) (Experiment, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Experiment{}, err
	}
	var e Experiment
	if err := json.Unmarshal(data, &e); err != nil {
		return Experiment{}, fmt.Errorf("not an experiment: %w", err)
	}
	switch {
	case e.Version > Version:
		return Experiment{}, fmt.Errorf("version %d is newer than this program, which knows %d", e.Version, Version)
	case e.Version < 1 || e.ID == "":
		return Experiment{}, fmt.Errorf("not an experiment: it has no version or no id")
	}
	return e, nil
}
