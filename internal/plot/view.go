package plot

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/progress"
	"tunebench/internal/table"
	"tunebench/internal/unit"
)

// memoryOf returns the memory of an experiment in bytes, where it is from and how far it
// can be trusted: what the devices grew by, else torch's own peak; the host's memory where
// no GPU was asked for. It is the same choice as in the other tables.
func memoryOf(r table.Row) (metric.Value, string, memory.Mark) {
	if r.Text("num_gpus") == "0" {
		return r.Number(memory.HostPeakPSS), "host: peak PSS of the process tree", r.HostMark
	}
	nvidia, torch := r.Number(memory.NvidiaReserved), r.Number(memory.TorchPeak)
	switch {
	case nvidia.Known():
		source := r.Text(memory.NvidiaSource)
		if source == "" {
			source = memory.LogSource
		}
		return metric.Of(nvidia.Number * float64(unit.MiB)), source + ": peak minus baseline, mean over devices", r.Memory.Mark
	case torch.Known():
		return torch, "torch: peak allocated, rank 0", r.TorchMark
	}
	return metric.Missing(nvidia.Gap + "; " + torch.Gap), "", memory.Sure
}

// method is the way of tuning: the PEFT method or full, and the framework's name.
func method(r table.Row) string {
	if _, known := r.Cell("framework_config"); !known {
		return ""
	}
	peft := r.Text("peft_method")
	if peft == "" || strings.EqualFold(peft, "none") {
		peft = "full"
	}
	if framework := r.Text("framework_config"); framework != "none" && framework != "" {
		return peft + "/" + framework
	}
	return peft
}

func word(r table.Row) string {
	if name := r.Text("signal"); r.Status == outcome.Signal && name != "" {
		return name
	}
	return progress.Word(r.Status)
}

// rowNames returns what the pictures call each row: its own name, with as much of its folder
// before it as sets it apart from all others.
func rowNames(t table.Table) []string {
	whole := make([]string, len(t.Rows))
	for i, r := range t.Rows {
		whole[i] = filepath.ToSlash(r.Dir)
	}
	out := make([]string, len(t.Rows))
	for depth := 1; depth <= 3; depth++ {
		count := map[string]int{}
		for i, r := range t.Rows {
			out[i] = short(r, whole[i], depth)
			count[out[i]]++
		}
		if len(count) == len(out) {
			return out
		}
	}
	for i := range whole { // a folder that was named twice stands twice
		out[i] = whole[i]
		if at := slices.Index(whole[:i], whole[i]); at >= 0 {
			out[i] += " (" + strconv.Itoa(i+1) + ")"
		}
	}
	return out
}

// short is the end of a folder's path, of that many parts; one part is the row's own name.
func short(r table.Row, path string, depth int) string {
	if depth == 1 {
		return r.Experiment
	}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	return strings.Join(append(parts[max(0, len(parts)-depth):len(parts)-1], r.Experiment), "/")
}
