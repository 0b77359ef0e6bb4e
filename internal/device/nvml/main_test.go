//go:build linux && !nonvml

package nvml

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tunebench/internal/device"
)

// TestMain makes the test binary its own child: with the hidden command as its argument
// it samples, as tunebench does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		os.Exit(Serve(context.Background(), os.Args[2:], os.Stdin, os.Stdout))
	}
	dir, err := os.MkdirTemp("", "fake-nvml")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	exit := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(exit)
}

// built are the fake libraries, each compiled once.
var built struct {
	mu  sync.Mutex
	dir string
}

// fake compiles the fake library, with flags, and returns its path.
func fake(t testing.TB, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler named cc on PATH, to build a fake libnvidia-ml.so.1")
	}
	built.mu.Lock()
	defer built.mu.Unlock()
	so := filepath.Join(built.dir, fmt.Sprint("libnvidia-ml", len(flags), ".so.1"))
	if _, err := os.Stat(so); err == nil {
		return so
	}
	args := append([]string{"-shared", "-fPIC", "-O1", "-o", so, "testdata/nvml.c"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Skipf("needs a C compiler that builds shared libraries: %v: %s", err, out)
	}
	return so
}

// config is one for the fake library with the variables set.
func config(t testing.TB, env ...string) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Self: self, Library: fake(t), Interval: 5 * time.Millisecond, Dir: t.TempDir(),
		Env: append(os.Environ(), env...),
	}
}

// watch starts a logger, lets it run and stops it.
func watch(t testing.TB, c Config, d time.Duration) (ready, end device.Summary) {
	t.Helper()
	l, err := StartLogger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ready = l.Latest()
	select {
	case <-l.Done():
	case <-time.After(d):
	}
	return ready, l.Stop(5 * time.Second)
}

// watchUntil runs a logger until it has seen what is wanted, however slow the machine is.
func watchUntil(t testing.TB, c Config, wanted func(device.Summary) bool) (end device.Summary) {
	t.Helper()
	l, err := StartLogger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); !wanted(l.Latest()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it was not seen within 30 s: %+v", l.Latest())
		}
	}
	return l.Stop(5 * time.Second)
}

// read returns the readings of the log that the child wrote, and what the log says
// beside them.
func read(t testing.TB, c Config) ([]device.Reading, device.LogNotes) {
	t.Helper()
	f, err := os.Open(filepath.Join(c.Dir, "gpu_memory_logs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []device.Reading
	notes, err := device.ReadLog(f, func(r device.Reading) { all = append(all, r) })
	if err != nil {
		t.Fatal(err)
	}
	return all, notes
}
