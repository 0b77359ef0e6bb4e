package matrix

import (
	"path/filepath"
	"slices"

	"tunebench/internal/experiment"
	"tunebench/internal/scenario"
)

// merge returns the settings of a point. What a scenario says wins, then the call's
// matrix, then the defaults, which every scenario gets whole. A setting with no value
// keeps what comes later from setting it, and is not handed on.
func (p *planner) merge(s scenario.Scenario, pt point) []experiment.Setting {
	const ours = 4 // that are added later: batch, data, memory and the output
	most := len(s.Arguments) + len(pt.chosen) + len(pt.call) + len(p.Defaults.Arguments)
	out := make([]experiment.Setting, 0, most+ours)
	taken := make([]string, 0, most) // few, so a search along them is shorter than a map
	model := argument(pt.chosen, scenario.Model)
	add := func(arguments []scenario.Argument) {
		for _, a := range arguments {
			if a.Name == scenario.Model && model.Name != "" {
				a = model // this point's, at the place of the list of models
			}
			if slices.Contains(taken, a.Name) {
				continue
			}
			taken = append(taken, a.Name)
			if !a.Null {
				out = append(out, experiment.Setting{Name: a.Name, Values: a.Values, List: a.List})
			}
		}
	}
	add(s.Arguments)
	add(pt.chosen)
	add(pt.call)
	if p.DataFile != "" {
		taken = append(taken, trainingData)
	}
	taken = append(taken, skipMemory) // The call always says how memory is measured.
	add(p.Defaults.Arguments)
	return out
}

// measured appends what the call says about data and memory, unless the scenario
// speaks of it.
func (p *planner) measured(s scenario.Scenario, settings []experiment.Setting) []experiment.Setting {
	if p.DataFile != "" && !sets(s, trainingData) {
		if data, err := p.content(p.DataFile); err != nil {
			p.call("the training data: %v", err)
		} else {
			settings = append(settings, experiment.Setting{Name: trainingData, Values: []string{data.Path}})
		}
	}
	skip := "True"
	if slices.Contains(p.Sampling.Memory, experiment.MemoryTracker) {
		skip = "False"
	}
	if sets(s, skipMemory) {
		p.warn("scenario %q sets %s itself, the call would set it to %s", s.Name, skipMemory, skip)
		return settings
	}
	return append(settings, experiment.Setting{Name: skipMemory, Values: []string{skip}})
}

// data returns the training data of an experiment, which is known where a setting
// names a file that can be read.
func (p *planner) data(e experiment.Experiment) *experiment.Content {
	setting, ok := e.Setting(trainingData)
	if !ok || len(setting.Values) != 1 || setting.Values[0] == "" {
		return nil
	}
	path := setting.Values[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Workdir, path)
	}
	content, err := p.content(path)
	if err != nil {
		p.warn("scenario %q: the training data cannot be read, so a change of its content would go unseen: %v", e.Scenario, err)
		return nil
	}
	return content
}
