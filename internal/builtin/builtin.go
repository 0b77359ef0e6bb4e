// Package builtin is the built-in trainer: a small language model that is really
// trained, on any machine, without Python and without a GPU.
//
// It is there so that a first run, a demonstration and a test have an honest program
// to measure: its loss falls because it learns, its memory grows with the batch
// because activations do, and adapters need less of it because frozen weights have
// neither gradients nor moments. It runs as a child process like any other trainer
// and prints what the Hugging Face Trainer prints.
//
// In it are the command line (args, flags, settings), the embedded text, the model
// with its passes written by hand (model, linear, layers, forward, backward, matmul),
// the optimizer, the training loop, the memory stages and the output.
//
// Reading that output, watching the process and judging it are left to others: this
// package knows nothing of experiments.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// The exit codes of the trainer.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main trains a model as args say and returns the exit code: 0 after a whole
// training, 2 with a usage message on stderr if the arguments make no sense, 1 for
// any other error, and for a context that ended before the training did.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args)
	if err == nil {
		err = run(ctx, o, stdout, stderr)
	}
	var wrong usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "%sbuiltin-trainer: error: %s\n", usage(), wrong.message)
		return exitUsage
	}
	fmt.Fprintf(stderr, "builtin-trainer: %v\n", err)
	return exitFailed
}
