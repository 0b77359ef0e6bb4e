// Package matrix unfolds scenarios into experiments, in reading order: the last axis
// turns fastest.
//
// It has the request of a call, the precedence of settings (scenario, then call, then
// defaults), the derivation of batch keys, and the names of folders. Every mistake is
// found before anything runs. Reading the files that people write is left to package
// scenario, the form of a command line to package trainer.
package matrix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tunebench/internal/experiment"
	"tunebench/internal/scenario"
	"tunebench/internal/trainer"
	"tunebench/internal/unit"
)

// Request is all that a call says about what is to run.
type Request struct {
	Scenarios  scenario.File
	Defaults   scenario.Defaults
	Frameworks scenario.Frameworks
	Only       []string // names of scenarios; empty: all that are not slow

	NumGPUs    []int    // empty: 1
	BatchSizes []int    // effective batch sizes; empty: the scenarios' own batch keys stand
	Packing    []string // values of packing; empty: no axis
	MaxSeqLen  []string // values of max_seq_len; empty: no axis
	Repeats    int      // trials of each point where the scenario says nothing; 0: 1

	Devices         []string // the visible entries; meaningful only where DevicesKnown
	DevicesKnown    bool
	UserDeviceOrder string // CUDA_DEVICE_ORDER of the user's environment; kept where it is set

	Trainer          string // for scenarios that name none; empty: fms
	Launcher         string // see trainer.Start
	Python           string // empty: python
	Self             string // this program
	Port             int
	AccelerateConfig string // path; empty: none
	DataFile         string // path of the training data; empty: what the scenario says
	Out              string // absolute
	Workdir          string // absolute

	Sampling   experiment.Sampling
	Timeout    time.Duration // limits where the scenario says nothing; 0: none
	Stall      time.Duration
	HostMemory unit.Bytes
}

// Plan is what a request unfolds to.
type Plan struct {
	Experiments []experiment.Experiment
	Warnings    []string // doubts that stop nobody
}

// planner unfolds one request.
type planner struct {
	Request
	plan     Plan
	problems []scenario.Problem
	contents map[string]digest
}

// Unfold returns the experiments in the order in which they run. With any problem
// there are none: half a matrix would be taken for the whole.
func Unfold(r Request) (Plan, []scenario.Problem) {
	p := &planner{Request: r, contents: map[string]digest{}}
	if len(p.NumGPUs) == 0 {
		p.NumGPUs = []int{1}
	}
	p.checkCall()
	selected := 0
	for _, s := range r.Scenarios.Scenarios {
		if !p.selected(s) {
			p.checkUnselected(s)
			continue
		}
		selected++
		p.unfold(s)
	}
	if selected == 0 && len(p.problems) == 0 {
		p.complain(scenario.Problem{Message: "no scenario is selected: slow scenarios run only where --only names them"})
	}
	if len(p.problems) == 0 {
		p.compare() // Points that lack what a problem took from them would look alike.
	}
	if len(p.problems) > 0 {
		return Plan{Warnings: p.plan.Warnings}, p.problems
	}
	return p.plan, nil
}

func (p *planner) selected(s scenario.Scenario) bool {
	if len(p.Only) > 0 {
		return slices.Contains(p.Only, s.Name)
	}
	return !s.Slow
}

// complain says everything once: many points share a mistake.
func (p *planner) complain(problem scenario.Problem) {
	if !slices.Contains(p.problems, problem) {
		p.problems = append(p.problems, problem)
	}
}

func (p *planner) warn(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(p.plan.Warnings, text) {
		p.plan.Warnings = append(p.plan.Warnings, text)
	}
	return text
}

// trainerOf returns the trainer of a scenario.
func (p *planner) trainerOf(s scenario.Scenario) string {
	switch {
	case s.Trainer != "":
		return s.Trainer
	case p.Trainer != "":
		return p.Trainer
	}
	return trainer.FMS
}

// compare finds points that cannot be told apart, and points that differ only in
// the batch size that was asked for.
func (p *planner) compare() {
	ids, inputs, reported := map[string]*experiment.Experiment{}, map[string]*experiment.Experiment{}, map[string]bool{}
	for i := range p.plan.Experiments {
		e := &p.plan.Experiments[i]
		if first, ok := ids[e.ID]; ok {
			if reported[e.Scenario] {
				continue
			}
			reported[e.Scenario] = true
			p.complain(p.positionOf(e.Scenario).Problem("scenario %q: %s and %s are the same, a value of some axis is given twice", e.Scenario, first.Name, e.Name))
			continue
		}
		ids[e.ID] = e
		input := withoutBatch(*e)
		if first, ok := inputs[input]; ok {
			p.warn("scenario %q: batch sizes %d and %d on %d GPUs come to the same arguments, both are run",
				e.Scenario, first.EffectiveBatch, e.EffectiveBatch, e.NumGPUs)
			continue
		}
		inputs[input] = e
	}
}

// withoutBatch is the identity of what an experiment comes to, whatever batch was asked for.
func withoutBatch(e experiment.Experiment) string {
	if e.EffectiveBatch == 0 {
		return e.ID
	}
	e.EffectiveBatch = 0
	return experiment.Identity(e)
}

func (p *planner) positionOf(name string) scenario.Position {
	for _, s := range p.Scenarios.Scenarios {
		if s.Name == name {
			return s.Position
		}
	}
	return scenario.Position{File: p.Scenarios.Name}
}

// deviceList spells entries as CUDA_VISIBLE_DEVICES does.
func deviceList(entries []string) string { return strings.Join(entries, ",") }
