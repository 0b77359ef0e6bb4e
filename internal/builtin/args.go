package builtin

import (
	"fmt"
	"strings"
)

// options is what the command line asks for. Names and defaults are those of the
// Hugging Face TrainingArguments and of LoRA tuning scripts, where these have them.
type options struct {
	model        string
	batch        int
	accumulation int
	maxSteps     int // 0 or less: epochs decide
	epochs       float64
	length       int
	learningRate float64
	warmupSteps  int
	weightDecay  float64
	epsilon      float64
	beta1, beta2 float64
	maxGradNorm  float64
	schedule     string
	loggingSteps int
	logging      string // steps, epoch or no
	seed         uint64
	peft         string // lora, or empty for full fine-tuning
	rank         int
	alpha        float64
	dropout      float64
	targets      map[string]bool
	outputDir    string
	skipMemory   bool
	dataPath     string
	dataField    string
	perSecond    bool // print tokens per second
	warnings     []string
}

func defaultOptions() options {
	return options{
		model: "builtin:small", batch: 8, accumulation: 1, maxSteps: -1, epochs: 3,
		length: 128, learningRate: 5e-5, epsilon: 1e-8, beta1: 0.9, beta2: 0.999,
		maxGradNorm: 1, schedule: "linear", loggingSteps: 500, logging: "steps", seed: 42,
		rank: 8, alpha: 16, targets: map[string]bool{"q_proj": true, "v_proj": true},
		skipMemory: true, perSecond: true,
	}
}

// usageError is a command line that cannot be understood.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

// given is one argument as it stands on the command line.
type given struct {
	flag   string // with its dashes
	values []string
}

// parseArgs reads arguments as Python's argparse does: --name value, --name=value,
// --name v1 v2; of an argument given twice the last wins.
func parseArgs(args []string) (options, error) {
	o := defaultOptions()
	list, stray := split(args)
	known := flags()
	for _, g := range list {
		f, ok := known[strings.TrimPrefix(g.flag, "--")]
		if !ok {
			stray = append(stray, append([]string{g.flag}, g.values...)...)
			continue
		}
		extra, err := f.apply(&o, g)
		if err != nil {
			return o, usageError{fmt.Sprintf("argument %s: %v", g.flag, err)}
		}
		stray = append(stray, extra...)
	}
	if len(stray) > 0 {
		return o, usageError{"unrecognized arguments: " + strings.Join(stray, " ")}
	}
	return o, nil
}

// split groups the command line; stray holds values that follow no flag.
func split(args []string) (list []given, stray []string) {
	for _, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case isFlag(name) && joined:
			list = append(list, given{flag: name, values: []string{value}})
		case isFlag(name):
			list = append(list, given{flag: name})
		case len(list) == 0:
			stray = append(stray, arg)
		default:
			last := &list[len(list)-1]
			last.values = append(last.values, arg)
		}
	}
	return list, stray
}

// isFlag takes text with blanks for a value, as argparse does, so that a template
// may begin with dashes.
func isFlag(text string) bool {
	return len(text) > 2 && strings.HasPrefix(text, "--") && !strings.ContainsAny(text, " \t\n")
}

// usage is what precedes a message about the command line.
func usage() string {
	return "usage: builtin-trainer [--model_name_or_path builtin:tiny|builtin:small|builtin:large]\n" +
		"                       [--per_device_train_batch_size N] [--max_seq_length N]\n" +
		"                       [--max_steps N] [--learning_rate X] [--peft_method lora --r N]\n" +
		"                       [--output_dir DIR] [--NAME VALUE [VALUE ...]]\n"
}
