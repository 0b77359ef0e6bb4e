package runner

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"mvdan.cc/sh/v3/syntax"

	"tunebench/internal/experiment"
)

// ScriptName is the name of the script that repeats an experiment's command by hand.
const ScriptName = "command.sh"

// script returns a bash script that starts argv in the experiment's environment and
// folder, byte for byte. Samplers are not in it: tunebench replay starts those too.
func script(e experiment.Experiment, argv []string) (string, error) {
	var b strings.Builder
	b.WriteString("#!/usr/bin/env bash\n")
	fmt.Fprintf(&b, "# %s: the training command alone. For the samplers too: tunebench replay DIR\n", e.Name)
	dir, err := quote(e.Workdir)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "cd %s || exit\n", dir)
	for _, name := range e.Unset {
		fmt.Fprintf(&b, "unset %s\n", name)
	}
	if err := exports(&b, e.Env); err != nil {
		return "", err
	}
	words := make([]string, len(argv))
	for i, arg := range argv {
		if words[i], err = quote(arg); err != nil {
			return "", err
		}
	}
	b.WriteString("exec " + strings.Join(words, " ") + "\n")
	return b.String(), nil
}

// exports writes the variables. One whose value is not recorded is demanded of the caller.
func exports(b *strings.Builder, env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if experiment.Secret(name, env[name]) {
			fmt.Fprintf(b, "# %s looks like a secret: its value is not recorded, that of your environment is used.\n", name)
			fmt.Fprintf(b, "export %s=\"${%s:?is not recorded: set it before}\"\n", name, name)
			continue
		}
		value, err := quote(env[name])
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "export %s=%s\n", name, value)
	}
	return nil
}

func quote(text string) (string, error) {
	quoted, err := syntax.Quote(text, syntax.LangBash)
	if err != nil {
		return "", fmt.Errorf("quote %q for a shell: %w", text, err)
	}
	return quoted, nil
}

// writeScript puts the script into the experiment's folder.
func writeScript(e experiment.Experiment, argv []string) error {
	text, err := script(e, argv)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(e.Dir, ScriptName), []byte(text), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", ScriptName, err)
	}
	return nil
}
