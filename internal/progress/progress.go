// Package progress is what a live view, plain lines and --json hear of a run.
//
// It has the event, the listener, and the two plain listeners: one line of JSON and
// one line of text for each event. A terminal view is left to package live.
package progress

import (
	"time"

	"tunebench/internal/outcome"
	"tunebench/internal/unit"
)

// Kind says what happened.
type Kind string

// The kinds of events, in the order in which an experiment causes them.
const (
	RunStarted  Kind = "run_started"  // Total is set
	Skipped     Kind = "skipped"      // a record of that identity exists
	Started     Kind = "started"      // the trainer is about to start
	Sampled     Kind = "sampled"      // Step, Memory: at most one a second
	Finished    Kind = "finished"     // Status, Reason, Duration
	Warned      Kind = "warning"      // Message; stopped nobody
	RunFinished Kind = "run_finished" // Counts
)

// Event is one thing that happened. Fields that do not belong to its kind are empty.
type Event struct {
	Kind       Kind                   `json:"event"`
	Time       time.Time              `json:"time"`
	Experiment string                 `json:"experiment,omitempty"` // exp_N
	Scenario   string                 `json:"scenario,omitempty"`
	Label      string                 `json:"label,omitempty"` // what sets it apart, for the eye
	N          int                    `json:"n,omitempty"`     // which one of Total, from 1
	Total      int                    `json:"total,omitempty"`
	Step       int                    `json:"step,omitempty"`
	Steps      int                    `json:"steps,omitempty"`
	Device     *unit.Bytes            `json:"device_memory_bytes,omitempty"` // the sum over its devices; nil: not known
	Host       *unit.Bytes            `json:"host_memory_bytes,omitempty"`
	Status     outcome.Status         `json:"status,omitempty"`
	Reason     string                 `json:"reason,omitempty"`
	Duration   float64                `json:"duration_seconds,omitempty"`
	Left       float64                `json:"seconds_left,omitempty"` // an estimate for the whole run; 0: not known
	Message    string                 `json:"message,omitempty"`
	Counts     map[outcome.Status]int `json:"counts,omitempty"`
}

// Listener hears events, one at a time, and does not block.
type Listener interface{ Event(Event) }
