package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tunebench/internal/page"
	"tunebench/internal/report"
	"tunebench/internal/table"
)

// reportFile is one file of a report.
type reportFile struct {
	flag    string // that names it; -o where none did
	path    string
	content func(io.Writer) error
}

// standardOutput is the path that stands for it.
const standardOutput = "-"

// reportFiles are the files that are asked for: those with a path of their own, or else all
// in the folder. raw_summary.csv has all rows, the others those that were chosen.
func reportFiles(f *reportFlags, all, chosen table.Table) []reportFile {
	known := []struct {
		flag, path, name string
		content          func(io.Writer) error
	}{
		{"raw", f.raw, report.RawSummaryFile, func(w io.Writer) error { return report.RawSummary(w, all) }},
		{"csv", f.csv, report.BenchmarksFile, func(w io.Writer) error { return report.Benchmarks(w, chosen, f.options) }},
		{"md", f.md, report.MarkdownFile, func(w io.Writer) error { return writeAll(w, report.Markdown(chosen, f.options)) }},
		{"html", f.html, page.FileName, func(w io.Writer) error { return page.Write(w, chosen, page.Options{Unit: f.options.Unit}) }},
	}
	var named, standard []reportFile
	for _, k := range known {
		standard = append(standard, reportFile{"-o", filepath.Join(f.out, k.name), k.content})
		if k.path != "" {
			named = append(named, reportFile{"--" + k.flag, k.path, k.content})
		}
	}
	if len(named) > 0 {
		return named
	}
	return standard
}

func writeAll(w io.Writer, data []byte) error {
	_, err := w.Write(data)
	return err
}

// writeReport writes the files, each whole.
func writeReport(s System, files []reportFile) error {
	for _, file := range files {
		if file.path == standardOutput {
			if err := file.content(s.Stdout); err != nil {
				return fmt.Errorf("print what %s asks for: %w", file.flag, err)
			}
			continue
		}
		err := os.MkdirAll(filepath.Dir(file.path), 0o755)
		if err == nil {
			err = report.WriteFile(file.path, file.content)
		}
		if err != nil {
			return fmt.Errorf("%w (choose a place that can be written with %s)", err, file.flag)
		}
	}
	return nil
}

func toStdout(files []reportFile) bool {
	for _, file := range files {
		if file.path == standardOutput {
			return true
		}
	}
	return false
}

// tellFiles says what was written, the files of one folder on one line, and what was drawn.
func tellFiles(w io.Writer, files []reportFile, drawn string) error {
	var folders []string
	names := make(map[string][]string)
	for _, file := range files {
		dir, name := filepath.Split(file.path)
		if names[dir] == nil {
			folders = append(folders, dir)
		}
		names[dir] = append(names[dir], name)
	}
	text := "\n"
	for _, dir := range folders {
		text += "wrote " + dir + strings.Join(names[dir], ", ") + "\n"
	}
	if _, err := io.WriteString(w, text+drawn); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}
