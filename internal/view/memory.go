package view

import (
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/table"
	"tunebench/internal/unit"
)

// Source is where the memory of an experiment is from, as a legend names it.
type Source string

// The sources.
const (
	FromDevice    Source = "nvidia-smi (peak minus baseline, mean over devices)"
	FromNVML      Source = "driver, by NVML (peak minus baseline, mean over devices)"
	FromProcesses Source = "processes, by NVML (peak of their sum, mean over devices)"
	FromTorch     Source = "torch (peak allocated, rank 0)"
	FromHost      Source = "host (peak PSS of the process tree)"
)

// Sources lists the sources in the order of a legend.
func Sources() []Source {
	return []Source{FromDevice, FromNVML, FromProcesses, FromTorch, FromHost}
}

// Memory is the memory that stands for an experiment.
type Memory struct {
	Value  metric.Value // bytes
	Source Source       // empty where Value is a gap
	Mark   memory.Mark
}

// MemoryOf chooses the memory that stands for an experiment: what the devices grew by, else
// torch's own peak; the host's memory where no GPU was asked for.
func MemoryOf(r table.Row) Memory {
	if r.Text("num_gpus") == "0" {
		return known(r.Number(memory.HostPeakPSS), FromHost, r.HostMark)
	}
	nvidia, torch := r.Number(memory.NvidiaReserved), r.Number(memory.TorchPeak)
	switch {
	case nvidia.Known():
		return known(metric.Of(nvidia.Number*float64(unit.MiB)), counter(r), r.Memory.Mark)
	case torch.Known():
		return known(torch, FromTorch, r.TorchMark)
	}
	return Memory{Value: metric.Missing(nvidia.Gap + "; " + torch.Gap)}
}

func known(v metric.Value, source Source, mark memory.Mark) Memory {
	if !v.Known() {
		return Memory{Value: v}
	}
	return Memory{Value: v, Source: source, Mark: mark}
}

// counter is which counter the devices' memory is from.
func counter(r table.Row) Source {
	switch source := r.Text(memory.NvidiaSource); {
	case strings.Contains(source, "nvml"):
		return FromNVML
	case source == device.FromProcesses:
		return FromProcesses
	}
	return FromDevice
}
