package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tunebench/internal/device/smi"
	"tunebench/internal/experiment"
	"tunebench/internal/matrix"
	"tunebench/internal/memory"
	"tunebench/internal/record"
	"tunebench/internal/report"
	"tunebench/internal/runner"
	"tunebench/internal/table"
	"tunebench/internal/unit"
)

func newRun(s System) *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "run SCENARIOS.yaml",
		Short: "Run the experiments of a scenario file",
		Long: "Run every experiment that plan shows, each as a real training process, one after\n" +
			"the other. The results are in --out after each experiment. The first Ctrl-C ends\n" +
			"the current experiment gracefully, the second at once; --resume goes on from\n" +
			"there.",
		Example: "  tunebench run scenarios.yaml --num-gpus 1,2 --batch-sizes 4,8 -o results\n" +
			"  tunebench run scenarios.yaml -o results --resume\n" +
			"  tunebench run scenarios/h200.yaml --python .venv/bin/python --batch-sizes 4,8",
		Args: exactly(1, "one scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := findSMI(s)
			if err != nil {
				return err
			}
			ctx, options, stop := prepareRun(cmd.Context(), s, f.json, found)
			defer stop()
			f.given = cmd.Flags().Changed
			plan, err := makePlan(ctx, s, args[0], f, asker{smi: found, nvml: nvmlConfig(s)})
			if err != nil {
				return err
			}
			return runPlan(ctx, s, plan, f, options)
		},
	}
	f.add(cmd, s)
	return cmd
}

// findSMI returns the nvidia-smi on PATH, or nil where there is none.
func findSMI(s System) (*smi.SMI, error) {
	found, err := smi.Find(s.Environ)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for nvidia-smi: %w", err)
	}
	return found, nil
}

// runPlan runs a plan in its folder and prints the table at the end.
func runPlan(ctx context.Context, s System, plan matrix.Plan, f *planFlags, o runner.Options) error {
	out, err := absolute(f.out)
	if err != nil {
		return err
	}
	release, err := openFolder(out, f, o)
	if err != nil {
		return err
	}
	for _, warning := range plan.Warnings {
		_, _ = fmt.Fprintln(s.Stderr, "warning:", warning)
	}
	minFree, err := unit.ParseBytes(f.minFree)
	if err != nil {
		return errors.Join(usage(err), release())
	}
	summary := table.NewGatherer(table.Options{Stages: memory.StagesSeed})
	result, err := runner.Run(ctx, plan.Experiments, runner.Loop{
		Out: out, MinFree: minFree, StopOnFailure: f.stopOnFailure,
		AfterEach: func() error { return rewrite(summary, out) },
	}, o)
	if result.EndedFor != "" {
		_, _ = fmt.Fprintln(s.Stderr, "tunebench: ended early:", result.EndedFor)
	}
	tellErr := conclude(s, summary, out, f.json)
	return errors.Join(verdict(result, err), tellErr, release())
}

// rewrite writes raw_summary.csv anew, so that a finished experiment is seen at once.
func rewrite(summary *table.Gatherer, out string) error {
	gathered, err := summary.Gather([]string{out})
	if err != nil {
		return err
	}
	return report.WriteRaw(out, gathered)
}

// conclude writes the reports and shows the table.
func conclude(s System, summary *table.Gatherer, out string, asJSON bool) error {
	gathered, err := summary.Gather([]string{out})
	if err != nil {
		return err
	}
	files := reportFiles(&reportFlags{out: out}, gathered, gathered)
	if err := writeReport(s, files); err != nil {
		return err
	}
	w := s.Stdout
	if asJSON {
		w = s.Stderr // stdout carries the events alone
	}
	if err := showTable(w, gathered, report.Options{}); err != nil {
		return err
	}
	return tellFiles(w, files, "")
}

// verdict turns the end of a run into an exit code.
func verdict(result runner.Result, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{code: ExitInterrupted, err: errors.New("interrupted; what was written is whole, go on with --resume")}
	case err != nil:
		return err
	case !result.AllOK():
		return &exitError{code: ExitNotAllOK}
	}
	return nil
}

// openFolder makes and claims the results folder. A folder with results is opened only
// with --resume or --overwrite.
func openFolder(out string, f *planFlags, o runner.Options) (release func() error, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, usage(fmt.Errorf("make the results folder (-o): %w", err))
	}
	release, err = runner.Claim(out, o)
	if err != nil {
		return nil, usage(err)
	}
	if err := settle(out, f); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// settle makes the folder fit for the plan: it refuses one with results unless the flags
// say what to do with them, and forgets only what tunebench itself has written.
func settle(out string, f *planFlags) error {
	_, taken, _, err := folders(out)
	if err != nil || f.resume {
		return err
	}
	for _, name := range taken {
		dir := filepath.Join(out, name)
		switch ours := isOurs(dir); {
		case f.overwrite && ours:
			if err := runner.Forget(dir); err != nil {
				return err
			}
		case f.overwrite && holdsResults(dir):
			return usage(fmt.Errorf("%s holds files that tunebench did not write: move it away, or choose another folder with -o", dir))
		case holdsResults(dir):
			return usage(fmt.Errorf("%s holds results (%s): go on with --resume, forget them with --overwrite, or choose another folder with -o", out, name))
		}
	}
	return nil
}

// isOurs reports whether tunebench wrote the folder: it holds an experiment's description.
func isOurs(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, experiment.FileName))
	return err == nil
}

// holdsResults reports whether anything was run in a folder, by tunebench or by another.
func holdsResults(dir string) bool {
	for _, name := range []string{record.FileName, experiment.FileName, runner.StdoutName, runner.StderrName, runner.ScriptName, runner.GPULogName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
