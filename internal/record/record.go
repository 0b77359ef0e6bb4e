// Package record keeps the raw results of one experiment on disk and reads them back.
//
// results.json has the flat keys that the first harness wrote, for its readers, and
// one key, tunebench, under which the raw data stands with its structure. No figure
// that can be derived stands in it.
package record

import (
	"time"

	"tunebench/internal/device"
	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
)

// FileName is the name of the record inside an experiment's folder.
const FileName = "results.json"

// Version is the version of the structure under the key tunebench.
const Version = 1

// Watch is what the device sampler left beside its log.
type Watch struct {
	Source   string          `json:"source"` // nvidia-smi or nvml; auto where neither could be had
	Interval time.Duration   `json:"interval_ns"`
	Devices  []device.Device `json:"devices"`
	Baseline []Baseline      `json:"baseline,omitempty"` // read before the trainer was started
	Exit     string          `json:"exit,omitempty"`     // how the logger ended, where it ended by itself
	Summary  *device.Summary `json:"summary,omitempty"`  // what NVML's sampler saw, to the byte; nil for nvidia-smi
	Gap      string          `json:"gap,omitempty"`      // why nothing was watched; empty: something was
	Notes    []string        `json:"notes,omitempty"`
}

// Baseline is one device's memory before the trainer was started.
type Baseline struct {
	Index int          `json:"index"`
	Used  metric.Value `json:"used_bytes"`
}

// Why a command could not be started, where that has an exit code of its own.
const (
	NotFound      = "not found"
	NotExecutable = "not executable"
)

// Probe is what is known of the probe in the trainer's Python processes beside the
// records that they left in the folder ProbeDir.
type Probe struct {
	Notes []string `json:"notes,omitempty"` // why it cannot have reached a process
}

// ProbeDir is the folder below an experiment's folder in which the probe writes.
const ProbeDir = "probe"

// Host is what is known of the host's memory beside host_memory_logs.csv.
type Host struct {
	Interval         time.Duration `json:"interval_ns"`
	Samples          int           `json:"samples"`
	MaxRSSOneProcess metric.Value  `json:"max_rss_one_process_bytes"` // the kernel's own peak of the largest process that was waited for
	Notes            []string      `json:"notes,omitempty"`
}

// Record is all that is known of one experiment that was run.
type Record struct {
	Version      int                   `json:"version"`
	Tunebench    string                `json:"tunebench_version"`
	Experiment   experiment.Experiment `json:"experiment"`
	Argv         []string              `json:"argv"` // as started, the port filled in
	Outcome      outcome.Outcome       `json:"outcome"`
	Metrics      metric.Set            `json:"metrics,omitempty"`
	MetricsFrom  string                `json:"metrics_from,omitempty"` // the file that they were read from, relative to the folder
	Started      time.Time             `json:"started"`
	Duration     time.Duration         `json:"duration_ns"`
	Hostname     string                `json:"hostname"`
	Watch        *Watch                `json:"watch,omitempty"`
	Probe        *Probe                `json:"probe,omitempty"`         // nil: the probe was off
	StartFailure string                `json:"start_failure,omitempty"` // one of NotFound, NotExecutable; else empty
	FamilyPIDs   []int                 `json:"family_pids,omitempty"`   // every process of the experiment that was seen, ascending
	Host         Host                  `json:"host"`
	Notes        []string              `json:"notes,omitempty"`
}
