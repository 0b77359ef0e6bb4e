// Package cli is the command line: commands, flags, exit codes.
//
// It alone knows every other package. It turns words into requests, hands them on, and
// turns what comes back into text, JSON and an exit code. Standard output carries the
// answer, standard error the conversation.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes, an interface to scripts.
const (
	ExitOK          = 0
	ExitFailed      = 1   // tunebench itself failed
	ExitUsage       = 2   // command line or scenario wrong, nothing was run
	ExitNotAllOK    = 3   // at least one experiment did not end ok, all were recorded
	ExitInterrupted = 130 // interrupted, what was written is whole; measure has codes of its own
)

// System is what the process was given.
type System struct {
	Args    []string // without the program's name
	Environ []string // NAME=value
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
}

// Getenv returns a variable of the environment, or nothing where it is not set.
func (s System) Getenv(name string) string {
	value, _ := s.LookupEnv(name)
	return value
}

// LookupEnv returns a variable of the environment and whether it is set.
func (s System) LookupEnv(name string) (string, bool) {
	for i := len(s.Environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(s.Environ[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// exitError carries an exit code up to Main. A nil err was already told.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the caller's: nothing was run.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: ExitUsage, err: err}
}

// Main runs one command line and returns the exit code.
func Main(ctx context.Context, s System) int {
	root := newRoot(s)
	root.SetArgs(s.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{code: ExitFailed, err: err}
	}
	if exit.err != nil {
		_, _ = fmt.Fprintf(s.Stderr, "tunebench: %v\n", exit.err) // nobody is left to tell of a broken stderr
	}
	return exit.code
}

func newRoot(s System) *cobra.Command {
	root := &cobra.Command{
		Use:   "tunebench",
		Short: "Measure what fine-tuning a language model costs",
		Long: "tunebench runs a matrix of fine-tuning experiments as real training processes\n" +
			"and measures GPU memory, host memory, tokens per second and loss, and whether\n" +
			"each one fits.",
		Example:       "  tunebench demo\n  tunebench plan scenarios.yaml --batch-sizes 4,8\n  tunebench run scenarios.yaml --num-gpus 1,2 --batch-sizes 4,8 -o results\n  tunebench report results\n  tunebench measure -- python train.py",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	root.SetFlagErrorFunc(flagError)
	// Descriptions of flags are wrapped, so that they can be read in a terminal of 80 columns.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", fmt.Sprintf("Flags.FlagUsagesWrapped %d ", plainWidth)))
	root.AddCommand(
		newRun(s), newPlan(s), newExec(s), newReplay(s), newReport(s), newWeb(s), newMeasure(s), newDevices(s), newDemo(s), newVersion(s),
		newGuard(s), newSampler(s), newBuiltin(s),
	)
	return root
}

// noCommand refuses a first word that is no command, with what may have been meant.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if near := nearest(args[0], names); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return usage(errors.New(text + "; tunebench --help lists the commands"))
}

// flagError adds to an error of a flag the flag that may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *flagOf) { names = append(names, f.Name) })
		if near := nearest(name, names); near != "" {
			text += fmt.Sprintf(" (did you mean --%s?)", near)
		}
	}
	return usage(fmt.Errorf("%s; see tunebench %s --help", text, cmd.Name()))
}

// exactly is like cobra.ExactArgs, with an error that says what is wanted.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usage(fmt.Errorf("%s wants %s, got %d arguments; see tunebench %s --help", cmd.Name(), what, len(args), cmd.Name()))
	}
}

// self returns the path of the running binary.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of tunebench: %w", err)
	}
	return path, nil
}
