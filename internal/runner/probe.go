package runner

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"tunebench/internal/experiment"
	"tunebench/internal/probe"
	"tunebench/internal/record"
	"tunebench/internal/trainer"
)

// siteDir is the folder of the probe's Python files, below that of its records.
const siteDir = "python"

// installProbe puts the probe into the experiment's folder and returns the environment
// with it. Trouble with the probe never fails an experiment.
func installProbe(e experiment.Experiment, argv, env []string) ([]string, *record.Probe) {
	if !slices.Contains(e.Sampling.Memory, experiment.MemoryProbe) || e.Trainer == trainer.Builtin {
		return env, nil
	}
	p := &record.Probe{}
	if ignored := probe.Ignored(argv); ignored != "" {
		p.Notes = append(p.Notes, ignored)
	}
	out := filepath.Join(e.Dir, record.ProbeDir)
	site := filepath.Join(out, siteDir)
	if err := probe.Install(site); err != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("the probe could not be installed: %v", err))
		return env, p
	}
	added := probe.Env(site, out, env)
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return named(entry, added) })
	for _, name := range slices.Sorted(maps.Keys(added)) {
		env = append(env, name+"="+added[name])
	}
	return env, p
}

// noteIgnored adds why the probe was not in processes that ran; nil: it was off.
func noteIgnored(p *record.Probe, why []string) {
	if p == nil {
		return
	}
	for _, text := range why {
		if !slices.Contains(p.Notes, text) {
			p.Notes = append(p.Notes, text)
		}
	}
}
