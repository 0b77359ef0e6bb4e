// Package experiment describes one thing to run: a point of the matrix with all that
// is needed to start it, its identity, and its folder on disk.
//
// An experiment knows nothing of how it is run or what came of it.
package experiment

import (
	"time"

	"tunebench/internal/unit"
)

// FileName is the name of an experiment's description inside its folder.
const FileName = "experiment.json"

// Setting is one argument of the trainer, spelled as the scenario file spells it.
type Setting struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`         // one text, or several for one flag
	List   bool     `json:"list,omitempty"` // written as a list, even of one value
}

// Content names a file whose content shapes the result.
type Content struct {
	Name   string `json:"name,omitempty"` // the short name, where it has one
	Path   string `json:"path"`           // absolute
	SHA256 string `json:"sha256"`         // of the content, in hex
}

// Limits bound an experiment; zero means no bound.
type Limits struct {
	Timeout    time.Duration `json:"timeout_ns,omitempty"`
	Stall      time.Duration `json:"stall_ns,omitempty"`
	HostMemory unit.Bytes    `json:"host_memory_bytes,omitempty"`
}

// Sampling says what is watched while the experiment runs. It is no part of the identity.
type Sampling struct {
	Memory   []string      `json:"memory"`           // of MemoryNvidia, MemoryTracker, MemoryProbe
	Source   string        `json:"source,omitempty"` // of device memory: auto, nvml, nvidia-smi
	Interval time.Duration `json:"interval_ns"`
	Foreign  string        `json:"foreign,omitempty"` // what a busy device means before the start: warn, fail, wait

	NoDevices string `json:"no_devices,omitempty"` // why it is not known which devices the machine has; empty: it is known
}

// The ways to measure memory.
const (
	MemoryNvidia  = "nvidia"      // the driver's counters, from outside
	MemoryTracker = "huggingface" // the Trainer's own tracker, which costs speed
	MemoryProbe   = "probe"       // torch's counters, from inside, at the end
)

// The sources of device memory.
const (
	SourceAuto = "auto" // NVML, else nvidia-smi
	SourceNVML = "nvml"
	SourceSMI  = "nvidia-smi"
)

// What a device that others use means before the start.
const (
	ForeignWarn = "warn" // start, and say so
	ForeignFail = "fail" // do not start
	ForeignWait = "wait" // wait until they have gone
)

// Experiment is one runnable point of the matrix.
type Experiment struct {
	Version  int    `json:"version"`
	ID       string `json:"id"`   // see Identity
	Name     string `json:"name"` // the folder's name, exp_N
	Scenario string `json:"scenario"`
	Trial    int    `json:"trial"` // which repeat, from 1

	Trainer        string `json:"trainer"`            // fms, hf, builtin, or a command
	Launcher       string `json:"launcher,omitempty"` // accelerate, torchrun; empty: started directly
	NumGPUs        int    `json:"num_gpus"`
	EffectiveBatch int    `json:"effective_batch_size,omitempty"` // as asked for; 0: the scenario's own batch keys stand

	Settings   []Setting         `json:"settings"` // in the order in which they are handed on; output_dir is not among them
	Framework  *Content          `json:"framework_config,omitempty"`
	Accelerate *Content          `json:"accelerate_config,omitempty"`
	Data       *Content          `json:"data,omitempty"`
	OwnEnv     map[string]string `json:"scenario_env,omitempty"` // the scenario's own environment

	Dir      string            `json:"dir"`     // the experiment's folder, absolute
	Workdir  string            `json:"workdir"` // where the trainer is started, absolute
	Argv     []string          `json:"argv"`
	PortArg  int               `json:"port_arg,omitempty"` // index in Argv of the rendezvous port; 0: there is none
	Env      map[string]string `json:"env"`                // set on top of the inherited environment, OwnEnv included
	Unset    []string          `json:"unset_env,omitempty"`
	Devices  []string          `json:"devices,omitempty"` // entries of CUDA_VISIBLE_DEVICES
	Limits   Limits            `json:"limits"`
	Sampling Sampling          `json:"sampling"`
	Warnings []string          `json:"warnings,omitempty"`
}

// Setting returns the setting of that name.
func (e Experiment) Setting(name string) (Setting, bool) {
	for _, s := range e.Settings {
		if s.Name == name {
			return s, true
		}
	}
	return Setting{}, false
}
