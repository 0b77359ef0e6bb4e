package table

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
	"tunebench/internal/unit"
)

// HostNotes is what the notes on the host's memory begin with.
const HostNotes = "host memory"

// The logs inside an experiment's folder.
const (
	deviceLog  = "gpu_memory_logs.csv"
	hostLog    = "host_memory_logs.csv"
	processLog = "gpu_process_logs.csv"
)

// Options says how figures are computed.
type Options struct {
	Stages memory.Stages // which of the Trainer's stages count; empty: memory.StagesSeed
}

// addMemory adds the figures of memory. They are computed here, from the logs and the
// trainer's metrics, and kept nowhere. Of an experiment that still runs there are
// none: its peak may be yet to come.
func (r *Row) addMemory(root *os.Root, rec record.Record, p inside, o Options) {
	if r.Status == outcome.Running {
		return
	}
	r.Memory = r.readDevices(root, rec)
	if o.Stages == "" {
		o.Stages = memory.StagesSeed
	}
	peak := r.addTorch(rec, p, o)
	if len(p.uses) == 0 {
		doubts := memory.Compare(r.Memory, peak)
		r.note("GPU memory", doubts...)
		if len(doubts) > 0 {
			r.Memory.Mark = max(r.Memory.Mark, memory.Doubtful)
		}
	}
	r.addLedger(root, rec, p)
	r.addDevices(rec)
	r.addHost(root, rec)
}

// readDevices reads what was seen of the devices' memory.
func (r *Row) readDevices(root *os.Root, rec record.Record) memory.NvidiaFigures {
	var figures memory.NvidiaFigures
	gap := readLog(root, deviceLog, func(log io.Reader) {
		figures = memory.Nvidia(log, watched(rec))
	})
	if gap != "" {
		figures.Reserved = metric.Missing(unlogged(gap, rec.Watch))
	}
	if rec.Watch == nil || rec.Watch.Summary == nil {
		return figures
	}
	run := memory.Run{Started: rec.Started, Ended: rec.Started.Add(rec.Duration)}
	return memory.Watched(*rec.Watch.Summary, figures, run)
}

// unlogged says why there is no log: what the run knows of it goes before what is seen now.
func unlogged(gap string, w *record.Watch) string {
	switch {
	case w != nil && w.Gap != "":
		return "device memory was not logged: " + w.Gap
	case w != nil && w.Exit != "":
		return gap + "; the logger ended by itself: " + w.Exit
	}
	return gap
}

// addDevices adds the cells of the devices' memory. Those that the first harness did
// not have stand only where we watched.
func (r *Row) addDevices(rec record.Record) {
	f := r.Memory
	r.addNumber(Result, memory.NvidiaReserved, f.Reserved)
	if f.Name == "" {
		f.Name = models(rec.Watch)
	}
	r.addText(Setting, memory.DeviceName, f.Name)
	r.note("GPU memory", f.Doubts...)
	for _, text := range f.Remarks {
		r.Remarks = append(r.Remarks, "GPU memory: "+text)
	}
	if rec.Watch == nil {
		return
	}
	largest, ok := f.Largest()
	grown, on := metric.Missing(f.Reserved.Gap), ""
	if ok {
		grown, on = inBytes(largest.Reserved), largest.ID()
	}
	r.addNumber(Result, memory.NvidiaMax, grown)
	r.addText(Result, memory.NvidiaMaxOn, on)
	r.addNumber(Result, memory.NvidiaMean, inBytes(f.MeanGrowth()))
	r.addText(Result, memory.NvidiaSource, sources(f))
	if s := rec.Watch.Summary; s != nil {
		r.addNumber(Result, memory.Energy, memory.Joules(*s))
	}
}

func inBytes(mib metric.Value) metric.Value {
	if !mib.Known() {
		return mib
	}
	return metric.Of(mib.Number * float64(unit.MiB))
}

// sources names the counters of the devices, each once.
func sources(f memory.NvidiaFigures) string {
	var all []string
	for _, d := range f.Devices {
		all = append(all, d.Source)
	}
	return strings.Join(distinct(all), "; ")
}

// heartbeat is how often NVML's sampler writes a row of a device that does not change.
const heartbeat = time.Second

// watched says what is known of a log beside its rows.
func watched(rec record.Record) memory.NvidiaOptions {
	w := rec.Watch
	if w == nil {
		return memory.NvidiaOptions{}
	}
	o := memory.NvidiaOptions{
		BaselineSource: w.Source, LogSource: w.Source, LoggerExit: w.Exit,
		Interval: w.Interval, Duration: rec.Duration,
	}
	if w.Source != memory.LogSource {
		o.Interval = max(o.Interval, heartbeat)
	}
	if w.Summary != nil {
		o.LoggerExit = cmp.Or(w.Summary.Exit, o.LoggerExit)
		o.Taken = make(map[int]int)
		for _, d := range w.Summary.Devices {
			o.Taken[d.Index] = d.Samples
		}
	}
	for _, b := range w.Baseline {
		o.Baselines = append(o.Baselines, device.Level{Index: b.Index, Used: b.Used})
	}
	if w.Summary == nil || len(o.Baselines) > 0 {
		return o
	}
	for _, d := range w.Summary.Devices {
		if d.Source != device.FromProcesses && d.Baseline.Used.Known() {
			o.Baselines = append(o.Baselines, device.Level{Index: d.Index, Used: d.Baseline.Used})
		}
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
	if len(figures.Doubts) > 0 {
		r.HostMark = memory.Doubtful
	}
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

// readProcesses reads the log of the devices' processes, where there is one.
func (r *Row) readProcesses(root *os.Root) (spans []memory.ProcessSpan) {
	if _, err := root.Stat(processLog); err != nil {
		return nil
	}
	gap := readLog(root, processLog, func(log io.Reader) {
		var err error
		if spans, err = memory.Processes(log); err != nil {
			r.note("GPU memory", fmt.Sprintf("%s could not be read to its end: %v", processLog, err))
		}
	})
	if gap != "" {
		r.note("GPU memory", gap)
	}
	return spans
}
