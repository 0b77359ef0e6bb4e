//go:build linux

package local_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tunebench/internal/executor/local"
	"tunebench/internal/outcome"
)

// start starts a bash script in a folder of its own.
func start(t *testing.T, script string) (*local.Process, string) {
	t.Helper()
	dir := t.TempDir()
	p, err := local.Start(local.Command{
		Argv: []string{"bash", "-c", script}, Env: os.Environ(), Dir: dir, Token: rand.Text(),
		Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"), Grace: 500 * time.Millisecond,
	})
	if err != nil {
		t.Fatalf("start %q: %v", script, err)
	}
	return p, dir
}

// read returns the content of a file that appears within a while.
func read(t *testing.T, path string) string {
	t.Helper()
	for range 500 {
		data, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(string(data), "\n") {
			return strings.TrimSpace(string(data))
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not appear", path)
	return ""
}

// gone reports whether the process whose number the file holds has ended.
func gone(t *testing.T, path string) bool {
	t.Helper()
	pid, err := strconv.Atoi(read(t, path))
	if err != nil {
		t.Fatalf("%s holds no pid: %v", path, err)
	}
	_, err = os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	return errors.Is(err, fs.ErrNotExist)
}

func TestAnExitCodeAndASignalAreToldApart(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"exit 0": "0", "exit 137": "137", "kill -SEGV $$": "SIGSEGV", "kill -KILL $$": "SIGKILL",
	} {
		p, _ := start(t, script)
		ending := p.Finish(context.Background(), context.Background())
		got := ending.Signal
		if ending.ExitCode != nil {
			got = strconv.Itoa(*ending.ExitCode)
		}
		if got != want || ending.Stopped != "" {
			t.Errorf("%s: ended with %q, stopped %q; want %q", script, got, ending.Stopped, want)
		}
	}
}

func TestAGrandchildThatOutlivesTheTrainerIsEnded(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"in the background":           `(sleep 300 & echo $! > pid) ; echo ok`,
		"in a session of its own":     `setsid bash -c 'echo $$ > pid; exec sleep 300' & while [ ! -s pid ]; do sleep 0.01; done; echo ok`,
		"that ignores SIGTERM":        `(trap "" TERM; echo $BASHPID > pid; sleep 300; sleep 300) & while [ ! -s pid ]; do sleep 0.01; done; echo ok`,
		"and keeps the output opened": `sleep 300 & echo $! > pid; echo ok`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := start(t, script)
			begin := time.Now()
			ending := p.Finish(context.Background(), context.Background())
			if ending.ExitCode == nil || *ending.ExitCode != 0 {
				t.Errorf("ending = %+v, want exit code 0", ending)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if !gone(t, filepath.Join(dir, "pid")) {
				t.Error("the grandchild still runs")
			}
			if got := read(t, filepath.Join(dir, "stdout")); got != "ok" {
				t.Errorf("stdout = %q, want ok", got)
			}
		})
	}
}

func TestACancelledContextEndsTheFamilyAndSaysWhy(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a plain child":                 `echo $$ > pid; exec sleep 300`,
		"a child with workers":          `sleep 300 & echo $! > pid; sleep 300`,
		"a child that ignores SIGTERM":  `trap "" TERM; echo $$ > pid; while :; do sleep 1; done`,
		"a worker that ignores SIGTERM": `(trap "" TERM; echo $BASHPID > pid; while :; do sleep 1; done) & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := start(t, script)
			read(t, filepath.Join(dir, "pid"))
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(local.Stop{Why: outcome.StoppedTimeout, Detail: "after 1s"})
			ending := p.Finish(ctx, context.Background())
			if ending.Stopped != outcome.StoppedTimeout || ending.StopDetail != "after 1s" {
				t.Errorf("ending = %+v, want it stopped by the timeout", ending)
			}
			if !gone(t, filepath.Join(dir, "pid")) {
				t.Error("a process of the family still runs")
			}
		})
	}
}

func TestHurryCutsTheGraceShort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := local.Start(local.Command{
		Argv: []string{"bash", "-c", `trap "" TERM; echo up; while :; do sleep 1; done`}, Env: os.Environ(), Dir: dir, Token: rand.Text(),
		Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"), Grace: 10 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	read(t, filepath.Join(dir, "stdout"))
	ctx, cancel := context.WithCancel(context.Background())
	hurry, hurryUp := context.WithCancel(context.Background())
	cancel()
	time.AfterFunc(50*time.Millisecond, hurryUp)
	begin := time.Now()
	ending := p.Finish(ctx, hurry)
	if ending.Stopped != outcome.StoppedInterrupted || ending.Signal != "SIGKILL" {
		t.Errorf("ending = %+v, want it interrupted by SIGKILL", ending)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v in spite of the hurry", took)
	}
}

func TestWhatCannotBeStartedSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.txt")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]error{
		"no-such-launcher": fs.ErrNotExist, "./no-such-script": fs.ErrNotExist, plain: fs.ErrPermission, dir: fs.ErrPermission,
	} {
		_, err := local.Start(local.Command{
			Argv: []string{program}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir,
			Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"),
		})
		if !errors.Is(err, want) {
			t.Errorf("start %s: %v, want %v", program, err, want)
		}
	}
}

func TestTheProgramIsFoundOnThePathOfTheChild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own-tool"), []byte("#!/bin/sh\necho found\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := local.Start(local.Command{
		Argv: []string{"own-tool"}, Env: []string{"PATH=/nowhere:" + dir}, Dir: dir, Grace: time.Second,
		Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Finish(context.Background(), context.Background())
	if got := read(t, filepath.Join(dir, "stdout")); got != "found" {
		t.Errorf("stdout = %q, want found", got)
	}
}

func TestTheGuardEndsTheFamilyOfAKilledTunebench(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	token := rand.Text()
	p, err := local.Start(local.Command{
		Argv: []string{"bash", "-c", `setsid sleep 300 & echo $! > pid; sleep 300`}, Env: os.Environ(), Dir: dir, Token: token,
		Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"), Grace: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	read(t, filepath.Join(dir, "pid"))
	if n := local.Guard(strings.NewReader(""), token, time.Second); n < 2 {
		t.Errorf("the guard found %d processes, want the trainer and its workers", n)
	}
	p.Finish(context.Background(), context.Background())
	if !gone(t, filepath.Join(dir, "pid")) {
		t.Error("a worker still runs")
	}
}

func TestTheGuardLeavesAFamilyAloneThatWasEndedInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	token := rand.Text()
	p, err := local.Start(local.Command{
		Argv: []string{"sleep", "300"}, Env: os.Environ(), Dir: dir, Token: token,
		Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"), Grace: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := local.Guard(strings.NewReader("done\n"), token, time.Second); n != 0 {
		t.Errorf("the guard ended %d processes, want none", n)
	}
	select {
	case <-p.Exited():
		t.Error("the trainer has ended")
	default:
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.Finish(ctx, context.Background())
}

func TestTheKernelsPeakOfResidentMemoryIsInBytes(t *testing.T) {
	t.Parallel()
	p, _ := start(t, `head -c 64M /dev/zero | tail -c 64M | wc -c`)
	p.Finish(context.Background(), context.Background())
	if bytes, ok := p.MaxRSS(); !ok || bytes < 60<<20 || bytes > 4<<30 {
		t.Errorf("MaxRSS = %d, %v; want some 64 MiB", bytes, ok)
	}
}

func TestADescendantThatGaveUpItsEnvironmentIsEndedOnceItWasSeen(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"in a session of its own": `setsid env -i bash -c 'echo $$ > pid; exec sleep 300' & while [ ! -s pid ]; do sleep 0.01; done; sleep 300`,
		"in the group":            `env -i bash -c 'echo $$ > pid; exec sleep 300' & while [ ! -s pid ]; do sleep 0.01; done; sleep 300`,
		"that ignores SIGTERM":    `setsid env -i bash -c 'trap "" TERM; echo $$ > pid; while :; do sleep 1; done' & while [ ! -s pid ]; do sleep 0.01; done; sleep 300`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := start(t, script)
			pid, err := strconv.Atoi(read(t, filepath.Join(dir, "pid")))
			if err != nil {
				t.Fatal(err)
			}
			if fresh := p.Adopt([]int{pid}); len(fresh) != 1 {
				t.Errorf("Adopt = %v, want the one process", fresh)
			}
			if again := p.Adopt([]int{pid}); len(again) != 0 {
				t.Errorf("Adopt a second time = %v, want none", again)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			p.Finish(ctx, context.Background())
			if !gone(t, filepath.Join(dir, "pid")) {
				t.Error("the descendant still runs")
			}
		})
	}
}

func TestTheGuardEndsWhatItWasToldOf(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("env", "-i", "sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := strconv.Itoa(cmd.Process.Pid) + "\nno number\n"
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if n := local.Guard(strings.NewReader(told), rand.Text(), time.Second); n != 1 {
		t.Errorf("the guard ended %d processes, want 1", n)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the process ended well, want it killed by a signal")
		}
	case <-time.After(20 * time.Second):
		t.Error("the process still runs")
	}
}
