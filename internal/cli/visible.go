package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/device/host"
	"tunebench/internal/device/nvml"
	"tunebench/internal/device/smi"
	"tunebench/internal/experiment"
)

// visible is the devices that experiments may use, as entries of CUDA_VISIBLE_DEVICES.
type visible struct {
	entries  []string
	known    bool     // false: nobody could be asked, and nothing was given
	gap      string   // why it is not known whether there are devices; empty: it is known
	warnings []string // what the reader should know of the list
}

// asker is who may be asked for devices.
type asker struct {
	smi      *smi.SMI     // nil: there is no nvidia-smi
	nvml     *nvml.Config // nil: NVML is not asked
	planning bool         // --gpus is taken as given, and only NVML is asked: the plan may be for another machine
}

// planWithin bounds the time that plan waits for a driver.
const planWithin = 3 * time.Second

// nvmlConfig says how NVML is asked, or is nil where tunebench does not know its own path.
func nvmlConfig(s System) *nvml.Config {
	path, err := self()
	if err != nil {
		return nil
	}
	return &nvml.Config{Self: path, Library: s.Getenv(nvmlVariable), Env: s.Environ}
}

// devices returns the devices that --gpus names. Those of the machine are told by the
// source of --source, if it can tell them.
func (a asker) devices(ctx context.Context, s System, gpus, source string) (visible, error) {
	text, set := s.LookupEnv("CUDA_VISIBLE_DEVICES")
	inherited := device.ParseVisible(text, set)
	if gpus != "auto" {
		entries, err := a.chosen(gpus, inherited)
		return visible{entries: entries, known: true}, err
	}
	if !inherited.All {
		return visible{entries: inherited.Entries, known: true}, nil
	}
	return a.present(ctx, source), nil
}

// chosen reads --gpus: a number counts among the visible devices, all else stands for itself.
func (a asker) chosen(gpus string, inherited device.Visible) ([]string, error) {
	var entries []string
	for _, word := range strings.Split(gpus, ",") {
		word = strings.TrimSpace(word)
		entry, err := a.resolve(word, inherited)
		if err != nil {
			return nil, usage(fmt.Errorf("--gpus %s: %w", gpus, err))
		}
		if slices.Contains(entries, entry) {
			return nil, usage(fmt.Errorf("--gpus %s names %s twice", gpus, word))
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func (a asker) resolve(word string, inherited device.Visible) (string, error) {
	n, err := strconv.Atoi(word)
	switch {
	case err != nil && (strings.HasPrefix(word, "GPU-") || strings.HasPrefix(word, "MIG-")):
		return word, nil
	case err != nil || n < 0:
		return "", fmt.Errorf("%q is no device (want auto, a number, GPU-... or MIG-...)", word)
	case inherited.All || a.planning && n >= len(inherited.Entries):
		return word, nil
	case n >= len(inherited.Entries):
		return "", fmt.Errorf("device %d is not among the %d that CUDA_VISIBLE_DEVICES shows", n, len(inherited.Entries))
	}
	return inherited.Entries[n], nil
}

// present returns the devices of this machine: from the first source that answers, else
// from the device files. That a source is here and cannot tell is never passed over. A
// plan for a machine without any device may be for another one.
func (a asker) present(ctx context.Context, source string) visible {
	var failed []string
	for _, ask := range a.sources(source) {
		machine, err := ask.list(ctx)
		if err == nil {
			devices, notes := machine.Usable()
			return visible{entries: machine.Entries(devices), known: true, warnings: slices.Concat(failed, notes)}
		}
		if ask.name == source || !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Sprintf("%s does not say which devices there are: %v", ask.name, err))
		}
	}
	seen := a.byFiles()
	if len(failed) == 0 {
		return seen
	}
	seen.known = len(seen.entries) > 0
	if seen.known {
		seen.warnings = append(failed, fmt.Sprintf("the %d devices that have a device file are taken for all", len(seen.entries)))
		return seen
	}
	seen.gap = strings.Join(failed, "; ")
	seen.warnings = append(failed, "no GPU is used unless --gpus or --num-gpus says so")
	return seen
}

func (a asker) byFiles() visible {
	n, err := host.VisibleDeviceFiles()
	known := err == nil && (n > 0 || !a.planning) // elsewhere than on Linux nobody can say
	return visible{entries: numbers(n), known: known}
}

// lister is a source that can be asked for the machine's devices.
type lister struct {
	name string
	list func(context.Context) (device.Machine, error)
}

// sources returns who is asked, in this order: the one of --source, then NVML, which
// answers sooner.
func (a asker) sources(source string) []lister {
	all := []lister{{experiment.SourceNVML, a.viaNVML}, {experiment.SourceSMI, a.viaSMI}}
	switch {
	case a.planning:
		return all[:1]
	case source == experiment.SourceSMI:
		slices.Reverse(all)
	}
	return all
}

func (a asker) viaNVML(ctx context.Context) (device.Machine, error) {
	if a.nvml == nil {
		return device.Machine{}, fmt.Errorf("tunebench does not find its own program: %w", fs.ErrNotExist)
	}
	config := *a.nvml
	if a.planning {
		config.Within = planWithin
	}
	return nvml.List(ctx, config)
}

func (a asker) viaSMI(ctx context.Context) (device.Machine, error) {
	if a.smi == nil {
		return device.Machine{}, fmt.Errorf("nvidia-smi is not on PATH: %w", fs.ErrNotExist)
	}
	return a.smi.Survey(ctx)
}

func numbers(n int) []string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = strconv.Itoa(i)
	}
	return entries
}
