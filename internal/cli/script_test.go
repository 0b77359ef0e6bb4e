//go:build linux

package cli_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tunebench/internal/cli"
)

// TestMain makes the test binary a tunebench too, so that the stories below run real
// processes: tunebench, its guard and the built-in trainer are all this binary.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tunebench": func() {
			os.Exit(cli.Main(context.Background(), cli.System{
				Args: os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			}))
		},
	})
}

// TestStories runs the archives in testdata/script: each is a story told in commands,
// with the files that it needs.
func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("CUDA_VISIBLE_DEVICES", "")
			env.Setenv("LC_ALL", "C.UTF-8")
			source, err := filepath.Abs("../device/nvml/testdata/nvml.c")
			env.Setenv("FAKE_NVML", source) // for stories with devices: compile it, and name it in TUNEBENCH_NVML
			return err
		},
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// TestStoriesWithTorch runs the archives in testdata/python, whose trainers are real
// programs of torch on the processor.
func TestStoriesWithTorch(t *testing.T) {
	t.Parallel()
	python := os.Getenv("TUNEBENCH_TEST_PYTHON")
	if python == "" {
		t.Skip("needs TUNEBENCH_TEST_PYTHON: an absolute path of a Python with torch and transformers")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/python",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PYTHON", python)
			env.Setenv("CUDA_VISIBLE_DEVICES", "")
			env.Setenv("OMP_NUM_THREADS", "1")
			port, err := freePort()
			env.Setenv("PORT", port)
			return err
		},
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		RequireExplicitExec: true,
	})
}

// freePort is one that is free now, for ranks to meet at.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// exits runs a program and demands an exit code: exits 3 tunebench run ...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if want := args[0]; want != strconv.Itoa(code) {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}
