package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tunebench/internal/builtin"
	"tunebench/internal/device/nvml"
	"tunebench/internal/executor/local"
	"tunebench/internal/runner"
	"tunebench/internal/trainer"
)

// newGuard is the second process that ends an experiment where tunebench was killed.
func newGuard(s System) *cobra.Command {
	return &cobra.Command{
		Use: local.GuardCommand + " TOKEN", Hidden: true,
		Short: "End a family of processes when the pipe on standard input closes without a word",
		Args:  exactly(1, "one token"),
		RunE: func(_ *cobra.Command, args []string) error {
			local.Guard(s.Stdin, args[0], runner.DefaultGrace)
			return nil
		},
	}
}

// newSampler is the process that reads NVML beside an experiment.
func newSampler(s System) *cobra.Command {
	return &cobra.Command{
		Use: nvml.Command, Hidden: true, DisableFlagParsing: true,
		Short: "Sample devices until the pipe on standard input closes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := nvml.Serve(cmd.Context(), args, s.Stdin, s.Stdout); code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
}

// newBuiltin is the built-in trainer; its arguments are its own.
func newBuiltin(s System) *cobra.Command {
	return &cobra.Command{
		Use: trainer.BuiltinCommand, Hidden: true, DisableFlagParsing: true,
		Short: "Train a small language model, as the trainer builtin does",
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := builtin.Main(cmd.Context(), args, s.Stdout, s.Stderr); code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
}

func newVersion(s System) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.Stdout, "tunebench %s %s/%s %s\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}

// version is what the build knows of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
