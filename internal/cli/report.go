package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tunebench/internal/memory"
	"tunebench/internal/report"
	"tunebench/internal/table"
)

func newReport(s System) *cobra.Command {
	var out, stages string
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Gather results into raw_summary.csv, benchmarks.csv and report.md",
		Long:  "Gather the experiments of one or many results folders, finished or not, whole or damaged, and\nwrite raw_summary.csv, benchmarks.csv and report.md. The table is printed too.",
		Example: "  tunebench report results\n" +
			"  tunebench report monday tuesday -o both",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("report wants one or more results folders; see tunebench report --help"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			rule, err := memory.ParseStages(stages)
			if err != nil {
				return usage(fmt.Errorf("--stages: %w", err))
			}
			if out == "" {
				out = args[0]
			}
			gathered, err := table.Gather(args, table.Options{Stages: rule})
			if err != nil {
				return usage(err)
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return usage(fmt.Errorf("make the folder for the tables (-o): %w", err))
			}
			if _, err := report.Write(out, gathered); err != nil {
				return usage(fmt.Errorf("%w (choose a folder that can be written with -o)", err))
			}
			return showTable(s.Stdout, gathered, out)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for the tables (default the first results folder)")
	cmd.Flags().StringVar(&stages, "stages", "seed", "which of the Trainer's stages enter the torch maximum: seed, train, all")
	return cmd
}
