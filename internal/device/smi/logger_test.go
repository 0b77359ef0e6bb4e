package smi

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tunebench/internal/device"
)

func startLog(t *testing.T, mode string) (*Logger, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gpu_memory_logs.csv")
	l, err := fakeSMI(t, mode).Log(t.Context(), two(), 10*time.Millisecond, file, fakeEnv(mode))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = l.Stop() })
	return l, file
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// gone reports whether no process of that number is left, not even a zombie.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestTheLoggerRunsFromFirstRowsToStop(t *testing.T) {
	t.Parallel()
	l, file := startLog(t, "good")
	if text := read(t, file); strings.Count(text, "\n") < 3 || !strings.HasPrefix(text, fakeHeader) {
		t.Errorf("the log began with %q", text)
	}
	time.Sleep(50 * time.Millisecond)
	for range 2 {
		if exit, err := l.Stop(); exit != "" || err != nil {
			t.Errorf("Stop says %q, %v", exit, err)
		}
	}
	if !gone(l.process.cmd.Process.Pid) {
		t.Error("the process is still there")
	}
	notes, err := device.ReadLog(strings.NewReader(read(t, file)), func(device.Reading) {})
	if err != nil || notes.Readings < 4 || len(notes.Devices) != 2 {
		t.Errorf("%d readings of %v, %v", notes.Readings, notes.Devices, err)
	}
}

func TestALoggerThatEndsByItselfIsReported(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"mismatch": "exit 18: Failed to initialize NVML: Driver/library version mismatch",
		"unknown":  "exit 6: No devices were found",
		"stderr":   "exit 127: cannot open shared object file",
		"lost":     "exit 15: Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.",
		"list":     "exit 0: 0, GPU-aaaa, Example GPU 12GB, rev B",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l, _ := startLog(t, mode)
			<-l.Done()
			for range 2 {
				if exit, err := l.Stop(); exit != want || err != nil {
					t.Errorf("Stop says %q, %v; want %q", exit, err, want)
				}
			}
		})
	}
}

func TestAKilledLoggerIsReportedBySignal(t *testing.T) {
	t.Parallel()
	l, _ := startLog(t, "good")
	l.process.signal(syscall.SIGKILL)
	<-l.Done()
	if exit, _ := l.Stop(); exit != "signal 9 (killed)" {
		t.Errorf("Stop says %q", exit)
	}
}

func TestALoggerThatIgnoresTERMIsKilled(t *testing.T) {
	t.Parallel()
	l, _ := startLog(t, "deaf")
	if exit, err := l.Stop(); exit != "" || err != nil || !gone(l.process.cmd.Process.Pid) {
		t.Errorf("Stop says %q, %v; gone %v", exit, err, gone(l.process.cmd.Process.Pid))
	}
}

func TestACutRowStaysInTheLogAndIsNoData(t *testing.T) {
	t.Parallel()
	l, file := startLog(t, "cut")
	if _, err := l.Stop(); err != nil {
		t.Error(err)
	}
	notes, _ := device.ReadLog(strings.NewReader(read(t, file)), func(device.Reading) {})
	if notes.Readings != 2 || notes.Error != nil {
		t.Errorf("%d readings, error %v", notes.Readings, notes.Error)
	}
}

func TestWaitingForTheFirstRowsEndsWithTheContext(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"hung", "header"} {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		_, err := fakeSMI(t, mode).Log(ctx, two(), time.Second, filepath.Join(t.TempDir(), "log"), fakeEnv(mode))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v", mode, err)
		}
	}
}

func TestLogSaysWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		smi     SMI
		devices []device.Device
		file    string
		want    string
	}{
		"a missing program": {SMI{Path: "/no/such/nvidia-smi"}, two(), filepath.Join(dir, "a"), "no such file"},
		"a missing folder":  {fakeSMI(t, "good"), two(), filepath.Join(dir, "b", "c"), "no such file"},
		"no device":         {fakeSMI(t, "good"), nil, filepath.Join(dir, "d"), "no device"},
		"a MIG slice":       {fakeSMI(t, "good"), []device.Device{{Index: -1, UUID: "MIG-1"}}, filepath.Join(dir, "e"), "MIG slice (MIG-1)"},
	} {
		_, err := tc.smi.Log(t.Context(), tc.devices, time.Second, tc.file, nil)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

func TestTheCommandLineAndTheOldFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("of an earlier run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	devices := []device.Device{{Index: 5, UUID: "GPU-aaaa"}, {Index: 2}}
	l, err := fakeSMI(t, "args").Log(t.Context(), devices[:1], 1500*time.Millisecond, file, fakeEnv("args"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = l.Stop() }()
	text := read(t, file)
	want := "--query-gpu=timestamp,name,index,memory.used --format=csv --id=GPU-aaaa --loop-ms=1500"
	if !strings.Contains(text, want) || strings.Contains(text, "earlier") {
		t.Errorf("log %q, want %q in it", text, want)
	}
	if got, _ := ids(devices); got != "GPU-aaaa,2" {
		t.Errorf("ids %q", got)
	}
}
