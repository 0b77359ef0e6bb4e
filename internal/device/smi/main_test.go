package smi

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// fakeKey makes the test binary act as nvidia-smi; its value is the way to behave.
const fakeKey = "TUNEBENCH_TEST_FAKE_SMI"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeKey); mode != "" {
		os.Exit(fake(mode, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// fakeSMI returns the test binary as an nvidia-smi that behaves in the given way.
func fakeSMI(t *testing.T, mode string) SMI {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return SMI{Path: path, Env: fakeEnv(mode)}
}

func fakeEnv(mode string) []string { return []string{fakeKey + "=" + mode} }

const fakeHeader = "timestamp, name, index, memory.used [MiB]\n"

func fake(mode string, args []string) int {
	loop := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--loop-ms=") })
	switch mode {
	case "hung":
		time.Sleep(time.Minute)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Print(fakeHeader + fakeRow(0, "4 MiB") + fakeRow(1, "4 MiB"))
		time.Sleep(time.Minute)
	case "header":
		fmt.Print(fakeHeader)
		time.Sleep(time.Minute)
	case "mismatch":
		fmt.Print("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 555.42\n")
		return 18
	case "stderr":
		fmt.Fprintln(os.Stderr, "cannot open shared object file")
		return 127
	case "unknown":
		fmt.Print("No devices were found\n")
		return 6
	case "lost":
		fmt.Print(fakeHeader + fakeRow(0, "4 MiB") + fakeRow(1, "4 MiB"))
		time.Sleep(100 * time.Millisecond)
		fmt.Print("Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.\n")
		return 15
	case "cut":
		fmt.Print(fakeHeader + fakeRow(0, "4 MiB") + fakeRow(1, "4 MiB") + "2025/03/04 10:00:02.1")
		time.Sleep(time.Minute)
	case "permission":
		fmt.Print(fakeHeader + fakeRow(0, "[Insufficient Permissions]") + fakeRow(1, "7 MiB"))
		return 0
	case "list":
		fmt.Print("0, GPU-aaaa, Example GPU 12GB, rev B\n1, [N/A], NVIDIA L4\n")
		return 0
	case "args":
		fmt.Print(fakeHeader + fmt.Sprintf("2025/03/04 10:00:01.001, %s, 0, 4 MiB\n", strings.Join(args, " ")))
		time.Sleep(time.Minute)
	case "good":
		fmt.Print(fakeHeader)
		for n := 4; ; n += 100 {
			fmt.Print(fakeRow(0, fmt.Sprint(n, " MiB")) + fakeRow(1, "5 MiB"))
			if !loop {
				return 0
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return 0
}

func fakeRow(index int, cell string) string {
	return fmt.Sprintf("%s, Fake, %d, %s\n", time.Now().Format("2006/01/02 15:04:05.000"), index, cell)
}
