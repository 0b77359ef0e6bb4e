package matrix

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"tunebench/internal/experiment"
	"tunebench/internal/scenario"
	"tunebench/internal/trainer"
)

// inPart is how many experiments get their identities together.
const inPart = 256

// unfold plans all points of one scenario. Identities are most of the work on a large plan,
// so they are computed beside the points that follow.
func (p *planner) unfold(s scenario.Scenario) {
	p.checkScenario(s)
	points := p.points(s)
	p.plan.Experiments = slices.Grow(p.plan.Experiments, len(points)) // so that no part moves
	var identities sync.WaitGroup
	for part := range slices.Chunk(points, inPart) {
		begin := len(p.plan.Experiments)
		for _, pt := range part {
			p.plan.Experiments = append(p.plan.Experiments, p.experiment(s, pt))
		}
		built := p.plan.Experiments[begin:]
		identities.Go(func() { identify(built) })
	}
	identities.Wait()
}

func identify(experiments []experiment.Experiment) {
	for i := range experiments {
		experiments[i].ID = experiment.Identity(experiments[i])
	}
}

// experiment builds one point. What is wrong with it is added to the problems.
func (p *planner) experiment(s scenario.Scenario, pt point) experiment.Experiment {
	name := folder(len(p.plan.Experiments))
	settings, warning := p.derive(s, pt, p.merge(s, pt))
	e := experiment.Experiment{
		Version: experiment.Version, Name: name, Scenario: s.Name, Trial: pt.trial,
		Trainer: p.trainerOf(s), NumGPUs: pt.gpus, EffectiveBatch: pt.batch,
		Settings: p.measured(s, settings), OwnEnv: ownEnv(s),
		Dir: filepath.Join(p.Out, name), Workdir: p.Workdir,
		Devices: p.devices(pt.gpus), Limits: p.limits(s),
		Sampling: p.Sampling,
	}
	if warning != "" {
		e.Warnings = []string{warning}
	}
	e.Framework, e.Data = p.framework(pt.framework), p.data(e)
	p.command(s, &e)
	p.environment(&e)
	return e
}

func folder(n int) string { return "exp_" + strconv.Itoa(n) }

func (p *planner) framework(short string) *experiment.Content {
	f, ok := p.Frameworks.Lookup(short)
	if short == "" || !ok {
		return nil // An unknown name was reported with its place.
	}
	content, err := p.content(f.Path)
	if err != nil {
		return nil // So was a file that cannot be read.
	}
	content.Name = short
	return content
}

// command sets the launcher and the command line.
func (p *planner) command(s scenario.Scenario, e *experiment.Experiment) {
	start := trainer.Start{
		Trainer: e.Trainer, Launcher: p.Launcher, Python: p.Python, NumGPUs: e.NumGPUs, Port: p.Port,
		Self: p.Self, Script: filepath.Join(e.Dir, "hf_trainer.py"),
		Args: append(e.Settings, experiment.Setting{Name: outputDir, Values: []string{filepath.Join(e.Dir, "hf")}}),
	}
	if start.Python == "" {
		start.Python = "python"
	}
	var err error
	if e.Launcher, err = start.ResolveLauncher(); err != nil {
		p.complain(s.Position.Problem("scenario %q: %v", s.Name, err))
		return
	}
	if e.Launcher == trainer.Accelerate && p.AccelerateConfig != "" {
		if e.Accelerate, err = p.content(p.AccelerateConfig); err != nil {
			p.call("the configuration of accelerate: %v", err)
			return
		}
		start.AccelerateConfig = e.Accelerate.Path
	}
	if e.Argv, e.PortArg, err = trainer.Command(start); err != nil {
		p.complain(s.Position.Problem("scenario %q: %v", s.Name, err))
	}
}

// environment sets what the trainer gets on top of the inherited environment.
func (p *planner) environment(e *experiment.Experiment) {
	e.Env = map[string]string{visibleDevices: deviceList(e.Devices)}
	// Always written, so that the command by hand and a replay count devices alike.
	e.Env[deviceOrder] = cmp.Or(p.UserDeviceOrder, "PCI_BUS_ID")
	if e.Framework != nil {
		e.Env[frameworkConfig] = e.Framework.Path
	} else {
		e.Unset = []string{frameworkConfig}
	}
	for name, value := range e.OwnEnv {
		e.Env[name] = value
	}
}

func ownEnv(s scenario.Scenario) map[string]string {
	if len(s.Env) == 0 {
		return nil
	}
	out := make(map[string]string, len(s.Env))
	for _, v := range s.Env {
		out[v.Name] = v.Value
	}
	return out
}

// devices returns the first n visible entries, or the first n indexes where it is
// not known what is visible. Too few are reported elsewhere.
func (p *planner) devices(n int) []string {
	if p.DevicesKnown {
		return slices.Clone(p.Devices[:max(min(n, len(p.Devices)), 0)])
	}
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func (p *planner) limits(s scenario.Scenario) experiment.Limits {
	limits := experiment.Limits{Timeout: p.Timeout, Stall: p.Stall, HostMemory: p.HostMemory}
	if s.Timeout > 0 {
		limits.Timeout = s.Timeout
	}
	if s.HostMemory > 0 {
		limits.HostMemory = s.HostMemory
	}
	return limits
}
