package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/device/host"
	"tunebench/internal/device/nvml"
	"tunebench/internal/device/smi"
)

// visible is the devices that experiments may use, as entries of CUDA_VISIBLE_DEVICES.
type visible struct {
	entries []string
	known   bool // false: nobody could be asked, and nothing was given
}

// asker is who may be asked for devices.
type asker struct {
	smi      *smi.SMI     // nil: there is no nvidia-smi
	nvml     *nvml.Config // nil: NVML is not asked
	planning bool         // nobody is asked, and --gpus is taken as given: the plan may be for another machine
}

// nvmlConfig says how NVML is asked, or is nil where tunebench does not know its own path.
func nvmlConfig(s System) *nvml.Config {
	path, err := self()
	if err != nil {
		return nil
	}
	return &nvml.Config{Self: path, Library: s.Getenv(nvmlVariable), Env: s.Environ}
}

// devices returns the devices that --gpus names.
func (a asker) devices(ctx context.Context, s System, gpus string) (visible, error) {
	text, set := s.LookupEnv("CUDA_VISIBLE_DEVICES")
	inherited := device.ParseVisible(text, set)
	if gpus != "auto" {
		entries, err := a.chosen(gpus, inherited)
		return visible{entries: entries, known: true}, err
	}
	if !inherited.All {
		return visible{entries: inherited.Entries, known: true}, nil
	}
	return a.present(ctx), nil
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

// present returns the devices of this machine: from the driver where it may be asked,
// else from the device files. A plan for a machine without any may be for another one.
func (a asker) present(ctx context.Context) visible {
	if a.smi != nil && !a.planning {
		if all, err := a.smi.List(ctx); err == nil {
			return visible{entries: numbers(len(all)), known: true}
		}
	}
	if a.nvml != nil && !a.planning {
		if machine, err := nvml.List(ctx, *a.nvml); err == nil {
			return visible{entries: numbers(len(machine.Devices)), known: true}
		}
	}
	n, err := host.VisibleDeviceFiles()
	known := err == nil && (n > 0 || !a.planning) // elsewhere than on Linux nobody can say
	return visible{entries: numbers(n), known: known}
}

func numbers(n int) []string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = strconv.Itoa(i)
	}
	return entries
}
