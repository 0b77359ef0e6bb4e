package matrix

import (
	"strconv"
	"strings"

	"tunebench/internal/experiment"
	"tunebench/internal/scenario"
)

// derive sets the missing one of the two batch keys. The effective batch counts the
// samples of one forward step over all GPUs, so accumulation does not enter where the
// batch per device is derived; where that is given, accumulation makes up the rest.
// Both divide as whole numbers, and what is lost is said in a warning.
func (p *planner) derive(s scenario.Scenario, pt point, settings []experiment.Setting) ([]experiment.Setting, string) {
	if pt.batch < 1 {
		return settings, ""
	}
	per, hasPer := find(settings, perDevice)
	_, hasAccumulation := find(settings, accumulation)
	if hasPer == hasAccumulation {
		p.complain(s.Position.Problem("scenario %q: with --batch-sizes exactly one of %s and %s is set and the other derived, but %s",
			s.Name, perDevice, accumulation, bothOrNeither(hasPer)))
		return settings, ""
	}
	gpus := max(pt.gpus, 1)
	if hasAccumulation {
		return p.derivePerDevice(s, pt, gpus, settings)
	}
	size, err := strconv.Atoi(per)
	if err != nil || size < 1 {
		p.complain(s.Position.Problem("scenario %q: %s must be a whole number from 1, not %q", s.Name, perDevice, per))
		return settings, ""
	}
	steps := max(pt.batch/gpus/size, 1)
	settings = append(settings, number(accumulation, steps))
	return settings, p.rounded(s, pt, size*gpus*steps)
}

func (p *planner) derivePerDevice(s scenario.Scenario, pt point, gpus int, settings []experiment.Setting) ([]experiment.Setting, string) {
	size := pt.batch / gpus
	if size == 0 {
		p.complain(s.Position.Problem("scenario %q: batch size %d leaves no sample for each of %d GPUs", s.Name, pt.batch, gpus))
		return settings, ""
	}
	return append(settings, number(perDevice, size)), p.rounded(s, pt, size*gpus)
}

// rounded warns where the batch that is used is not the one that was asked for.
func (p *planner) rounded(s scenario.Scenario, pt point, used int) string {
	if used == pt.batch {
		return ""
	}
	return p.warn("scenario %q: batch size %d on %d GPUs cannot be met, %d is really used", s.Name, pt.batch, pt.gpus, used)
}

func bothOrNeither(both bool) string {
	if both {
		return "both are: leave the value of one empty in the scenario"
	}
	return "neither is"
}

// find returns the text of a setting, of a list all values with blanks between.
func find(settings []experiment.Setting, name string) (string, bool) {
	for _, s := range settings {
		if s.Name == name {
			return strings.Join(s.Values, " "), true
		}
	}
	return "", false
}

func number(name string, n int) experiment.Setting {
	return experiment.Setting{Name: name, Values: []string{strconv.Itoa(n)}}
}
