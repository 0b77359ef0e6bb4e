package experiment

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Relocate returns the experiment in another folder: its name is that of the
// folder, and what lies under the old folder in the command and the environment
// lies under the new one. The identity stays. dir is absolute.
func (e Experiment) Relocate(dir string) Experiment {
	old := e.Dir
	if old == dir && e.Name == filepath.Base(dir) {
		return e
	}
	e.Dir, e.Name = dir, filepath.Base(dir)
	e.Argv, e.Env = slices.Clone(e.Argv), maps.Clone(e.Env)
	if old == "" {
		return e
	}
	for i, arg := range e.Argv {
		e.Argv[i] = under(arg, old, dir)
	}
	for name, value := range e.Env {
		e.Env[name] = under(value, old, dir)
	}
	return e
}

// under moves a path, or the path in --name=path, from below old to below dir.
func under(text, old, dir string) string {
	flag, path := "", text
	if strings.HasPrefix(text, "-") {
		if name, value, ok := strings.Cut(text, "="); ok {
			flag, path = name+"=", value
		}
	}
	if path == old {
		return flag + dir
	}
	if rest, ok := strings.CutPrefix(path, old+"/"); ok {
		return flag + filepath.Join(dir, rest)
	}
	return text
}
