package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tunebench/internal/experiment"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
	"tunebench/internal/runner"
)

func newExec(s System) *cobra.Command {
	var asJSON, overwrite bool
	cmd := &cobra.Command{
		Use:   "exec DIR",
		Short: "Run the one experiment that DIR/experiment.json describes",
		Long: "Run the experiment of a folder with its samplers and write DIR/results.json. A\n" +
			"cluster's job runs this; run does the same for each experiment of a plan.",
		Example: "  tunebench exec results/exp_3",
		Args:    exactly(1, "one experiment's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := experiment.Load(args[0])
			if err != nil {
				return usage(err)
			}
			if err := runner.CheckSecrets(e, s.Environ); err != nil {
				return usage(err)
			}
			if rec, err := record.Read(args[0]); err == nil && rec.Final() && !overwrite {
				return usage(fmt.Errorf("%s has a record (%s): forget it with --overwrite, or run it into a new folder with replay", args[0], rec.Outcome.Status))
			}
			return execDir(cmd.Context(), s, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as JSON lines")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "run it although it has a record, which is forgotten")
	return cmd
}

// execDir runs the experiment of a folder and shows its outcome through the exit code.
func execDir(ctx context.Context, s System, dir string, asJSON bool) error {
	found, err := findSMI(s)
	if err != nil {
		return err
	}
	ctx, options, stop := prepareRun(ctx, s, asJSON, found)
	defer stop()
	rec, err := runner.Exec(ctx, dir, options)
	if err != nil {
		var held *runner.HeldError
		if errors.As(err, &held) {
			return usage(err)
		}
		return err
	}
	return statusError(rec)
}

func statusError(rec record.Record) error {
	switch rec.Outcome.Status {
	case outcome.OK:
		return nil
	case outcome.Interrupted:
		return &exitError{code: ExitInterrupted}
	default:
		return &exitError{code: ExitNotAllOK}
	}
}

func newReplay(s System) *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "replay DIR",
		Short:   "Run a recorded experiment again, into a new folder",
		Example: "  tunebench replay results/exp_3\n  tunebench replay results/exp_3 -o again",
		Args:    exactly(1, "one experiment's folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := experiment.Load(args[0])
			if err != nil {
				return usage(err)
			}
			if err := runner.CheckSecrets(e, s.Environ); err != nil {
				return usage(err)
			}
			for _, name := range e.Withheld() {
				_, _ = fmt.Fprintf(s.Stderr, "%s: its value is not recorded, that of your environment is used\n", name)
			}
			dir, err := replayFolder(args[0], out)
			if err != nil {
				return err
			}
			if err := e.Relocate(dir).Save(); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(s.Stderr, "replaying %s into %s\n", args[0], dir)
			return execDir(cmd.Context(), s, dir, asJSON)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the new folder (default beside the results folder, with -replay-N behind its name)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as JSON lines")
	return cmd
}

// replayFolder makes the new folder; one that holds an experiment is refused.
func replayFolder(dir, out string) (string, error) {
	if out == "" {
		here, err := absolute(filepath.Clean(dir))
		if err != nil {
			return "", err
		}
		// Not in the results folder: a replay is no experiment of its matrix.
		out = freeName(filepath.Dir(here) + "-" + filepath.Base(here) + "-replay-")
	}
	abs, err := absolute(out)
	if err != nil {
		return "", err
	}
	if holdsResults(abs) {
		return "", usage(fmt.Errorf("%s holds an experiment already: choose another folder with -o", out))
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", usage(fmt.Errorf("make the new folder (-o): %w", err))
	}
	return abs, nil
}

func freeName(stem string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s%d", stem, n)
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name
		}
	}
}
