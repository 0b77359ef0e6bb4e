package timeline

import (
	"regexp"
	"strconv"
	"strings"

	"tunebench/internal/probe"
	"tunebench/internal/trainer"
)

// maxSteps is how many steps of one training are marked.
const maxSteps = 40

// Step is one step of the training, in seconds since the training began.
type Step struct {
	N  int
	At float64
}

// logged returns the steps that the Trainer logged, with its own clock.
func logged(r probe.Report) []Step {
	t := r.Trainer()
	if t == nil {
		return nil
	}
	var out []Step
	for _, entry := range t.Log {
		n, _ := entry.Get("step")
		at, _ := entry.Get("train_runtime")
		_, isStep := entry.Get("loss")
		if isStep && n.Known() && at.Known() {
			out = append(out, Step{N: int(n.Number), At: at.Number})
		}
	}
	return fewer(out)
}

// elapsed is the time in a bar of tqdm: 10/20 [00:12<00:09, 1.11it/s]. The first group is
// an hour where there are three.
var elapsed = regexp.MustCompile(`\[(?:(\d{1,4}):)?(\d{1,2}):(\d{2})<`)

// bars finds the steps in the progress bars of a text, to the second.
func bars(text string) []Step {
	var out []Step
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		n, _, ok := trainer.Bar(strings.ToValidUTF8(line, "\uFFFD"))
		m := elapsed.FindStringSubmatch(line)
		if !ok || m == nil || len(out) > 0 && n <= out[len(out)-1].N {
			continue
		}
		seconds := 0.0
		for _, part := range m[1:] {
			v, _ := strconv.Atoi(part) // Digits only, or nothing for an hour that is not there.
			seconds = seconds*60 + float64(v)
		}
		out = append(out, Step{N: n, At: seconds})
	}
	return fewer(out)
}

// fewer keeps some dozens of steps, the last among them.
func fewer(all []Step) []Step {
	every := (len(all) + maxSteps - 1) / maxSteps
	if every <= 1 {
		return all
	}
	var kept []Step
	for i := len(all) - 1; i >= 0; i -= every {
		kept = append([]Step{all[i]}, kept...)
	}
	return kept
}
