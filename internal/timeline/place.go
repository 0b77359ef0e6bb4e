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
	if t.Trained = m.training(r); t.Trained != nil {
		t.Steps = m.steps
	}
}

// at is a moment in seconds on the axis.
func (m moments) at(moment time.Time) float64 {
	return float64(moment.Sub(m.zero).Milliseconds()) / 1000
}

func (m moments) ended() time.Time { return m.started.Add(m.duration) }

// training is when the experiment trained, as the probe recorded it; one that was cut short
// trained until its end.
func (m moments) training(r table.Row) *Band {
	ended := m.ended()
	switch {
	case m.duration <= 0:
		return nil
	case m.begun.Before(m.started) || m.begun.After(ended): // of no record, or of another clock
		return m.inferred(r)
	case m.trained.After(m.begun) && m.trained.Before(ended):
		ended = m.trained
	}
	return &Band{From: m.at(m.begun), To: m.at(ended)}
}

// inferred is when the experiment trained where only the Trainer says how long that took.
// It is put so that it ended with the trainer's exit, which is late by the time that it took
// to save and to exit.
func (m moments) inferred(r table.Row) *Band {
	ended := m.ended()
	if m.exit.After(m.started) && m.exit.Before(ended) {
		ended = m.exit
	}
	took := r.Number("train_runtime")
	end := m.at(ended)
	if !took.Known() || took.Number <= 0 || took.Number > end-m.at(m.started) {
		return nil
	}
	return &Band{From: end - took.Number, To: end, Inferred: true}
}
