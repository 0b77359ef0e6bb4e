package page

import (
	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/table"
	"tunebench/internal/view"
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
	d := data{Unit: o.Unit.String(), Summary: view.Summary(t), Settings: []string{}, Same: [][]string{}, Rows: []row{}}
	for _, s := range view.Settings(t) {
		switch {
		case s.Name == "scenario": // it has a column of its own
		case s.Varies():
			d.Settings = append(d.Settings, s.Name)
		case s.Values[0] != "":
			d.Same = append(d.Same, []string{s.Name, s.Values[0]})
		}
	}
	names := view.Names(t)
	for i, r := range t.Rows {
		d.Rows = append(d.Rows, makeRow(r, names[i], d.Settings))
	}
	return d
}

// makeRow spells one row of the table.
func makeRow(r table.Row, name string, varying []string) row {
	out := row{
		Name: name, Folder: r.Dir, Scenario: r.Text("scenario"), Model: r.Text("model_name_or_path"),
		Method: view.Method(r), Batch: r.Text("per_device_train_batch_size"), GPUs: r.Text("num_gpus"),
		Status: string(r.Status), Word: view.Word(r), Settings: []string{},
		Peak: figure(r.Number(memory.TorchPeak)), Allocated: figure(r.Number(memory.TorchAllocated)), TorchMark: r.TorchMark.String(),
		Host: figure(r.Number(memory.HostPeakPSS)), HostMark: r.HostMark.String(),
		Speed: figure(r.Number("train_tokens_per_second")), Loss: figure(r.Number("train_loss")), Duration: figure(r.Number("duration_seconds")),
		Reason: view.Reason(r), Notes: r.Notes, Remarks: r.Remarks,
	}
	for _, setting := range varying {
		out.Settings = append(out.Settings, r.Text(setting))
	}
	m := view.MemoryOf(r)
	out.Memory, out.Source, out.Mark = figure(m.Value), string(m.Source), m.Mark.String()
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
