package table

import (
	"fmt"
	"io"
	"os"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
)

// HostNotes is what the notes on the host's memory begin with.
const HostNotes = "host memory"

// The logs inside an experiment's folder.
const (
	deviceLog = "gpu_memory_logs.csv"
	hostLog   = "host_memory_logs.csv"
)

// Options says how figures are computed.
type Options struct {
	Stages memory.Stages // which of the Trainer's stages count; empty: memory.StagesSeed
}

// addMemory adds the figures of memory. They are computed here, from the logs and the
// trainer's metrics, and kept nowhere. Of an experiment that still runs there are
// none: its peak may be yet to come.
func (r *Row) addMemory(root *os.Root, rec record.Record, o Options) {
	if r.Status == outcome.Running {
		return
	}
	nvidia := r.addDevices(root, rec)
	if o.Stages == "" {
		o.Stages = memory.StagesSeed
	}
	allocated, peak, doubts := memory.Torch(rec.Metrics, o.Stages)
	r.addNumber(Result, memory.TorchAllocated, allocated)
	r.addNumber(Result, memory.TorchPeak, peak)
	r.note("torch memory", doubts...)
	r.note("GPU memory", memory.Compare(nvidia, peak)...)
	r.addHost(root, rec)
}

func (r *Row) addDevices(root *os.Root, rec record.Record) memory.NvidiaFigures {
	var figures memory.NvidiaFigures
	gap := readLog(root, deviceLog, func(log io.Reader) {
		figures = memory.Nvidia(log, watched(rec.Watch))
	})
	if gap != "" {
		figures.Reserved = metric.Missing(gap)
		if rec.Watch != nil && rec.Watch.Exit != "" {
			figures.Reserved = metric.Missing(gap + "; the logger ended by itself: " + rec.Watch.Exit)
		}
	}
	r.addNumber(Result, memory.NvidiaReserved, figures.Reserved)
	if figures.Name == "" {
		figures.Name = models(rec.Watch)
	}
	r.addText(Setting, memory.DeviceName, figures.Name)
	r.note("GPU memory", figures.Doubts...)
	return figures
}

func watched(w *record.Watch) memory.NvidiaOptions {
	if w == nil {
		return memory.NvidiaOptions{}
	}
	o := memory.NvidiaOptions{BaselineSource: w.Source, LoggerExit: w.Exit}
	for _, b := range w.Baseline {
		o.Baselines = append(o.Baselines, device.Level{Index: b.Index, Used: b.Used})
	}
	return o
}

// models names the devices that were watched, each model once.
func models(w *record.Watch) string {
	if w == nil {
		return ""
	}
	var names []string
	seen := make(map[string]bool)
	for _, d := range w.Devices {
		if d.Name != "" && !seen[d.Name] {
			names = append(names, d.Name)
		}
		seen[d.Name] = true
	}
	return strings.Join(names, "; ")
}

// addHost adds the host's figures. The first harness took none, so its records have
// no cell for them.
func (r *Row) addHost(root *os.Root, rec record.Record) {
	var figures memory.HostFigures
	gap := readLog(root, hostLog, func(log io.Reader) {
		figures = memory.Host(log, rec.Host.MaxRSSOneProcess)
	})
	if gap != "" {
		if rec.Experiment.ID == "" {
			return
		}
		figures.PeakPSS, figures.PeakRSS = metric.Missing(gap), metric.Missing(gap)
	}
	r.addNumber(Result, memory.HostPeakPSS, figures.PeakPSS)
	r.addNumber(Result, memory.HostPeakRSS, figures.PeakRSS)
	r.note(HostNotes, figures.Doubts...)
}

// readLog hands the log to read as a stream and returns why it cannot, if it cannot.
func readLog(root *os.Root, name string, read func(io.Reader)) (gap string) {
	log, ok, err := openRegular(root, name)
	switch {
	case !ok:
		return "there is no " + name
	case err != nil:
		return fmt.Sprintf("%s cannot be read: %v", name, err)
	}
	defer log.Close()
	read(log)
	return ""
}

func (r *Row) note(about string, notes ...string) {
	for _, n := range notes {
		r.Notes = append(r.Notes, about+": "+n)
	}
}
