package cli

import (
	"context"
	_ "embed"
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

//go:embed demo.yaml
var demoScenarios []byte

// demoPlanned is the scenario of the demo that must run out of memory.
const demoPlanned = "too-large"

func newDemo(s System) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a small matrix with the built-in trainer, on any machine",
		Long: "Train a small language model in five experiments: two methods at two batch\n" +
			"sizes, and one that must run out of its memory limit. It needs nothing but this\n" +
			"program, and takes under half a minute.",
		Example: "  tunebench demo\n  tunebench demo -o demo_outputs",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), s, out)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for the results (default a new one among the temporary files)")
	return cmd
}

func demo(ctx context.Context, s System, out string) (err error) {
	if out == "" {
		if out, err = os.MkdirTemp("", "tunebench-demo-"); err != nil {
			return fmt.Errorf("make a folder for the demo: %w", err)
		}
	}
	scenarios, remove, err := writeDemo()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	f, err := demoFlags(s, out)
	if err != nil {
		return err
	}
	ctx, options, stop := prepareRun(ctx, s, false, nil)
	defer stop()
	plan, err := makePlan(ctx, s, scenarios, f, asker{})
	if err != nil {
		return err
	}
	options.Grace = runner.DefaultGrace
	err = runPlan(ctx, s, plan, f, options)
	var exit *exitError
	if errors.As(err, &exit) && exit.code == ExitNotAllOK {
		return asPlanned(s, plan.Experiments)
	}
	return err
}

// asPlanned accepts the demo's planned failure, and only that one.
func asPlanned(s System, planned []experiment.Experiment) error {
	for _, e := range planned {
		rec, err := record.Read(e.Dir)
		if err != nil {
			return err
		}
		want := outcome.OK
		if e.Scenario == demoPlanned {
			want = outcome.HostMemory
		}
		if rec.Outcome.Status != want {
			return &exitError{code: ExitNotAllOK, err: fmt.Errorf("%s (%s) ended %s, planned was %s", e.Name, e.Scenario, rec.Outcome.Status, want)}
		}
	}
	_, err := fmt.Fprintf(s.Stdout, "%s was planned to run out of its memory limit, and did.\n", demoPlanned)
	return err
}

// writeDemo puts the embedded scenarios where they can be read like any others.
func writeDemo() (path string, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "tunebench-scenarios-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the demo's scenarios: %w", err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	path = filepath.Join(dir, "demo.yaml")
	if err := os.WriteFile(path, demoScenarios, 0o600); err != nil {
		return "", nil, errors.Join(fmt.Errorf("write the demo's scenarios: %w", err), remove())
	}
	return path, remove, nil
}

// demoFlags are the defaults of run, as its own flags give them, on the CPU.
func demoFlags(s System, out string) (*planFlags, error) {
	f := &planFlags{}
	cmd := &cobra.Command{}
	f.add(cmd, s)
	for name, value := range map[string]string{"out": out, "num-gpus": "0", "memory": "all", "min-free": "0"} {
		if err := cmd.Flags().Set(name, value); err != nil {
			return nil, fmt.Errorf("set --%s for the demo: %w", name, err)
		}
	}
	return f, nil
}
