// Package report turns a table of experiments into what people and programs read.
//
// It has the two CSV files, the table for a terminal, and the same table as Markdown
// for a pull request. Figures are scaled only for the eye: files for programs hold
// base units. What the rows hold is left to package table.
package report

import (
	"fmt"
	"path/filepath"

	"github.com/google/renameio/v2"

	"tunebench/internal/table"
)

// The files of a report.
const (
	RawSummaryFile = "raw_summary.csv"
	BenchmarksFile = "benchmarks.csv"
	MarkdownFile   = "report.md"
)

// Write puts all files of the report into dir and returns their paths.
func Write(dir string, t table.Table) ([]string, error) {
	files := []struct {
		name   string
		format func(table.Table) ([]byte, error)
	}{
		{RawSummaryFile, RawSummary},
		{BenchmarksFile, Benchmarks},
		{MarkdownFile, func(t table.Table) ([]byte, error) { return Markdown(t), nil }},
	}
	var paths []string
	for _, f := range files {
		path, err := replace(dir, f.name, f.format, t)
		if err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// WriteRaw puts raw_summary.csv alone into dir: what a run does after each experiment.
func WriteRaw(dir string, t table.Table) error {
	_, err := replace(dir, RawSummaryFile, RawSummary, t)
	return err
}

// replace writes one file of the report whole, so a reader never meets half of one.
func replace(dir, name string, format func(table.Table) ([]byte, error), t table.Table) (string, error) {
	data, err := format(t)
	if err != nil {
		return "", fmt.Errorf("make %s: %w", name, err)
	}
	path := filepath.Join(dir, name)
	if err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(dir)); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}
