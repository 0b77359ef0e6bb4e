package matrix

import (
	"slices"

	"tunebench/internal/experiment"
	"tunebench/internal/scenario"
	"tunebench/internal/trainer"
)

// Settings and variables that tunebench itself sets.
const (
	outputDir    = "output_dir"
	trainingData = "training_data_path"
	skipMemory   = "skip_memory_metrics"
	packing      = "packing"
	maxSeqLen    = "max_seq_len"
	perDevice    = "per_device_train_batch_size"
	accumulation = "gradient_accumulation_steps"

	visibleDevices  = "CUDA_VISIBLE_DEVICES"
	deviceOrder     = "CUDA_DEVICE_ORDER"
	frameworkConfig = "ACCELERATION_FRAMEWORK_CONFIG_FILE"
)

func (p *planner) call(format string, args ...any) {
	p.complain(scenario.Position{}.Problem(format, args...))
}

// checkCall finds what is wrong in the call itself.
func (p *planner) checkCall() {
	names := p.Scenarios.Names()
	for _, name := range p.Only {
		if !slices.Contains(names, name) {
			p.call("--only %s: there is no such scenario in %s%s", name, p.Scenarios.Name, scenario.Suggest(name, names))
		}
	}
	for _, n := range p.NumGPUs {
		if n < 0 {
			p.call("--num-gpus %d: there is no such number of GPUs", n)
		}
	}
	for _, b := range p.BatchSizes {
		if b < 1 {
			p.call("--batch-sizes %d: a batch has at least one sample", b)
		}
	}
	for _, a := range p.Defaults.Arguments {
		p.reserved(a.Name, a.Position)
	}
}

func (p *planner) reserved(name string, at scenario.Position) {
	if name == outputDir {
		p.complain(at.Problem("%s is set by tunebench, to a folder of its own for each experiment", outputDir))
	}
}

// checkUnselected warns of what would be a problem if the scenario ran.
func (p *planner) checkUnselected(s scenario.Scenario) {
	for _, ref := range s.Frameworks {
		if _, ok := p.Frameworks.Lookup(ref.Name); !ok && ref.Name != "" {
			p.warn("%s: scenario %q, which is not selected, names the unknown framework configuration %q%s",
				ref.Position, s.Name, ref.Name, scenario.Suggest(ref.Name, p.Frameworks.ShortNames()))
		}
	}
}

// checkScenario finds what is wrong in all points of a scenario alike.
func (p *planner) checkScenario(s scenario.Scenario) {
	for _, a := range s.Arguments {
		p.reserved(a.Name, a.Position)
	}
	for _, a := range s.Matrix {
		p.reserved(a.Name, a.Position)
	}
	for _, v := range s.Env {
		if v.Name == visibleDevices || v.Name == frameworkConfig {
			p.complain(v.Position.Problem("%s is set by tunebench, from the matrix", v.Name))
		}
		if experiment.Secret(v.Name, v.Value) {
			p.warn("%s: %s looks like a secret, so its value is not recorded: exec, replay and command.sh take it from the environment",
				v.Position, v.Name)
		}
	}
	if kind := p.trainerOf(s); kind != trainer.Builtin {
		p.checkDevices()
	}
	for _, ref := range s.Frameworks {
		p.checkFramework(s, ref)
	}
}

func (p *planner) checkDevices() {
	for _, n := range p.NumGPUs {
		if p.DevicesKnown && n > len(p.Devices) {
			p.call("--num-gpus %d: only %d devices are visible (%q)", n, len(p.Devices), deviceList(p.Devices))
		}
	}
}

func (p *planner) checkFramework(s scenario.Scenario, ref scenario.Reference) {
	if ref.Name == "" {
		return
	}
	if kind := p.trainerOf(s); kind == trainer.HF || kind == trainer.Builtin {
		p.complain(ref.Position.Problem("the trainer %s reads no framework configuration: "+
			"its results under the label %q would be those of a run without", kind, ref.Name))
	}
	f, ok := p.Frameworks.Lookup(ref.Name)
	if !ok {
		p.complain(ref.Position.Problem("unknown framework configuration %q%s", ref.Name, p.frameworkHint(ref.Name)))
		return
	}
	if _, err := p.content(f.Path); err != nil {
		p.complain(f.Position.Problem("framework configuration %q: %v", ref.Name, err))
	}
}

func (p *planner) frameworkHint(name string) string {
	if len(p.Frameworks.Configs) == 0 {
		return ": no file of framework configurations (CONTENTS.yaml) was read"
	}
	return scenario.Suggest(name, p.Frameworks.ShortNames())
}
