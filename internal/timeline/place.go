package timeline

import (
	"fmt"
	"time"

	"tunebench/internal/table"
)

// farApart is how far from the first reading no trainer is started. The record and the
// logs are of different clocks then, or of different runs.
const farApart = 10 * time.Minute

// place puts what is known of the moments on the axis of the curves.
func (t *Timeline) place(r table.Row, m moments) {
	if m.zero.IsZero() || m.started.IsZero() {
		return
	}
	if apart := m.started.Sub(m.zero).Abs(); apart > farApart {
		t.note(fmt.Sprintf("the record's start is %s from the first reading, so start, training and end are not marked", apart.Round(time.Second)))
		return
	}
	t.Marks = append(t.Marks, Mark{Name: "start", At: m.at(m.started)})
	if m.duration > 0 {
		t.Marks = append(t.Marks, Mark{Name: "end", At: m.at(m.ended())})
	}
	if t.Trained = m.trained(r); t.Trained != nil {
		t.Steps = m.steps
	}
}

// at is a moment in seconds on the axis.
func (m moments) at(moment time.Time) float64 {
	return float64(moment.Sub(m.zero).Milliseconds()) / 1000
}

func (m moments) ended() time.Time { return m.started.Add(m.duration) }

// trained is when the experiment trained. The Trainer says only how long that took. It is
// put so that it ended with the trainer's exit, which is late by the time that it took to
// save and to exit.
func (m moments) trained(r table.Row) *Band {
	if m.duration <= 0 {
		return nil
	}
	ended := m.ended()
	if m.exit.After(m.started) && m.exit.Before(ended) {
		ended = m.exit
	}
	took := r.Number("train_runtime")
	end := m.at(ended)
	if !took.Known() || took.Number <= 0 || took.Number > end-m.at(m.started) {
		return nil
	}
	return &Band{From: end - took.Number, To: end}
}
