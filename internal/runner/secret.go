package runner

import (
	"fmt"
	"maps"
	"strings"

	"tunebench/internal/experiment"
)

// MissingSecrets says that an experiment cannot be run again as it was: values that were
// not recorded are not in the caller's environment either.
type MissingSecrets struct {
	Experiment string
	Names      []string
}

// Error says what to set.
func (e *MissingSecrets) Error() string {
	return fmt.Sprintf("%s: %s: a value that looks like a secret is not recorded (set the variable in your environment first)",
		e.Experiment, strings.Join(e.Names, ", "))
}

// CheckSecrets returns a *MissingSecrets where the environment lacks what the experiment
// was started with and does not tell.
func CheckSecrets(e experiment.Experiment, environ []string) error {
	_, _, err := withSecrets(e, environ)
	return err
}

// withSecrets puts the caller's values in place of those that were not recorded, and says
// so for each.
func withSecrets(e experiment.Experiment, environ []string) (experiment.Experiment, []string, error) {
	withheld := e.Withheld()
	if len(withheld) == 0 {
		return e, nil, nil
	}
	missing := &MissingSecrets{Experiment: e.Name}
	var notes []string
	e.Env = maps.Clone(e.Env)
	for _, name := range withheld {
		value := inherited(environ, name)
		if value == "" {
			missing.Names = append(missing.Names, name)
			continue
		}
		e.Env[name] = value
		notes = append(notes, name+" looks like a secret: its value is not recorded, so that of the caller's environment was used")
	}
	if len(missing.Names) > 0 {
		return e, nil, missing
	}
	return e, notes, nil
}

// inherited returns the value of a variable, the last where it is given twice.
func inherited(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			value = text
		}
	}
	return value
}
