package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tunebench/internal/memory"
	"tunebench/internal/plot"
	"tunebench/internal/report"
	"tunebench/internal/table"
	"tunebench/internal/view"
)

// reportFlags are the flags of report.
type reportFlags struct {
	out, stages, unit       string
	csv, raw, md, html      string // paths of files, - for standard output
	plots                   string
	keep, drop, sort, where []string
	withFailed              bool

	// What parse makes of them.
	options report.Options
	choice  view.Choice
	rule    memory.Stages
}

func newReport(s System) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Gather results into tables, a page for a browser and pictures",
		Long: "Gather the experiments of one or many results folders, finished or not, whole or\n" +
			"damaged, and write raw_summary.csv, benchmarks.csv, report.md and report.html.\n" +
			"The table is printed too. Where files are named with --csv, --raw, --md or\n" +
			"--html, only these are written; - is standard output, in place of the table.\n" +
			"--where, --sort, --keep and --drop shape all but raw_summary.csv, which always\n" +
			"has everything.",
		Example: "  tunebench report results\n" +
			"  tunebench report monday tuesday -o both --sort memory\n" +
			"  tunebench report results --where method=lora --where 'model=*Llama*' --keep r\n" +
			"  tunebench report results --md - --unit MiB | gh pr comment --body-file -\n" +
			"  tunebench report results --plots plots",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("report wants one or more results folders; see tunebench report --help"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runReport(s, args, f) },
	}
	f.add(cmd)
	return cmd
}

func (f *reportFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "folder for the files (default the first results folder)")
	flags.StringVar(&f.csv, "csv", "", "write benchmarks.csv there, and only the files that are named")
	flags.StringVar(&f.raw, "raw", "", "write raw_summary.csv there, and only the files that are named")
	flags.StringVar(&f.md, "md", "", "write report.md there, and only the files that are named")
	flags.StringVar(&f.html, "html", "", "write report.html there, and only the files that are named")
	flags.StringVar(&f.plots, "plots", "", "draw pictures into this folder, as PNG and SVG")
	flags.StringVar(&f.stages, "stages", "seed", "which of the Trainer's stages enter the torch maximum: seed, train, all")
	flags.StringVar(&f.unit, "unit", "GiB", "of memory, in tables for the eye: GiB, GB, MiB or B")
	flags.StringArrayVar(&f.where, "where", nil, "show the experiments with this value only: setting=value or setting!=value, * for any text (may be repeated)")
	flags.StringSliceVar(&f.sort, "sort", nil, "columns to sort by, -column for the largest first (default: the order of the experiments)")
	flags.StringSliceVar(&f.keep, "keep", nil, "columns that stay though they have one value, * for any text")
	flags.StringSliceVar(&f.drop, "drop", nil, "columns to leave out, * for any text")
	flags.BoolVar(&f.withFailed, "with-failed", false, "benchmarks.csv has the experiments that did not end ok too, with their status")
}

// parse reads the flags that have a grammar of their own.
func (f *reportFlags) parse() error {
	var err error
	if f.rule, err = memory.ParseStages(f.stages); err != nil {
		return fmt.Errorf("--stages: %w", err)
	}
	if f.options.Unit, err = view.ParseUnit(f.unit); err != nil {
		return fmt.Errorf("--unit: %w", err)
	}
	for _, text := range f.where {
		w, err := view.ParseCondition(text)
		if err != nil {
			return fmt.Errorf("--where: %w", err)
		}
		f.choice.Where = append(f.choice.Where, w)
	}
	for _, text := range f.sort {
		k, err := view.ParseKey(text)
		if err != nil {
			return fmt.Errorf("--sort: %w", err)
		}
		f.choice.Sort = append(f.choice.Sort, k)
	}
	f.options.WithFailed = f.withFailed
	f.options.Keep, f.options.Drop = columnNames(f.keep), columnNames(f.drop)
	return nil
}

func columnNames(headings []string) []string {
	var names []string
	for _, h := range headings {
		names = append(names, view.Column(h))
	}
	return names
}

func runReport(s System, dirs []string, f *reportFlags) error {
	if err := f.parse(); err != nil {
		return usage(err)
	}
	gathered, err := table.Gather(dirs, table.Options{Stages: f.rule})
	if err != nil {
		return usage(err)
	}
	if err := gathered.Found(); err != nil {
		return usage(err)
	}
	for _, note := range gathered.Notes {
		_, _ = fmt.Fprintln(s.Stderr, "note:", note)
	}
	chosen, err := f.choose(gathered)
	if err != nil {
		return usage(err)
	}
	if f.out == "" {
		f.out = dirs[0]
	}
	files := reportFiles(f, gathered, chosen)
	if err := writeReport(s, files); err != nil {
		return usage(err)
	}
	drawn, err := drawPlots(f, chosen)
	if err != nil {
		return usage(err)
	}
	if toStdout(files) {
		return nil
	}
	if err := showTable(s.Stdout, chosen, f.options); err != nil {
		return err
	}
	return tellFiles(s.Stdout, files, drawn)
}

// drawPlots draws the pictures, if any are asked for, and says how many.
func drawPlots(f *reportFlags, t table.Table) (string, error) {
	if f.plots == "" {
		return "", nil
	}
	paths, err := plot.Write(f.plots, t, plot.Options{Unit: f.options.Unit})
	switch {
	case err != nil:
		return "", fmt.Errorf("--plots: %w", err)
	case len(paths) == 0:
		return "no pictures: no experiment has a log or a figure of memory\n", nil
	}
	return fmt.Sprintf("drew %d pictures into %s, each as PNG and SVG\n", len(paths)/2, f.plots), nil
}

// choose applies the flags that say which experiments and columns are shown.
func (f *reportFlags) choose(t table.Table) (table.Table, error) {
	chosen, err := f.choice.Choose(t)
	if err != nil {
		return chosen, withSuggestion("--where or --sort", err)
	}
	if len(chosen.Rows) == 0 && len(t.Rows) > 0 {
		return chosen, fmt.Errorf("--where: no experiment has these values (there are: %s)", view.Summary(t))
	}
	for _, columns := range []struct {
		flag     string
		patterns []string
	}{{"--keep", f.options.Keep}, {"--drop", f.options.Drop}} {
		if err := view.CheckColumns(t, columns.patterns); err != nil {
			return chosen, withSuggestion(columns.flag, err)
		}
	}
	return chosen, nil
}

// withSuggestion names the column that was most likely meant.
func withSuggestion(flag string, err error) error {
	var unknown *view.UnknownColumn
	if errors.As(err, &unknown) {
		if meant := nearest(unknown.Name, unknown.Known); meant != "" {
			return fmt.Errorf("%s: %w (did you mean %q?)", flag, err, meant)
		}
		return fmt.Errorf("%s: %w (raw_summary.csv has all in its first line)", flag, err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

func showTable(w io.Writer, t table.Table, o report.Options) error {
	if err := report.Terminal(w, t, terminalWidth(w), o); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}
