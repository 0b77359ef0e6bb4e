// Package runner runs experiments: skip or run, watch, judge, record, tell.
//
// Exec runs the one experiment that a folder describes and leaves its record there; the
// loop over a plan, the cluster's jobs and replay all call it. What an experiment is,
// how its devices are read and what its end means is left to the packages below.
package runner

import (
	"context"
	"time"

	"tunebench/internal/device/smi"
	"tunebench/internal/progress"
)

// Options are what Exec and Run need beside the experiment.
type Options struct {
	Self     string            // path of the tunebench binary, for the guard; empty: no guard
	Version  string            // of tunebench, for the record
	Environ  []string          // the environment that trainers inherit
	SMI      *smi.SMI          // nil: no nvidia-smi here
	NVML     string            // path of libnvidia-ml.so.1; empty: where the loader finds it
	Listener progress.Listener // hears what happens
	Grace    time.Duration     // between TERM and KILL; 0: DefaultGrace
	Hurry    context.Context   // done: end the current experiment at once; nil: never

	idle *idle // what devices hold when nobody uses them; Run keeps it over its experiments
}

// DefaultGrace is the time that a trainer has to end by itself after SIGTERM.
const DefaultGrace = 10 * time.Second

func (o Options) grace() time.Duration {
	if o.Grace > 0 {
		return o.Grace
	}
	return DefaultGrace
}

func (o Options) hurry() context.Context {
	if o.Hurry != nil {
		return o.Hurry
	}
	return context.Background()
}

func (o Options) tell(e progress.Event) {
	if o.Listener == nil {
		return
	}
	e.Time = time.Now()
	o.Listener.Event(e)
}
