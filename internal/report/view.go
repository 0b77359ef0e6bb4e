package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/progress"
	"tunebench/internal/table"
	"tunebench/internal/unit"
)

// line is one experiment as people read it.
type line struct {
	row        table.Row
	experiment string
	model      string
	method     string
	batch      string
	gpus       string
	status     string
	memory     string
	source     string // one of the sources of memory; empty where memory is a dash
	mark       memory.Mark
	largest    string // the device that grew most, as GiB@device; empty for less than two devices
	speed      string
	loss       string
	gaps       []string // why a dash of an experiment that ended ok is one
}

// The sources of the memory column, as a legend names them.
const (
	fromDevice    = "nvidia-smi (peak minus baseline, mean over devices)"
	fromNVML      = "driver, by NVML (peak minus baseline, mean over devices)"
	fromProcesses = "processes, by NVML (peak of their sum, mean over devices)"
	fromTorch     = "torch (peak allocated, rank 0)"
	fromHost      = "host (peak PSS of the process tree)"
)

func lines(t table.Table) []line {
	several := severalFolders(t)
	out := make([]line, 0, len(t.Rows))
	for _, r := range t.Rows {
		l := line{
			row:        r,
			experiment: r.Experiment,
			model:      orDash(r.Text("model_name_or_path")),
			method:     method(r),
			batch:      orDash(r.Text("per_device_train_batch_size")),
			gpus:       orDash(r.Text("num_gpus")),
			status:     word(r),
		}
		if several {
			l.experiment = filepath.Base(filepath.Dir(r.Dir)) + "/" + r.Experiment
		}
		l.measure(r)
		out = append(out, l)
	}
	return out
}

// severalFolders reports whether the rows are of more than one results folder, so
// that exp_0 alone does not say which.
func severalFolders(t table.Table) bool {
	for _, r := range t.Rows {
		if filepath.Dir(r.Dir) != filepath.Dir(t.Rows[0].Dir) {
			return true
		}
	}
	return false
}

// measure fills the columns of results. Where an experiment did not end ok its reason
// explains the dashes, so only an ended one lists them.
func (l *line) measure(r table.Row) {
	v, source, mark := memoryOf(r)
	l.memory = l.figure(v, "memory", gibibytes)
	if v.Known() {
		l.source, l.mark = source, mark
		l.memory = mark.String() + l.memory
	}
	if top, ok := r.Memory.Largest(); ok && len(r.Memory.Devices) > 1 && source != fromHost {
		l.largest = fmt.Sprintf("%s%s@%s", top.Mark, gibibytes(top.Reserved.Number*float64(unit.MiB)), top.ID())
	}
	l.speed = l.figure(r.Number("train_tokens_per_second"), "tok/s", speed)
	l.loss = l.figure(r.Number("train_loss"), "loss", loss)
}

func (l *line) figure(v metric.Value, name string, format func(float64) string) string {
	if v.Known() {
		return format(v.Number)
	}
	if l.row.Status == outcome.OK {
		l.gaps = append(l.gaps, name+": "+v.Gap)
	}
	return dash
}

// memoryOf returns the memory of an experiment in bytes, where it is from and how far it
// can be trusted: what the devices grew by, else torch's own peak; the host's memory
// where no GPU was asked for.
func memoryOf(r table.Row) (metric.Value, string, memory.Mark) {
	if r.Text("num_gpus") == "0" {
		return r.Number(memory.HostPeakPSS), fromHost, r.HostMark
	}
	nvidia, torch := r.Number(memory.NvidiaReserved), r.Number(memory.TorchPeak)
	switch {
	case nvidia.Known():
		return metric.Of(nvidia.Number * float64(unit.MiB)), counter(r), r.Memory.Mark
	case torch.Known():
		return torch, fromTorch, r.TorchMark
	}
	return metric.Missing(nvidia.Gap + "; " + torch.Gap), "", memory.Sure
}

// counter is which counter the devices' memory is from.
func counter(r table.Row) string {
	switch source := r.Text(memory.NvidiaSource); {
	case strings.Contains(source, "nvml"):
		return fromNVML
	case source == device.FromProcesses:
		return fromProcesses
	}
	return fromDevice
}

// unequal is the note on devices of which one grew more than their mean says.
func (l line) unequal() string {
	top, ok := l.row.Memory.Largest()
	mean := l.row.Number(memory.NvidiaReserved)
	if !ok || l.largest == "" || !mean.Known() || top.Reserved.Number <= mean.Number*1.005 {
		return ""
	}
	return fmt.Sprintf("device %s grew most: %s GiB", top.ID(), gibibytes(top.Reserved.Number*float64(unit.MiB)))
}

// method is the way of tuning: the PEFT method or full, and the framework's name.
func method(r table.Row) string {
	if _, known := r.Cell("framework_config"); !known {
		return dash
	}
	peft := r.Text("peft_method")
	if peft == "" || strings.EqualFold(peft, "none") {
		peft = "full"
	}
	if framework := r.Text("framework_config"); framework != "none" {
		return peft + "/" + framework
	}
	return peft
}

// word is the status as people read it; of a signal its name says more.
func word(r table.Row) string {
	if name := r.Text("signal"); r.Status == outcome.Signal && name != "" {
		return name
	}
	return progress.Word(r.Status)
}

// summary counts the experiments by the word for their end: 3 experiments: 2 ok, 1 oom.
func summary(t table.Table) string {
	counts := make(map[outcome.Status]int)
	var order []outcome.Status
	for _, r := range t.Rows {
		if counts[r.Status] == 0 && r.Status != outcome.OK {
			order = append(order, r.Status)
		}
		counts[r.Status]++
	}
	slices.Sort(order)
	parts := make([]string, 0, len(order)+1)
	for _, status := range append([]outcome.Status{outcome.OK}, order...) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[status], progress.Word(status)))
	}
	plural := "s"
	if len(t.Rows) == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d experiment%s: %s", len(t.Rows), plural, strings.Join(parts, ", "))
}
