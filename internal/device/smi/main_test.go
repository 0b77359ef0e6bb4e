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
	case "survey", "old", "ancient", "unified", "mig", "apps denied":
		return fakeSurvey(mode, args)
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

// fakeSurvey answers the queries of a survey.
func fakeSurvey(mode string, args []string) int {
	query := args[0]
	unknown := map[string]string{"old": "memory.reserved", "ancient": "mig.mode.current"}[mode]
	switch {
	case unknown != "" && strings.Contains(query, unknown):
		fmt.Printf("Field %q is not a valid field to query.\n\n", unknown)
		return 2
	case mode == "ancient" && strings.Contains(query, "memory.reserved"):
		fmt.Print("Field \"memory.reserved\" is not a valid field to query.\n\n")
		return 2
	case strings.HasPrefix(query, "--query-compute-apps") && mode == "apps denied":
		fmt.Print("Insufficient Permissions\n")
		return 4
	case strings.HasPrefix(query, "--query-compute-apps"):
		fmt.Print("GPU-aaaa, 41, 5000\nGPU-aaaa, 42, [N/A]\n")
	case query == "--list-gpus":
		fmt.Print("GPU 0: NVIDIA A100 (UUID: GPU-aaaa)\n  MIG 1g.5gb      Device  0: (UUID: MIG-1)\n  MIG 3g.20gb     Device  1: (UUID: MIG-2)\n")
	default:
		for _, row := range fakeDevices(mode) {
			var cells []string
			for _, field := range strings.Split(strings.TrimPrefix(query, "--query-gpu="), ",") {
				cells = append(cells, row[field])
			}
			fmt.Println(strings.Join(cells, ", "))
		}
	}
	return 0
}

func fakeDevices(mode string) []map[string]string {
	d := map[string]string{
		"index": "0", "uuid": "GPU-aaaa", "pci.bus_id": "00000000:41:00.0", "memory.total": "12288", "memory.used": "4", "memory.reserved": "300",
		"mig.mode.current": "Disabled", "compute_mode": "Default", "driver_version": "580.65.06", "name": "Example GPU 12GB, rev B",
	}
	switch mode {
	case "mig":
		d["mig.mode.current"] = "Enabled"
	case "unified":
		d["memory.total"], d["memory.used"], d["memory.reserved"], d["mig.mode.current"] = "[N/A]", "[N/A]", "[N/A]", "[N/A]"
	}
	second := map[string]string{"index": "1", "uuid": "[N/A]", "memory.total": "0", "memory.used": "0", "memory.reserved": "0",
		"pci.bus_id": "[N/A]", "mig.mode.current": "[Not Supported]", "compute_mode": "[N/A]", "driver_version": "580.65.06", "name": "NVIDIA L4"}
	return []map[string]string{d, second}
}

func fakeRow(index int, cell string) string {
	return fmt.Sprintf("%s, Fake, %d, %s\n", time.Now().Format("2006/01/02 15:04:05.000"), index, cell)
}
