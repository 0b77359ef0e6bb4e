package trainer

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"tunebench/internal/metric"
)

// Stdout is what Final.From says of metrics that were only printed.
const Stdout = "stdout"

// DerivedTokens is the name of the throughput that is worked out here where the trainer
// reports none: num_input_tokens_seen over train_runtime, in tokens per second. It is
// kept apart from train_tokens_per_second, which is the trainer's own.
const DerivedTokens = "derived_tokens_per_second"

const (
	runtimeKey = "train_runtime"
	lossKey    = "train_loss"
	tokensKey  = "num_input_tokens_seen"
	rateKey    = "train_tokens_per_second"
)

// Final is what a trainer reported of the whole training when it ended.
type Final struct {
	Metrics metric.Set // the trainer's own names and units; eval_ and predict_ keys are left out
	From    string     // the file that train_runtime came from: "stdout", "hf/all_results.json", ...
	Found   bool
	Notes   []string // doubts about the numbers, for the record
}

// ReadFinal reads the final metrics of a Hugging Face Trainer from what it printed and
// from what it wrote into its output directory. Either may be nil. Printed numbers may
// be rounded, so that a number from a file wins over the printed one, key by key.
//
// Files that are missing are no trouble and unreadable ones become notes; the error is
// that of reading stdout, and what was read until then is returned with it.
func ReadFinal(stdout io.Reader, outputDir fs.FS) (Final, error) {
	p := printed{
		distinct: map[[sha256.Size]byte]bool{},
		tokens:   metric.Missing(tokensKey + " was not reported"),
	}
	var err error
	if stdout != nil {
		err = EachLine(stdout, p.line)
	}
	files, notes := readFiles(outputDir)
	f := merge(p, files)
	f.Notes = append(f.Notes, notes...)
	return f, err
}

// merge lays what the files say over what was printed and adds what follows from both.
func merge(p printed, files []exact) Final {
	f := Final{Found: p.final != nil || len(files) > 0}
	if p.broken != "" {
		f.Notes = append(f.Notes, p.broken)
	}
	if !f.Found {
		return f
	}
	if p.final != nil {
		f.From = Stdout
	}
	if n := len(p.distinct); n > 1 {
		f.Notes = append(f.Notes, fmt.Sprintf("%d different final dicts", n))
	}
	m := overlay(p.final, files, &f)
	m = firstStages(m, p, &f)
	m = derive(m, p, &f)
	f.Metrics = m
	f.Notes = append(f.Notes, infinities(m)...)
	return f
}

func overlay(final dict, files []exact, f *Final) metric.Set {
	rounded := map[string]bool{}
	var m metric.Set
	for _, e := range final {
		if isTraining(e.key) {
			m = m.With(e.key, e.value)
			rounded[e.key] = e.quoted
		}
	}
	for _, file := range files {
		f.Notes = append(f.Notes, disagreements(final, file)...)
		f.From = file.name
		for _, e := range file.values {
			if isTraining(e.key) && (e.value.Known() || notFinite(e.value) || !has(m, e.key)) {
				m = m.With(e.key, e.value)
				delete(rounded, e.key)
			}
		}
	}
	for _, isRounded := range rounded {
		if isRounded {
			f.Notes = append(f.Notes, "values have 4 digits")
			break
		}
	}
	return m
}

// disagreements compares the two numbers that both places always have. More than
// rounding between them means that the file is of another training.
func disagreements(final dict, file exact) []string {
	var notes []string
	for _, key := range []string{runtimeKey, lossKey} {
		a, printed := final.get(key)
		b, written := file.values.get(key)
		if printed && written && a.Known() && b.Known() && differ(a.Number, b.Number) {
			notes = append(notes, fmt.Sprintf("%s has %s %s, stdout has %s", file.name, key, b, a))
		}
	}
	return notes
}

// differ allows for four digits, and for the Trainer's own rounding to 1e-4.
func differ(a, b float64) bool {
	return max(a-b, b-a) > 1e-3*max(a, -a, b, -b)+1e-4
}

// firstStages takes memory of the stages before training from an earlier dict. The
// Trainer's tracker hands it to whichever of train and evaluate ends first.
func firstStages(m metric.Set, p printed, f *Final) metric.Set {
	if _, ok := m.Get("train_mem_gpu_alloc_delta"); !ok {
		return m
	}
	taken := false
	for _, e := range p.stages {
		if _, ok := m.Get(e.Name); !ok {
			m, taken = m.With(e.Name, e.Value), true
		}
	}
	if taken {
		f.Notes = append(f.Notes, "memory of the stages before training is from an earlier dict")
	}
	return m
}

// derive adds the throughput that the trainer did not report. Tokens from an earlier log
// line are those of a part of the training, hence the note.
func derive(m metric.Set, p printed, f *Final) metric.Set {
	if rate, ok := m.Get(rateKey); ok && rate.Known() {
		return m
	}
	seconds, _ := m.Get(runtimeKey)
	tokens, ok := m.Get(tokensKey)
	if !ok {
		tokens = p.tokens
	}
	if !seconds.Known() || !tokens.Known() || seconds.Number <= 0 || tokens.Number <= 0 {
		return m
	}
	if !ok {
		f.Notes = append(f.Notes, DerivedTokens+" uses the tokens of an earlier log line: a lower bound")
	}
	return m.With(DerivedTokens, metric.Of(tokens.Number/seconds.Number))
}

func infinities(m metric.Set) []string {
	var notes []string
	for _, e := range m {
		if notFinite(e.Value) {
			notes = append(notes, e.Name+" is not finite: "+pythonSpelling(e.Value))
		}
	}
	return notes
}

func pythonSpelling(v metric.Value) string {
	switch {
	case isNaN(v):
		return "nan"
	case strings.HasPrefix(v.Text, "-"):
		return "-inf"
	}
	return "inf"
}

// isTraining reports whether a key is of the training and not of an evaluation. The step
// of trainer_state.json is no metric.
func isTraining(key string) bool {
	for _, other := range []string{"eval_", "predict_", "test_"} {
		if strings.HasPrefix(key, other) {
			return false
		}
	}
	return key != "" && key != "step"
}

func has(m metric.Set, key string) bool {
	_, ok := m.Get(key)
	return ok
}
