// Package memory turns raw readings of memory into the figures of a report.
//
// It has the figures of the devices' log (nvidia.go) or of what NVML's sampler kept
// (watched.go), of the trainer's own memory metrics (torch.go) and of the host's log
// (host.go), each with the doubts that belong to it, and the doubts that only two of them
// together raise (doubt.go, exceeds.go, foreign.go). The ledger (ledger.go) splits what a
// device held at its peak among its holders. Figures are computed when a report is
// gathered and are kept nowhere; taking the readings is left to the samplers.
package memory

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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
	TorchReserved  = "mem_torch_reserved_peak_in_bytes"  // bytes, the largest over ranks and devices
	TorchWorstRank = "mem_torch_worst_rank"              // the rank of TorchReserved
	TorchSource    = "mem_torch_source"                  // who read TorchAllocated and TorchPeak: tracker or probe
	NvidiaMax      = "mem_nvidia_peak_max_in_bytes"      // bytes, peak minus baseline of the device that grew most
	NvidiaMaxOn    = "mem_nvidia_peak_max_device"        // the index of that device, or its UUID
	NvidiaMean     = "mem_nvidia_mean_in_bytes"          // bytes, mean over time minus baseline, the mean over devices
	NvidiaSource   = "mem_nvidia_source"                 // the counters of the devices' memory, each once
	Energy         = "energy_in_joules"                  // J, the sum over devices
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
	LogSource      string         // the tool whose counter the log holds; empty: LogSource
	Interval       time.Duration  // the longest between two rows where nothing is amiss; 0: not known
	Duration       time.Duration  // of the run, which the log should span; 0: not known
	Taken          map[int]int    // samples of each device by its index, where rows are written on change only; nil: a row is a sample
}

// DeviceFigures are the figures of one device, in MiB of its whole memory: whatever
// process holds it.
type DeviceFigures struct {
	Index      int
	Name       string
	Baseline   metric.Value // before the start, else the first valid reading
	Peak       metric.Value
	Reserved   metric.Value // Peak - Baseline
	Mean       metric.Value // weighted by time
	Samples    int          // valid readings
	Unreadable int
	Notes      []string
	UUID       string // empty where it is not known
	Source     string // one of device.From..., or nvidia-smi
	Mark       Mark   // what the notes mean for the figures

	low metric.Value // the lowest level of the log, in MiB
}

// NvidiaFigures are the figures of one experiment's devices.
type NvidiaFigures struct {
	Devices  []DeviceFigures // by index
	Reserved metric.Value    // MiB: the mean of Reserved over the devices that have it
	Name     string          // the models, each once; empty where none is known
	Samples  int             // valid readings of all devices
	Doubts   []string
	Mark     Mark     // of Reserved: the gravest of the devices' and the log's
	Sampling Sampling // how the readings were taken
	Remarks  []string // what a reader may want to know and need not doubt
}

// Nvidia reads the log of a run's devices. Trouble in the log is never an error: it is
// a gap with its reason, or a doubt beside the figure.
func Nvidia(r io.Reader, opts NvidiaOptions) NvidiaFigures {
	var series extents
	notes, err := device.ReadLog(r, series.add)
	var out NvidiaFigures
	seen := slices.SortedStableFunc(slices.Values(notes.Devices),
		func(a, b device.Seen) int { return a.Index - b.Index })
	for _, s := range seen {
		base, doubt := opts.baseline(s.Index)
		figures := deviceFigures(s, series.of(s.Index), base, opts)
		figures.Source = opts.logSource()
		if doubt != "" {
			figures.note(Doubtful, doubt)
		}
		out.Devices, out.Samples = append(out.Devices, figures), out.Samples+figures.Samples
	}
	out.Name = names(out.Devices)
	out.Reserved = mean(out.Devices)
	if len(out.Devices) == 0 {
		out.Reserved = metric.Missing(noRows(notes, err, opts.LoggerExit))
	}
	out.Doubts = doubts(out, notes, err, opts.LoggerExit)
	out.Mark = out.gravest()
	if len(endDoubts(notes, err, opts.LoggerExit)) > 0 {
		out.Mark = max(out.Mark, Doubtful)
	}
	out.Sampling = logSampling(series, opts)
	out.noteStalls(series, opts)
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
		case o.BaselineSource != "" && o.BaselineSource != o.logSource():
			return nil, fmt.Sprintf("device %d: the baseline is from %s and the log from %s, which count differently, so the first reading stands for it", index, o.BaselineSource, o.logSource())
		}
		used := unit.Bytes(level.Used.Number)
		return &used, ""
	}
	return nil, ""
}

func (o NvidiaOptions) logSource() string {
	if o.LogSource == "" {
		return LogSource
	}
	return o.LogSource
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
