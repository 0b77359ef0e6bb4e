package trainer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/metric"
)

// Step is how far a training is.
type Step struct {
	Step, Total int          // from the progress bar; Total 0: no bar was seen
	Loss        metric.Value // of the last logging step
}

// A bar of tqdm: percentage, bar, count, total, times. A bar with a description has it
// before the percentage, which is why the percentage must come first, behind no more
// than a rank, or follow a bar or a dict that ended before it on the same line.
var bar = regexp.MustCompile(`(?:^(?:\[\w+\]:|\d+:)?|[\]}])\s*\d{1,3}%\|[^|\r\n]*\|\s*(\d{1,9})/(\d{1,9}) \[`)

// cursorUp ends a bar that is drawn below another: the evaluation inside a training.
const cursorUp = "\x1b[A"

// LastStep finds the current step and loss in the end of a trainer's stdout or stderr,
// of whatever length. Bars with a description (shards being loaded, a data set being
// mapped) and the bar of an evaluation are not the training's. It is false where
// neither a bar nor a loss is in the tail.
func LastStep(tail []byte) (Step, bool) {
	s := Step{Loss: metric.Missing("no loss was printed lately")}
	text := strings.ToValidUTF8(string(tail), "\uFFFD")
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\r' || r == '\n' })
	for _, line := range slices.Backward(lines) {
		if n, total, ok := Bar(line); ok {
			s.Step, s.Total = n, total
			break
		}
	}
	loss, ok := lastLoss(text)
	if ok {
		s.Loss = loss
	}
	return s, ok || s.Total > 0
}

// Bar reads the training's progress bar in a line; ok is false where there is none.
func Bar(line string) (step, total int, ok bool) {
	if !strings.Contains(line, "%|") || strings.Contains(line, cursorUp) {
		return 0, 0, false
	}
	all := bar.FindAllStringSubmatch(line, -1)
	if len(all) == 0 {
		return 0, 0, false
	}
	m := all[len(all)-1]
	step, _ = strconv.Atoi(m[1]) // At most nine digits: it cannot overflow.
	total, _ = strconv.Atoi(m[2])
	if total == 0 || step > total {
		return 0, 0, false
	}
	return step, total, true
}

func lastLoss(text string) (metric.Value, bool) {
	for range maxDictsInLine {
		at := strings.LastIndex(text, "{'loss'")
		if at < 0 {
			break
		}
		if v, ok := lossAt(text[at:]); ok {
			return v, true
		}
		text = text[:at] // Cut off or broken: the one before is as good.
	}
	return metric.Value{}, false
}

func lossAt(text string) (metric.Value, bool) {
	end, ok := dictEnd(text)
	if !ok {
		return metric.Value{}, false
	}
	d, err := parseDict(text[:end])
	if err != nil {
		return metric.Value{}, false
	}
	return d.get("loss")
}
