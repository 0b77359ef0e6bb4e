package page

import (
	"strconv"
	"strings"
	"time"

	"tunebench/internal/memory"
	"tunebench/internal/record"
	"tunebench/internal/table"
)

// mark is a moment of an experiment, in seconds on the axis of the series.
type mark struct {
	Name string  `json:"n"`
	At   float64 `json:"s"`
}

// place puts what is known of the moments of an experiment on the axis of its series. When
// the training began is recorded nowhere, only how long it took. It is put so that it ended
// with the trainer's exit, which is late by the time that it took to save and to exit.
func (c *curves) place(t table.Row, b beside) {
	if c.zero.IsZero() || b.Record.Started.IsZero() {
		return
	}
	c.Marks = append(c.Marks, mark{Name: "start", At: c.at(b.Record.Started)})
	for _, g := range t.Ledger {
		if !g.At.IsZero() {
			c.Marks = append(c.Marks, mark{Name: "peak of device " + strconv.Itoa(g.Index), At: c.at(g.At)})
		}
	}
	if b.Record.Duration <= 0 {
		return
	}
	ended := b.Record.Started.Add(b.Record.Duration)
	c.Marks = append(c.Marks, mark{Name: "end", At: c.at(ended)})
	if b.exit.After(b.Record.Started) && b.exit.Before(ended) {
		ended = b.exit
	}
	trained := t.Number("train_runtime")
	end := c.at(ended)
	if !trained.Known() || trained.Number <= 0 || trained.Number > end-c.at(b.Record.Started) {
		return
	}
	c.Trained = []float64{end - trained.Number, end}
	if c.Steps = b.logged; len(c.Steps) == 0 {
		c.Steps = b.bars
	}
}

// at is a moment in seconds on the axis.
func (c *curves) at(moment time.Time) float64 {
	return float64(moment.Sub(c.zero).Milliseconds()) / 1000
}

// environment is where and with what an experiment ran, as names with values.
func environment(r table.Row, rec record.Record) [][]string {
	var out [][]string
	add := func(name, value string) {
		if value != "" {
			out = append(out, []string{name, value})
		}
	}
	add("host", rec.Hostname)
	add("GPU", r.Text(memory.DeviceName))
	for _, c := range r.Cells {
		if name, ok := strings.CutPrefix(c.Name, "version_"); ok && c.Kind == table.Own {
			add(name, c.String())
		}
	}
	add("tunebench", rec.Tunebench)
	return out
}
