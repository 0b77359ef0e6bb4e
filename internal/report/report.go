// Package report turns a table of experiments into what people and programs read.
//
// It has the two CSV files, the table for a terminal, and the same table as Markdown
// for a pull request. Figures are scaled only for the eye: files for programs hold
// base units. What the rows hold is left to package table, how they are told alike
// everywhere to package view, and the page for a browser to package page.
package report

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/renameio/v2"

	"tunebench/internal/table"
	"tunebench/internal/view"
)

// The files of a report, without the page.
const (
	RawSummaryFile = "raw_summary.csv"
	BenchmarksFile = "benchmarks.csv"
	MarkdownFile   = "report.md"
)

// Options says what tables show.
type Options struct {
	Unit       view.Unit // of memory, for the eye
	Keep       []string  // columns that stay though all rows have one value there; * stands for any text
	Drop       []string  // columns that are left out, but of raw_summary.csv
	WithFailed bool      // benchmarks.csv has what did not end ok too
}

// WriteRaw puts raw_summary.csv into dir: what a run does after each experiment.
func WriteRaw(dir string, t table.Table) error {
	return WriteFile(filepath.Join(dir, RawSummaryFile), func(w io.Writer) error { return RawSummary(w, t) })
}

// WriteFile writes a file of a report whole, so a reader never meets half of one.
func WriteFile(path string, content func(io.Writer) error) error {
	pending, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = pending.Cleanup() }() // nothing is left to clean up once it has replaced the old file
	out := bufio.NewWriter(pending)
	if err := content(out); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
