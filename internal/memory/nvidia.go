// Package memory turns raw readings of memory into the figures of a report.
//
// It has the figures of the devices' log (nvidia.go), of the trainer's own memory
// metrics (torch.go) and of the host's log (host.go), each with the doubts that belong
// to it, and the doubts that only two of them together raise (doubt.go). Figures are
// computed when a report is gathered and are kept nowhere; taking the readings is left
// to the samplers.
package memory

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// The names of the figures, as columns of a table.
const (
	NvidiaReserved = "mem_nvidia_mem_reserved"           // MiB, the mean over devices
	DeviceName     = "gpu_device_name"                   // text
	TorchAllocated = "mem_torch_mem_alloc_in_bytes"      // bytes, rank 0
	TorchPeak      = "mem_peak_torch_mem_alloc_in_bytes" // bytes, rank 0
	HostPeakPSS    = "mem_host_peak_pss_in_bytes"        // bytes, over the process tree
	HostPeakRSS    = "mem_host_peak_rss_in_bytes"        // bytes, over the process tree
)

// LogSource names the tool whose counter the devices' log holds. What another counter
// says differs by a constant, so the two are never subtracted from each other.
const LogSource = "nvidia-smi"

// NvidiaOptions is what is known of a log from elsewhere.
type NvidiaOptions struct {
	Baselines      []device.Level // read before the trainer was started, in bytes; may lack devices
	BaselineSource string         // the tool that read them; empty: LogSource
	LoggerExit     string         // how the logger ended, where it ended by itself
}

// DeviceFigures are the figures of one device, in MiB of its whole memory: whatever
// process holds it.
type DeviceFigures struct {
	Index      int
	Name       string
	Baseline   metric.Value // before the start, else the first valid reading
	Peak       metric.Value
	Reserved   metric.Value // Peak - Baseline
	Samples    int          // valid readings
	Unreadable int
	Notes      []string
}

// NvidiaFigures are the figures of one experiment's devices.
type NvidiaFigures struct {
	Devices  []DeviceFigures // by index
	Reserved metric.Value    // MiB: the mean of Reserved over the devices that have it
	Name     string          // the models, each once; empty where none is known
	Samples  int             // valid readings of all devices
	Doubts   []string
}

// Nvidia reads the log of a run's devices. Trouble in the log is never an error: it is
// a gap with its reason, or a doubt beside the figure.
func Nvidia(r io.Reader, opts NvidiaOptions) NvidiaFigures {
	series := map[int]*extent{}
	notes, err := device.ReadLog(r, func(reading device.Reading) {
		if series[reading.Index] == nil {
			series[reading.Index] = &extent{first: reading.Used, low: reading.Used, high: reading.Used}
		}
		series[reading.Index].add(reading.Used)
	})
	out := NvidiaFigures{Samples: notes.Readings}
	seen := slices.SortedStableFunc(slices.Values(notes.Devices),
		func(a, b device.Seen) int { return a.Index - b.Index })
	for _, s := range seen {
		base, doubt := opts.baseline(s.Index)
		figures := deviceFigures(s, series[s.Index], base)
		if doubt != "" {
			figures.Notes = append(figures.Notes, doubt)
		}
		out.Devices = append(out.Devices, figures)
	}
	out.Name = names(out.Devices)
	out.Reserved = mean(out.Devices)
	if len(out.Devices) == 0 {
		out.Reserved = metric.Missing(noRows(notes, err, opts.LoggerExit))
	}
	out.Doubts = doubts(out, notes, err, opts.LoggerExit)
	return out
}

// baseline returns the level before the start, if there is one that fits the log, or
// the doubt that its absence raises.
func (o NvidiaOptions) baseline(index int) (*unit.Bytes, string) {
	for _, level := range o.Baselines {
		switch {
		case level.Index != index:
			continue
		case !level.Used.Known():
			return nil, fmt.Sprintf("device %d: no baseline from before the start (%s), so its first reading stands for it", index, level.Used.Gap)
		case o.BaselineSource != "" && o.BaselineSource != LogSource:
			return nil, fmt.Sprintf("device %d: the baseline is from %s and the log from %s, which count differently, so the first reading stands for it", index, o.BaselineSource, LogSource)
		}
		used := unit.Bytes(level.Used.Number)
		return &used, ""
	}
	return nil, ""
}

// mean returns the mean of the devices' figures, or the first device's gap where no
// device has one.
func mean(devices []DeviceFigures) metric.Value {
	sum, n := 0.0, 0
	for _, d := range devices {
		if d.Reserved.Known() {
			sum += d.Reserved.Number
			n++
		}
	}
	switch {
	case n > 0:
		return metric.Of(sum / float64(n))
	case len(devices) > 0:
		return devices[0].Reserved
	}
	return metric.Missing("the log names no device")
}

// names joins the models with semicolons, since a name may hold commas.
func names(devices []DeviceFigures) string {
	var distinct []string
	for _, d := range devices {
		if d.Name != "" && !slices.Contains(distinct, d.Name) {
			distinct = append(distinct, d.Name)
		}
	}
	return strings.Join(distinct, "; ")
}
