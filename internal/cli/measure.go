package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"tunebench/internal/device"
	"tunebench/internal/executor/local"
	"tunebench/internal/experiment"
	"tunebench/internal/outcome"
	"tunebench/internal/progress"
	"tunebench/internal/record"
	"tunebench/internal/report"
	"tunebench/internal/runner"
	"tunebench/internal/table"
)

// The exit codes of measure for its own failures, as env(1) and timeout(1) have them;
// all others are the command's.
const (
	exitMeasureFailed  = 125
	exitNotExecutable  = 126
	exitNotFound       = 127
	exitSignalledAbove = 128
)

func newMeasure(s System) *cobra.Command {
	f := &planFlags{}
	var out string
	cmd := &cobra.Command{
		Use:   "measure [flags] -- COMMAND...",
		Short: "Run any command and say what memory it took",
		Long: "Run a command with the samplers, the probe and the ledger of run around it, like\n" +
			"time -v for GPUs. Its standard input, output and error output are untouched; the\n" +
			"figures follow on standard error after its end. The exit code is the command's\n" +
			"own, 125 where tunebench failed, 126 where the command is not executable, 127\n" +
			"where it is not found, 128+n where signal n ended it.",
		Example: "  tunebench measure -- python train.py --batch 8\n  tunebench measure -o measured --interval 10ms -- torchrun train.py",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &exitError{code: exitMeasureFailed, err: errors.New("measure wants a command, such as tunebench measure -- python train.py")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return measure(cmd.Context(), s, args, out, f)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return asMeasureFailure(flagError(cmd, err)) })
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder for the record, an experiment's folder (default: none is kept)")
	cmd.Flags().StringVar(&f.gpus, "gpus", "auto", "devices to watch and to show the command: auto (all that are visible), or numbers among these, or UUIDs")
	addSampling(cmd.Flags(), s, f)
	return cmd
}

func measure(ctx context.Context, s System, argv []string, out string, f *planFlags) error {
	ctx, started, stop := untilStarted(ctx)
	defer stop()
	m, cleanUp, err := measurement(ctx, s, argv, out, f)
	if err != nil {
		return asMeasureFailure(err)
	}
	defer cleanUp()
	if ctx.Err() != nil {
		return brokenOff(ctx)
	}
	listener := &quiet{w: s.Stderr}
	m.Started = func() { listener.hold(); started() }
	options, err := measureOptions(s, listener)
	if err != nil {
		return asMeasureFailure(err)
	}
	rec, err := runner.Measure(ctx, m, options)
	listener.release()
	if err != nil {
		return asMeasureFailure(err)
	}
	if neverStarted(rec) {
		return brokenOff(ctx)
	}
	if err := showMeasured(s, m.Dir); err != nil {
		return asMeasureFailure(err)
	}
	return measuredExit(rec)
}

// neverStarted reports whether a signal came before the command was started.
func neverStarted(rec record.Record) bool {
	e := rec.Outcome.Ending
	return e.Stopped == outcome.StoppedInterrupted && e.ExitCode == nil && e.Signal == "" && e.StartError == ""
}

// brokenOff is the end of a measurement whose command was not started, since a signal came.
func brokenOff(ctx context.Context) error {
	code := ExitInterrupted
	var got signalled
	if errors.As(context.Cause(ctx), &got) {
		code = exitSignalledAbove + int(got.by)
	}
	return &exitError{code: code, err: errors.New("interrupted before the command was started")}
}

func asMeasureFailure(err error) error { return &exitError{code: exitMeasureFailed, err: err} }

func measureOptions(s System, listener progress.Listener) (runner.Options, error) {
	found, err := findSMI(s)
	if err != nil {
		return runner.Options{}, err
	}
	path, err := self()
	if err != nil {
		return runner.Options{}, err
	}
	return runner.Options{
		Self: path, Version: version(), Environ: s.Environ, SMI: found, NVML: s.Getenv(nvmlVariable), Listener: listener,
	}, nil
}

// measurement turns the flags into a request; cleanUp removes a folder that nobody asked to keep.
func measurement(ctx context.Context, s System, argv []string, out string, f *planFlags) (m runner.Measurement, cleanUp func(), err error) {
	sampling, err := measureSampling(f)
	if err != nil {
		return m, nil, err
	}
	seen, err := watchedDevices(ctx, s, f)
	if err != nil {
		return m, nil, err
	}
	sampling.NoDevices = seen.gap
	for _, warning := range seen.warnings {
		_, _ = fmt.Fprintln(s.Stderr, "warning:", warning)
	}
	stdio, err := standardFiles(s)
	if err != nil {
		return m, nil, err
	}
	dir, cleanUp, err := measureFolder(out)
	if err != nil {
		return m, nil, err
	}
	name := ""
	if out == "" {
		name = "the command" // its folder's name tells nobody anything
	}
	return runner.Measurement{
		Argv: argv, Name: name, Dir: dir, Devices: seen.entries, Env: measureEnv(s, f, seen), Sampling: sampling, Stdio: stdio,
	}, cleanUp, nil
}

// measureSampling returns what the flags say is watched. The tracker is a setting of the
// Trainer, which only the command itself can give: asked for by name it is refused, and of
// all it is no part.
func measureSampling(f *planFlags) (experiment.Sampling, error) {
	sampling, err := f.sampling()
	if err != nil {
		return sampling, err
	}
	tracker := func(kind string) bool { return kind == experiment.MemoryTracker }
	if f.memory != memoryAll && slices.ContainsFunc(sampling.Memory, tracker) {
		return sampling, fmt.Errorf("--memory (or MEMORY_LOGGING) %q: measure cannot switch on the Trainer's own tracker, "+
			"huggingface (leave the word out, and give your command --skip_memory_metrics False)", f.memory)
	}
	sampling.Memory = slices.DeleteFunc(sampling.Memory, tracker)
	return sampling, nil
}

// watchedDevices returns the devices that the flags name.
func watchedDevices(ctx context.Context, s System, f *planFlags) (visible, error) {
	found, err := findSMI(s)
	if err != nil {
		return visible{}, err
	}
	return asker{smi: found, nvml: nvmlConfig(s)}.devices(ctx, s, f.gpus, f.source)
}

// measureEnv is what is set on top of the command's environment: the order of devices
// in which tunebench counts, and the devices where the caller chose some.
func measureEnv(s System, f *planFlags, seen visible) map[string]string {
	env := map[string]string{"CUDA_DEVICE_ORDER": cmp.Or(s.Getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID")}
	if f.gpus != "auto" {
		env["CUDA_VISIBLE_DEVICES"] = device.Visible{Entries: seen.entries}.Join(len(seen.entries))
	}
	return env
}

// standardFiles returns the files to hand to the command untouched.
func standardFiles(s System) (local.Stdio, error) {
	in, isFile := s.Stdin.(*os.File)
	out, outIsFile := s.Stdout.(*os.File)
	errs, errsIsFile := s.Stderr.(*os.File)
	if !isFile || !outIsFile || !errsIsFile {
		return local.Stdio{}, errors.New("measure hands its standard files on, which must be files")
	}
	return local.Stdio{In: in, Out: out, Err: errs}, nil
}

func measureFolder(out string) (dir string, cleanUp func(), err error) {
	if out == "" {
		if dir, err = runner.TemporaryFolder(); err != nil {
			return "", nil, err
		}
		return dir, func() { _ = os.RemoveAll(dir) }, nil // the next measurement tries again
	}
	if dir, err = absolute(out); err != nil {
		return "", nil, err
	}
	if holdsResults(dir) {
		return "", nil, fmt.Errorf("%s holds an experiment already: choose another folder with -o", out)
	}
	return dir, func() {}, nil
}

// showMeasured writes the figures to standard error.
func showMeasured(s System, dir string) error {
	gathered, err := table.Gather([]string{dir}, table.Options{})
	if err != nil {
		return err
	}
	for _, row := range gathered.Rows {
		if err := report.Measured(s.Stderr, row, terminalWidth(s.Stderr)); err != nil {
			return fmt.Errorf("print the figures: %w", err)
		}
	}
	return nil
}

// measuredExit passes the command's own end on.
func measuredExit(rec record.Record) error {
	ending := rec.Outcome.Ending
	switch {
	case ending.StartError != "":
		code := exitMeasureFailed
		switch rec.StartFailure {
		case record.NotFound:
			code = exitNotFound
		case record.NotExecutable:
			code = exitNotExecutable
		}
		return &exitError{code: code, err: errors.New(ending.StartError)}
	case ending.Signal != "":
		return &exitError{code: exitSignalledAbove + int(unix.SignalNum(ending.Signal))}
	case ending.ExitCode != nil && *ending.ExitCode != 0:
		return &exitError{code: *ending.ExitCode}
	case rec.Outcome.Status == outcome.Interrupted:
		return &exitError{code: ExitInterrupted}
	}
	return nil
}
