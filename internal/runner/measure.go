package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tunebench/internal/executor/local"
	"tunebench/internal/experiment"
	"tunebench/internal/outcome"
	"tunebench/internal/probe"
	"tunebench/internal/record"
	"tunebench/internal/trainer"
)

// Measurement is a command to be measured as it is.
type Measurement struct {
	Argv     []string
	Name     string // for people; empty: that of Dir
	Dir      string // an experiment's folder, made where it is missing
	Devices  []string
	Env      map[string]string // set on top of the inherited environment
	Sampling experiment.Sampling
	Stdio    local.Stdio
	Started  func() // called once the command has been started; may be nil
}

// Measure runs any command with the samplers and the probe around it, its standard
// files untouched, and writes the record into Dir.
func Measure(ctx context.Context, m Measurement, o Options) (rec record.Record, err error) {
	e, err := m.experiment()
	if err != nil {
		return rec, err
	}
	if err := describe(e); err != nil {
		return rec, err
	}
	held, left, err := take(e.Dir, o.grace())
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	o.warn(left)
	if err := errors.Join(forgetResults(e.Dir), writeScript(e, e.Argv)); err != nil {
		return rec, err
	}
	o.idle = newIdle()
	c := command{argv: e.Argv, token: held.token, attached: &m.Stdio, started: m.Started}
	rec, ending, err := watched(ctx, e, c, place{n: 1, total: 1, clock: newClock(1)}, o)
	if err != nil {
		return rec, err
	}
	// Of a command that ended well nothing more is known than that.
	ended := ending.ExitCode != nil && *ending.ExitCode == 0
	rec.Outcome = outcome.Judge(outcome.Evidence{Ending: ending, MetricsFound: ended, Logs: exceptions(e.Dir)})
	return rec, record.Write(e.Dir, rec)
}

func (m Measurement) experiment() (experiment.Experiment, error) {
	workdir, err := os.Getwd()
	if err != nil {
		return experiment.Experiment{}, fmt.Errorf("find the working folder: %w", err)
	}
	e := experiment.Experiment{
		Version: experiment.Version, Name: cmp.Or(m.Name, filepath.Base(m.Dir)), Scenario: "measure", Trial: 1, Trainer: trainer.Any,
		NumGPUs: len(m.Devices), Devices: m.Devices, Dir: m.Dir, Workdir: workdir,
		Argv: m.Argv, Env: m.Env, Sampling: m.Sampling,
		Settings: []experiment.Setting{{Name: "command", Values: m.Argv, List: true}},
	}
	e.ID = experiment.Identity(e)
	return e, nil
}

// exceptions gathers what the probe says of how processes died, as their own traceback
// would have: the command's standard error is the caller's alone.
func exceptions(dir string) outcome.LogEvidence {
	report, err := probe.Read(os.DirFS(filepath.Join(dir, record.ProbeDir)))
	if err != nil {
		return outcome.LogEvidence{}
	}
	var text strings.Builder
	for _, p := range report.Processes {
		if x := p.Exception; x != nil {
			fmt.Fprintf(&text, "Traceback (most recent call last):\n  File %q\n%s: %s\n\n", x.Where, x.Type, x.Message)
		}
	}
	return outcome.ScanLogs(strings.NewReader(text.String()))
}
