package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tunebench/internal/experiment"
	"tunebench/internal/matrix"
	"tunebench/internal/runner"
	"tunebench/internal/scenario"
	"tunebench/internal/unit"
)

// planFlags are the flags that run and plan share.
type planFlags struct {
	out, defaults, frameworks, accelerate string
	only, packing, maxSeqLen              []string
	numGPUs, batchSizes                   []int
	gpus, memory, source, foreign         string
	probe                                 bool
	interval, timeout, stall              time.Duration
	trainer, python, launcher             string
	port                                  int
	minFree                               string
	stopOnFailure, resume, overwrite      bool
	data                                  string
	json                                  bool

	given func(name string) bool // whether a flag stands on the command line
}

// ignored says which flags have no effect, since the scenarios say otherwise.
func (f *planFlags) ignored(file scenario.File, plan matrix.Plan) []string {
	if f.given == nil || !f.given("trainer") {
		return nil
	}
	var warnings []string
	for _, s := range file.Scenarios {
		planned := slices.ContainsFunc(plan.Experiments, func(e experiment.Experiment) bool { return e.Scenario == s.Name })
		if planned && s.Trainer != "" && s.Trainer != f.trainer {
			warnings = append(warnings, fmt.Sprintf("scenario %q names the trainer %s itself, so --trainer does not count there", s.Name, s.Trainer))
		}
	}
	return warnings
}

func (f *planFlags) add(cmd *cobra.Command, s System) {
	fs := cmd.Flags()
	fs.StringVarP(&f.out, "out", "o", "benchmark_outputs", "folder for the results")
	fs.StringVar(&f.defaults, "defaults", "", "arguments for every scenario (default defaults.yaml beside the scenarios, if there)")
	fs.StringVar(&f.frameworks, "framework-configs", "", "index of framework configurations (default CONTENTS.yaml beside the scenarios or here, if there)")
	fs.StringVar(&f.accelerate, "accelerate-config", "", "configuration for accelerate (default accelerate.yaml beside the scenarios, if there)")
	fs.StringSliceVar(&f.only, "only", nil, "run these scenarios only, slow ones included")
	fs.IntSliceVar(&f.numGPUs, "num-gpus", nil, "numbers of GPUs (default 1, or 0 where no device is visible; 0 runs on the CPU)")
	fs.IntSliceVar(&f.batchSizes, "batch-sizes", nil, "effective batch sizes: samples of one step over all GPUs (default: the scenario's own batch keys)")
	fs.StringSliceVar(&f.packing, "packing", nil, "values of packing, where a scenario says nothing")
	fs.StringSliceVar(&f.maxSeqLen, "max-seq-len", nil, "values of max_seq_len, where a scenario says nothing")
	fs.StringVar(&f.gpus, "gpus", "auto", "devices to use: auto, or numbers among the visible devices, or UUIDs")
	addSampling(fs, s, f)
	fs.StringVar(&f.trainer, "trainer", "fms", "what trains: fms, hf, builtin, or a command")
	fs.StringVar(&f.python, "python", "python", "the Python that the trainer runs in")
	fs.StringVar(&f.launcher, "launcher", "", "what starts several processes: accelerate or torchrun (default accelerate for more than one GPU)")
	fs.IntVar(&f.port, "port", 0, "port for the processes to meet; 0 picks a free one at the start")
	fs.DurationVar(&f.timeout, "timeout", 0, "end an experiment after this time (0: never)")
	fs.DurationVar(&f.stall, "stall", time.Hour, "end an experiment that has printed nothing and whose memory has not moved for so long (0: never)")
	fs.StringVar(&f.minFree, "min-free", "5GiB", "end the matrix before an experiment when less disk than this is free")
	fs.BoolVar(&f.stopOnFailure, "stop-on-failure", false, "end the matrix after the first experiment that does not end ok")
	fs.BoolVar(&f.resume, "resume", false, "go on in a folder with results: run what has no record")
	fs.BoolVar(&f.overwrite, "overwrite", false, "forget the records in the folder and run everything (what trainers saved stays)")
	fs.StringVar(&f.data, "data", "", "ready training data, handed on as --training_data_path")
	fs.BoolVar(&f.json, "json", false, "print data: events as JSON lines (run), the experiments as an array (plan)")
}

// addSampling adds the flags that say what is watched.
func addSampling(fs *pflag.FlagSet, s System, f *planFlags) {
	fs.StringVar(&f.memory, "memory", defaultMemory(s), "what to measure memory with: a list of nvidia (the driver, from outside), probe (torch's counters, from inside)\nand huggingface (the Trainer's own tracker, which costs speed), or all, or none (or MEMORY_LOGGING)")
	fs.BoolVar(&f.probe, "probe", true, "with --probe=false nothing rides in the trainer's Python, whatever --memory says")
	fs.StringVar(&f.source, "source", experiment.SourceAuto, "where device memory is read: auto (NVML, else nvidia-smi), nvml, nvidia-smi")
	fs.StringVar(&f.foreign, "foreign", experiment.ForeignWarn, "what a device that others use means before the start: warn, fail, wait; processes with less than "+runner.Negligible.String()+"\neach on a device that computes nothing are noted and do not count")
	fs.DurationVar(&f.interval, "interval", 100*time.Millisecond, "time between two readings of memory, 1ms to 1h")
}

// defaultMemory is MEMORY_LOGGING where the environment has it.
func defaultMemory(s System) string {
	if value := s.Getenv("MEMORY_LOGGING"); value != "" {
		return value
	}
	return experiment.MemoryNvidia + "," + experiment.MemoryProbe
}

// Bounds of --interval.
const (
	shortestInterval = time.Millisecond
	longestInterval  = time.Hour
)

// sampling returns what the flags say is watched.
func (f *planFlags) sampling() (experiment.Sampling, error) {
	kinds, err := memoryKinds(f.memory)
	if err != nil {
		return experiment.Sampling{}, err
	}
	if !f.probe {
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == experiment.MemoryProbe })
	}
	if !slices.Contains([]string{experiment.SourceAuto, experiment.SourceNVML, experiment.SourceSMI}, f.source) {
		return experiment.Sampling{}, fmt.Errorf("--source %q: want auto, nvml or nvidia-smi", f.source)
	}
	if !slices.Contains([]string{experiment.ForeignWarn, experiment.ForeignFail, experiment.ForeignWait}, f.foreign) {
		return experiment.Sampling{}, fmt.Errorf("--foreign %q: want warn, fail or wait", f.foreign)
	}
	if f.interval < shortestInterval || f.interval > longestInterval {
		return experiment.Sampling{}, fmt.Errorf("--interval %v: want %v to %v", f.interval, shortestInterval, longestInterval)
	}
	return experiment.Sampling{Memory: kinds, Source: f.source, Interval: f.interval, Foreign: f.foreign}, nil
}

// memoryAll is the word for every way to measure.
const memoryAll = "all"

// memoryKinds returns the ways to measure that a list of words stands for.
func memoryKinds(list string) ([]string, error) {
	all := []string{experiment.MemoryNvidia, experiment.MemoryTracker, experiment.MemoryProbe}
	switch list {
	case memoryAll:
		return all, nil
	case "none":
		return []string{}, nil
	}
	var kinds []string
	for _, word := range strings.Split(list, ",") {
		word = strings.TrimSpace(word)
		if !slices.Contains(all, word) {
			return nil, fmt.Errorf("--memory (or MEMORY_LOGGING) %q: want a list of nvidia, huggingface and probe, or all, or none", list)
		}
		if !slices.Contains(kinds, word) {
			kinds = append(kinds, word)
		}
	}
	return kinds, nil
}

// check finds mistakes in the flags that no scenario file is needed for.
func (f *planFlags) check() error {
	if f.resume && f.overwrite {
		return fmt.Errorf("--resume and --overwrite contradict each other: keep one")
	}
	if f.given != nil && f.given("only") && len(f.only) == 0 {
		return fmt.Errorf("--only names no scenario (an empty variable?); leave it out to run all that are not slow")
	}
	if f.accelerate != "" {
		if _, err := os.Stat(f.accelerate); err != nil {
			return fmt.Errorf("--accelerate-config: %w", err)
		}
	}
	if err := f.checkAxes(); err != nil {
		return err
	}
	if f.timeout < 0 || f.stall < 0 {
		return fmt.Errorf("--timeout and --stall cannot be negative")
	}
	if f.port < 0 || f.port > 65535 {
		return fmt.Errorf("--port %d: want 0 to 65535", f.port)
	}
	if !slices.Contains([]string{"", "accelerate", "torchrun"}, f.launcher) {
		return fmt.Errorf("--launcher %q: want accelerate or torchrun", f.launcher)
	}
	_, err := unit.ParseBytes(f.minFree)
	if err != nil {
		return fmt.Errorf("--min-free: %w", err)
	}
	return nil
}

// checkAxes finds mistakes in the axes of the matrix.
func (f *planFlags) checkAxes() error {
	for _, n := range f.numGPUs {
		if n < 0 {
			return fmt.Errorf("--num-gpus %d: want 0 (the CPU) or more", n)
		}
	}
	for _, n := range f.batchSizes {
		if n < 1 {
			return fmt.Errorf("--batch-sizes %d: want at least 1", n)
		}
	}
	if twice := repeated(f.numGPUs); twice != "" {
		return fmt.Errorf("--num-gpus names %s twice", twice)
	}
	if twice := repeated(f.batchSizes); twice != "" {
		return fmt.Errorf("--batch-sizes names %s twice", twice)
	}
	return nil
}

func repeated(numbers []int) string {
	for i, n := range numbers {
		if slices.Contains(numbers[:i], n) {
			return strconv.Itoa(n)
		}
	}
	return ""
}

// beside returns the given path, or that of a file of that name in one of the folders,
// or nothing.
func beside(given, name string, folders ...string) string {
	if given != "" {
		return given
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// absolute resolves a path against the working folder; nothing stays nothing.
func absolute(path string) (string, error) {
	if path == "" || strings.HasPrefix(path, "/") {
		return path, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the working folder: %w", err)
	}
	return abs, nil
}
