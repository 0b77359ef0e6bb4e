//go:build linux

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The benchmarks here set whole commands against a yardstick of the same run, since a
// time alone says more of the machine than of the program.

// The goals, as ratios to the yardstick, and in bytes.
const (
	gatherGoal     = 2.5
	gatherPeakGoal = 100e6
	planGoal       = 30
)

// benchRounds is how often the two sides of a ratio take turns. Medians are compared, and
// the shortest rounds, which say more where others use the machine.
const benchRounds = 5

// BenchmarkGatheringAgainstCat gathers 1000 experiments with 324 MB of nvidia-smi's logs
// and writes the tables; the page, which draws the logs, has a benchmark of its own in
// package page. The yardstick is cat of the same logs into a pipe.
func BenchmarkGatheringAgainstCat(b *testing.B) {
	dir := b.TempDir()
	const experiments, total = 1000, 324e6
	writeExperiments(b, dir, experiments, total/experiments)
	var cat, report, computed []time.Duration
	var peak int64
	for b.Loop() {
		for range benchRounds {
			cat = append(cat, timed(b, dir, "sh", "-c", "cat exp_*/gpu_memory_logs.csv | cat >/dev/null").took)
			u := timed(b, dir, "tunebench", "report", dir, "--raw", filepath.Join(dir, "out", "raw.csv"), "--csv", filepath.Join(dir, "out", "ok.csv"), "--md", filepath.Join(dir, "out", "report.md"))
			report, computed, peak = append(report, u.took), append(computed, u.computed), max(peak, u.peak)
		}
	}
	b.ReportMetric(ratio(report, cat), "x-cat")
	b.ReportMetric(float64(slices.Min(report))/float64(slices.Min(cat)), "x-cat-best")
	b.ReportMetric(gatherGoal, "x-cat-goal")
	b.ReportMetric(float64(median(computed).Milliseconds()), "report-cpu-ms")
	b.ReportMetric(float64(peak)/1e6, "peak-MB")
	b.ReportMetric(gatherPeakGoal/1e6, "peak-MB-goal")
	b.ReportMetric(float64(median(cat).Milliseconds()), "cat-ms")
	b.ReportMetric(float64(median(report).Milliseconds()), "report-ms")
	b.ReportMetric(0, "ns/op") // of both sides together; it says nothing
}

// BenchmarkPlanAgainstVersion unfolds and prints 10,000 experiments. The yardstick is the
// start of the binary.
func BenchmarkPlanAgainstVersion(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "scenarios.yaml"), manyPoints)
	plan := []string{"tunebench", "plan", "scenarios.yaml", "-o", "none", "--trainer", "true"}
	var version, planned, computed []time.Duration
	for b.Loop() {
		for range benchRounds {
			version = append(version, timed(b, dir, "tunebench", "version").took)
			u := timed(b, dir, plan...)
			planned, computed = append(planned, u.took), append(computed, u.computed)
		}
	}
	out, err := command(dir, plan...).Output()
	if n := bytes.Count(out, []byte("\nexp_")); err != nil || n != 10_000 {
		b.Fatalf("the plan has %d experiments (%v), want 10,000", n, err)
	}
	b.ReportMetric(ratio(planned, version), "x-version")
	b.ReportMetric(float64(slices.Min(planned))/float64(slices.Min(version)), "x-version-best")
	b.ReportMetric(planGoal, "x-version-goal")
	b.ReportMetric(float64(median(computed).Milliseconds()), "plan-cpu-ms")
	b.ReportMetric(float64(median(version).Milliseconds()), "version-ms")
	b.ReportMetric(float64(median(planned).Milliseconds()), "plan-ms")
	b.ReportMetric(0, "ns/op")
}

// manyPoints is a scenario of 10 x 10 x 10 x 10 experiments.
const manyPoints = `scenarios:
  - name: many
    matrix:
      learning_rate: [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 2e-1, 2e-2, 2e-3, 2e-4, 2e-5]
      r: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
      lora_alpha: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
      per_device_train_batch_size: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    arguments:
      model_name_or_path: some/model
      peft_method: lora
      torch_dtype: bfloat16
      target_modules: [q_proj, k_proj, v_proj, o_proj]
`

// flatRecord is what the first harness kept of an experiment.
const flatRecord = `{
    "acceleration_framework_config_file": "configs/plain.yaml",
    "epoch": 0.5,
    "init_mem_gpu_alloc_delta": 0,
    "init_mem_gpu_peaked_delta": 0,
    "before_init_mem_gpu": 4333917167,
    "learning_rate": "2e-4",
    "model_name_or_path": "some/model-%d",
    "num_gpus": 2,
    "peft_method": "lora",
    "per_device_train_batch_size": "%d",
    "torch_dtype": "float16",
    "train_loss": 1.0445707401571347,
    "train_mem_gpu_alloc_delta": -474833189,
    "train_mem_gpu_peaked_delta": 9686546239,
    "train_runtime": 118.1325,
    "train_tokens_per_second": 14779.979
}
`

// writeExperiments makes n folders with a record and a log of the given size each.
func writeExperiments(b *testing.B, dir string, n int, size float64) {
	b.Helper()
	var log strings.Builder
	log.WriteString("timestamp, name, index, memory.used [MiB]\n")
	at := time.Date(2025, 3, 4, 10, 0, 0, 123e6, time.UTC)
	for i := 0; float64(log.Len()) < size; i++ {
		fmt.Fprintf(&log, "%s, NVIDIA A100-SXM4-80GB, %d, %d MiB\n",
			at.Format("2006/01/02 15:04:05.000"), i%2, 300+i*7919%40_000)
		at = at.Add(time.Duration(i%2) * time.Second)
	}
	for i := range n {
		folder := filepath.Join(dir, fmt.Sprintf("exp_%d", i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		write(b, filepath.Join(folder, "gpu_memory_logs.csv"), log.String())
		write(b, filepath.Join(folder, "results.json"), fmt.Sprintf(flatRecord, i/4, 1<<(i%4)))
	}
}

func write(b *testing.B, path, text string) {
	b.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=")
	return cmd
}

// usage is what a command and its children took.
type usage struct {
	took     time.Duration
	computed time.Duration // of all cores
	peak     int64         // bytes: the most that one of them held
}

// timed runs a command to its end.
func timed(b *testing.B, dir string, args ...string) usage {
	b.Helper()
	cmd := command(dir, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	took := time.Since(began)
	system, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("the system does not tell what a child used")
	}
	return usage{took, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), system.Maxrss << 10}
}

func ratio(a, to []time.Duration) float64 {
	return float64(median(a)) / float64(median(to))
}

func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
