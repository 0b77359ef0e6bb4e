package matrix

import (
	"path/filepath"
	"slices"

	"tunebench/internal/experiment"
)

// Place returns the plan with folders that fit what is on disk. existing maps the
// identities that were found to the names of their folders: a known experiment keeps
// its folder wherever it now stands in the plan. A new one gets the next number that
// neither existing nor taken has. The order of the plan stays.
func (p Plan) Place(existing map[string]string, taken []string) Plan {
	used := make(map[string]bool, len(existing)+len(taken))
	for _, name := range taken {
		used[name] = true
	}
	for _, name := range existing {
		used[name] = true
	}
	next := 0
	free := func() string {
		for used[folder(next)] {
			next++
		}
		next++
		return folder(next - 1)
	}
	out := Plan{Experiments: make([]experiment.Experiment, 0, len(p.Experiments)), Warnings: slices.Clone(p.Warnings)}
	for _, e := range p.Experiments {
		name, known := existing[e.ID]
		if !known {
			name = free()
		}
		out.Experiments = append(out.Experiments, e.Relocate(filepath.Join(filepath.Dir(e.Dir), name)))
	}
	return out
}
