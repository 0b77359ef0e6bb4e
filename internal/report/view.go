package report

import (
	"fmt"

	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/table"
	"tunebench/internal/unit"
	"tunebench/internal/view"
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
	of         view.Memory // what memory shows
	largest    string      // the device that grew most, as 5.20@1; empty for less than two devices
	unequal    string      // the note on that device where it grew more than the mean says
	speed      string
	loss       string
	gaps       []string // why a dash of an experiment that ended ok is one
}

func lines(t table.Table, u view.Unit) []line {
	names := view.Names(t)
	out := make([]line, 0, len(t.Rows))
	for i, r := range t.Rows {
		l := line{
			row:        r,
			experiment: plain(names[i]),
			model:      orDash(r.Text("model_name_or_path")),
			method:     orDash(view.Method(r)),
			batch:      orDash(r.Text("per_device_train_batch_size")),
			gpus:       orDash(r.Text("num_gpus")),
			status:     view.Word(r),
			of:         view.MemoryOf(r),
		}
		l.measure(r, u)
		out = append(out, l)
	}
	return out
}

// measure fills the columns of results. Where an experiment did not end ok its reason
// explains the dashes, so only an ended one lists them.
func (l *line) measure(r table.Row, u view.Unit) {
	l.memory = l.of.Mark.String() + l.figure(l.of.Value, "memory", u.Format)
	if top, ok := r.Memory.Largest(); ok && len(r.Memory.Devices) > 1 && l.of.Source != view.FromHost {
		grown := top.Reserved.Number * float64(unit.MiB)
		l.largest = fmt.Sprintf("%s%s@%s", top.Mark, u.Format(grown), top.ID())
		if l.of.Value.Known() && grown > l.of.Value.Number*1.005 {
			l.unequal = fmt.Sprintf("device %s grew most: %s %s", top.ID(), u.Format(grown), u)
		}
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
