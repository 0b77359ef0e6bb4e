package trainer

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"tunebench/internal/metric"
)

// Bounds on what is looked at: dicts in one line and distinct final dicts counted.
const (
	maxDictsInLine = 64
	maxDistinct    = 1000
)

// printed is what the dicts of a log add up to.
type printed struct {
	final    dict                       // the last final dict
	distinct map[[sha256.Size]byte]bool // the final dicts, by their text
	stages   metric.Set                 // memory before training, from dicts before the final one
	tokens   metric.Value               // the last num_input_tokens_seen of a log line
	broken   string                     // why the last dict that looked final could not be read
}

// line looks for Python dicts anywhere in a line, since a progress bar or the prefix of
// a rank may stand before them. Python prints keys in single quotes; JSON, which
// scripts print for themselves, has double quotes and is passed by.
func (p *printed) line(line string) {
	for range maxDictsInLine {
		start := strings.Index(line, "{'")
		if start < 0 {
			return
		}
		line = line[start:]
		end, ok := dictEnd(line)
		if !ok {
			p.unread(line, "it does not end on its line")
			line = line[len("{'"):]
			continue
		}
		p.dict(line[:end])
		line = line[end:]
	}
}

func (p *printed) dict(text string) {
	if !strings.Contains(text, "_") {
		return // None of the keys that matter is without one.
	}
	d, err := parseDict(text)
	switch {
	case err != nil:
		p.unread(text, err.Error())
	case isFinal(d):
		p.final, p.broken = d, ""
		if len(p.distinct) < maxDistinct {
			p.distinct[sha256.Sum256([]byte(text))] = true
		}
	default:
		p.earlier(d)
	}
}

// earlier keeps what a dict before the final one may have to lend.
func (p *printed) earlier(d dict) {
	for _, e := range d {
		if p.final == nil && isFirstStage(e.key) {
			p.stages = p.stages.With(e.key, e.value)
		}
	}
	if tokens, ok := d.get(tokensKey); ok {
		p.tokens = tokens
	}
}

func (p *printed) unread(text, why string) {
	if strings.Contains(text, "'"+runtimeKey+"'") && !strings.Contains(text, "'loss'") {
		p.broken = fmt.Sprintf("a final dict on stdout could not be read: %s", why)
	}
}

// isFinal tells the dict of the whole training from a logging step: transformers 5
// prints train_runtime in each step, beside loss.
func isFinal(d dict) bool {
	return d.has(runtimeKey) && !d.has("loss") &&
		d.has(lossKey, "train_samples_per_second", "train_steps_per_second")
}

// isFirstStage names the memory keys of the stages before training.
func isFirstStage(key string) bool {
	return strings.HasPrefix(key, "before_init_mem_") || strings.HasPrefix(key, "init_mem_")
}
