package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tunebench/internal/experiment"
	"tunebench/internal/matrix"
	"tunebench/internal/record"
	"tunebench/internal/report"
	"tunebench/internal/scenario"
)

func newPlan(s System) *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:     "plan SCENARIOS.yaml",
		Short:   "Print the experiments of a scenario file; touch nothing",
		Example: "  tunebench plan scenarios.yaml --num-gpus 1,2 --batch-sizes 4,8 --gpus 0,1\n  tunebench plan scenarios.yaml --only standard-peft --json | jq '.[].argv'",
		Args:    exactly(1, "one scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			plan, err := makePlan(cmd.Context(), s, args[0], f, asker{planning: true, nvml: nvmlConfig(s)})
			if err != nil {
				return err
			}
			return printPlan(s, plan, f.json)
		},
	}
	f.add(cmd, s)
	return cmd
}

func printPlan(s System, plan matrix.Plan, asJSON bool) error {
	for _, warning := range plan.Warnings {
		_, _ = fmt.Fprintln(s.Stderr, "warning:", warning)
	}
	if asJSON {
		enc := json.NewEncoder(s.Stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(plan.Experiments); err != nil {
			return fmt.Errorf("print the plan: %w", err)
		}
		return nil
	}
	if err := report.Plan(s.Stdout, plan.Experiments, terminalWidth(s.Stdout)); err != nil {
		return fmt.Errorf("print the plan: %w", err)
	}
	return nil
}

// makePlan reads the files and unfolds the matrix. Every mistake that it
// finds is in the error, and then nothing was touched.
func makePlan(ctx context.Context, s System, path string, f *planFlags, ask asker) (matrix.Plan, error) {
	if err := f.check(); err != nil {
		return matrix.Plan{}, usage(err)
	}
	req, problems, err := request(path, f)
	if err != nil {
		return matrix.Plan{}, usage(err)
	}
	seen, err := ask.devices(ctx, s, f.gpus, f.source)
	if err != nil {
		return matrix.Plan{}, err
	}
	req.Devices, req.DevicesKnown, req.Sampling.NoDevices = seen.entries, seen.known, seen.gap
	req.NumGPUs = numGPUs(f.numGPUs, seen)
	req.UserDeviceOrder = s.Getenv("CUDA_DEVICE_ORDER")
	var plan matrix.Plan
	if len(problems) == 0 || len(req.Scenarios.Scenarios) > 0 {
		var more []scenario.Problem // of what could be read, so that all is told at once
		plan, more = matrix.Unfold(req)
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		return matrix.Plan{}, usage(mistakes(problems))
	}
	plan.Warnings = slices.Concat(plan.Warnings, seen.warnings, f.ignored(req.Scenarios, plan))
	return placed(plan, req.Out, f)
}

// request reads the files that the flags name.
func request(path string, f *planFlags) (req matrix.Request, problems []scenario.Problem, err error) {
	req, err = requestFromFlags(f)
	if err != nil {
		return req, nil, err
	}
	var found []scenario.Problem
	req.Scenarios, found = scenario.ReadScenarios(path)
	problems = append(problems, found...)
	folder := filepath.Dir(path)
	if file := beside(f.defaults, "defaults.yaml", folder); file != "" {
		req.Defaults, found = scenario.ReadDefaults(file)
		problems = append(problems, found...)
	}
	if file := beside(f.frameworks, "CONTENTS.yaml", folder, "."); file != "" {
		req.Frameworks, found = scenario.ReadFrameworks(file)
		problems = append(problems, found...)
	}
	req.AccelerateConfig, err = absolute(beside(f.accelerate, "accelerate.yaml", folder))
	return req, problems, err
}

func requestFromFlags(f *planFlags) (matrix.Request, error) {
	req := matrix.Request{
		Only: f.only, BatchSizes: f.batchSizes, Packing: f.packing, MaxSeqLen: f.maxSeqLen,
		Trainer: f.trainer, Launcher: f.launcher, Python: f.python, Port: f.port,
		Timeout: f.timeout, Stall: f.stall,
	}
	var err error
	if req.Sampling, err = f.sampling(); err != nil {
		return req, err
	}
	if req.Self, err = self(); err != nil {
		return req, err
	}
	if req.Workdir, err = os.Getwd(); err != nil {
		return req, fmt.Errorf("find the working folder: %w", err)
	}
	if req.Out, err = absolute(f.out); err != nil {
		return req, err
	}
	req.DataFile, err = absolute(f.data)
	return req, err
}

// numGPUs is --num-gpus, or what the devices suggest.
func numGPUs(given []int, seen visible) []int {
	switch {
	case len(given) > 0:
		return given
	case len(seen.entries) == 0:
		return []int{0}
	}
	return []int{1}
}

// mistakes joins problems to one error, a line each.
func mistakes(problems []scenario.Problem) error {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Error()
	}
	if len(lines) == 1 {
		return errors.New(lines[0])
	}
	return fmt.Errorf("%d mistakes, nothing was run:\n  %s", len(lines), strings.Join(lines, "\n  "))
}

// placed gives each experiment its folder: the one that holds it already, else a new one.
func placed(plan matrix.Plan, out string, f *planFlags) (matrix.Plan, error) {
	if f.overwrite {
		return plan, nil
	}
	known, taken, damaged, err := folders(out)
	if err != nil {
		return plan, err
	}
	plan.Warnings = append(plan.Warnings, damaged...)
	if !f.resume {
		known, taken = nil, nil // run refuses such a folder; plan shows what a new one would hold
	}
	return plan.Place(known, taken), nil
}

// folders returns the experiments' folders in out: by identity, and all names. A folder
// whose description is damaged is known by its record; what cannot be read is named.
func folders(out string) (byID map[string]string, taken, damaged []string, err error) {
	entries, err := os.ReadDir(out)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil, nil
	}
	if err != nil {
		return nil, nil, nil, usage(fmt.Errorf("look into the results folder (-o): %w", err))
	}
	byID = map[string]string{}
	for _, entry := range entries {
		if _, ok := experiment.Number(entry.Name()); !ok || !entry.IsDir() {
			continue
		}
		taken = append(taken, entry.Name())
		id, err := identityOf(filepath.Join(out, entry.Name()))
		if err != nil {
			damaged = append(damaged, err.Error())
		}
		if id != "" {
			byID[id] = entry.Name()
		}
	}
	slices.Sort(taken)
	return byID, taken, damaged, nil
}

// identityOf returns the identity of a folder's experiment, or nothing where it holds none.
func identityOf(dir string) (string, error) {
	e, err := experiment.Load(dir)
	if err == nil {
		return e.ID, nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if rec, recErr := record.Read(dir); recErr == nil {
		return rec.Experiment.ID, fmt.Errorf("%w; its record says which experiment it is", err)
	}
	return "", fmt.Errorf("%w; the folder is left alone", err)
}
