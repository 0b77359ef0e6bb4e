// Command tunebench measures what fine-tuning a language model costs.
package main

import (
	"context"
	"os"

	"tunebench/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.System{
		Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin,
	}))
}
