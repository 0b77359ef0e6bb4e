package page

import (
	"cmp"
	"fmt"
	"maps"
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

// data is all that the page shows. Names are short, since there is one for each figure of
// each experiment.
type data struct {
	Unit     string     `json:"unit"` // of memory, at first
	Summary  string     `json:"summary"`
	Settings []string   `json:"settings"` // those that differ between the rows
	Same     [][]string `json:"same"`     // name and value of those that do not
	Rows     []row      `json:"rows"`
}

// row is one experiment. A figure is a number in base units, or a text: why there is none.
type row struct {
	Name     string   `json:"name"`
	Folder   string   `json:"folder"`
	Scenario string   `json:"scenario"`
	Model    string   `json:"model"`
	Method   string   `json:"method"`
	Batch    string   `json:"batch"`
	GPUs     string   `json:"gpus"`
	Status   string   `json:"status"`
	Word     string   `json:"word"`
	Settings []string `json:"set"`

	Memory    any    `json:"mem"`
	Source    string `json:"src"`  // where Memory is from
	Mark      string `json:"mark"` // before Memory: nothing, ~ or !
	Peak      any    `json:"tpeak"`
	Allocated any    `json:"talloc"`
	TorchMark string `json:"tmark"`
	Host      any    `json:"host"`
	HostMark  string `json:"hmark"`
	Speed     any    `json:"tps"`
	Loss      any    `json:"loss"`
	Duration  any    `json:"dur"`

	Reason  string     `json:"reason,omitempty"`
	Notes   []string   `json:"notes,omitempty"`
	Remarks []string   `json:"remarks,omitempty"`
	Ledger  []ledger   `json:"ledger,omitempty"`
	Env     [][]string `json:"env,omitempty"`
	Tail    string     `json:"tail,omitempty"`
	Curves  *curves    `json:"curves,omitempty"` // nil: the live page asks for them
}

func makeData(t table.Table, o Options) data {
	d := data{Unit: cmp.Or(o.Unit, "GiB"), Summary: summary(t), Settings: []string{}, Same: [][]string{}, Rows: []row{}}
	for _, name := range settings(t) {
		values := distinct(t, name)
		if len(values) > 1 {
			d.Settings = append(d.Settings, name)
		} else if values[0] != "" {
			d.Same = append(d.Same, []string{name, values[0]})
		}
	}
	names := names(t)
	for i, r := range t.Rows {
		d.Rows = append(d.Rows, makeRow(r, names[i], d.Settings))
	}
	return d
}

// makeRow spells one row of the table.
func makeRow(r table.Row, name string, varying []string) row {
	out := row{
		Name: name, Folder: r.Dir, Scenario: r.Text("scenario"), Model: r.Text("model_name_or_path"),
		Method: method(r), Batch: r.Text("per_device_train_batch_size"), GPUs: r.Text("num_gpus"),
		Status: string(r.Status), Word: word(r), Settings: []string{},
		Peak: figure(r.Number(memory.TorchPeak)), Allocated: figure(r.Number(memory.TorchAllocated)), TorchMark: r.TorchMark.String(),
		Host: figure(r.Number(memory.HostPeakPSS)), HostMark: r.HostMark.String(),
		Speed: figure(r.Number("train_tokens_per_second")), Loss: figure(r.Number("train_loss")), Duration: figure(r.Number("duration_seconds")),
		Reason: reason(r), Notes: r.Notes, Remarks: r.Remarks,
	}
	for _, setting := range varying {
		out.Settings = append(out.Settings, r.Text(setting))
	}
	v, source, sign := memoryOf(r)
	out.Memory, out.Source, out.Mark = figure(v), source, sign.String()
	for _, g := range r.Ledger {
		out.Ledger = append(out.Ledger, makeLedger(g))
	}
	return out
}

// figure is a number, or the text that says why there is none.
func figure(v metric.Value) any {
	if v.Known() {
		return v.Number
	}
	return v.Gap
}

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

func reason(r table.Row) string {
	switch {
	case r.Status == outcome.OK:
		return ""
	case r.Reason != "":
		return r.Reason
	}
	text := strings.TrimSpace(r.Text("error_messages"))
	if text == "" {
		return "no reason is known"
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// summary counts the experiments by the word for their end.
func summary(t table.Table) string {
	counts := map[outcome.Status]int{}
	for _, r := range t.Rows {
		counts[r.Status]++
	}
	var parts []string
	add := func(status outcome.Status) {
		if n := counts[status]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+progress.Word(status))
		}
		delete(counts, status)
	}
	for _, status := range append(progress.Statuses(), outcome.Running, outcome.Incomplete) {
		add(status)
	}
	for _, status := range slices.Sorted(maps.Keys(counts)) { // words that only another version knows
		add(status)
	}
	noun := "experiments"
	if len(t.Rows) == 1 {
		noun = "experiment"
	}
	if len(parts) == 0 {
		return "no experiments"
	}
	return fmt.Sprintf("%d %s: %s", len(t.Rows), noun, strings.Join(parts, ", "))
}
