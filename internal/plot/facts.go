package plot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/table"
	"tunebench/internal/view"
)

// facts is what the pictures tell of one row.
type facts struct {
	name, model, method, gpus, device string
	batch                             string
	status                            outcome.Status
	word, reason                      string
	memory, speed                     metric.Value
	source                            string // where memory is from
	sure                              bool   // of memory
}

func factsOf(r table.Row, name string) facts {
	m := view.MemoryOf(r)
	return facts{
		name: name, model: r.Text("model_name_or_path"), method: view.Method(r), gpus: r.Text("num_gpus"),
		device: r.Text(memory.DeviceName), batch: r.Text("per_device_train_batch_size"),
		status: r.Status, word: view.Word(r), reason: r.Reason,
		memory: m.Value, speed: r.Number("train_tokens_per_second"), source: string(m.Source), sure: m.Mark == memory.Sure,
	}
}

// asked is what the experiment was asked to do, and on what.
func (f facts) asked() []string {
	var out []string
	add := func(before, text, after string) {
		if text != "" {
			out = append(out, before+text+after)
		}
	}
	add("", f.model, "")
	add("", f.method, "")
	add("batch ", f.batch, "")
	add("", f.onGPUs(), "")
	add("", f.device, "")
	return out
}

func (f facts) onGPUs() string {
	switch f.gpus {
	case "":
		return ""
	case "0":
		return "no GPU"
	case "1":
		return "1 GPU"
	}
	return f.gpus + " GPUs"
}

// failed reports whether the experiment ended otherwise than ok.
func (f facts) failed() bool { return f.status != outcome.OK && f.status != outcome.Running }

// ending is the word for the end, with the reason.
func (f facts) ending() string { return strings.TrimSuffix(f.word+": "+f.reason, ": ") }

// batchSize returns the batch size as a number; ok is false where it is none.
func (f facts) batchSize() (n float64, ok bool) {
	n, err := strconv.ParseFloat(f.batch, 64)
	return n, err == nil && n > 0 && n < 1e9
}

// model is the rows of one model.
type model struct {
	name string
	rows []facts
}

// byModel groups the rows by their model, by name.
func byModel(t table.Table, names []string) []model {
	var out []model
	for i, r := range t.Rows {
		f := factsOf(r, names[i])
		at := slices.IndexFunc(out, func(m model) bool { return m.name == f.model })
		if at < 0 {
			at, out = len(out), append(out, model{name: f.model})
		}
		out[at].rows = append(out[at].rows, f)
	}
	slices.SortStableFunc(out, func(a, b model) int { return cmp.Compare(a.name, b.name) })
	return out
}

func namesOf(models []model) []string {
	var out []string
	for _, m := range models {
		out = append(out, m.name)
	}
	return out
}
