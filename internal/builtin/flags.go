package builtin

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// flag reads the values of one argument into the options. many lets it have several
// values, optional lets it have none.
type flag struct {
	many, optional bool
	set            func(o *options, values []string) error
}

// apply returns the values that the flag does not take.
func (f flag) apply(o *options, g given) (extra []string, err error) {
	switch {
	case len(g.values) == 0 && f.many:
		return nil, errors.New("expected at least one argument")
	case len(g.values) == 0 && !f.optional:
		return nil, errors.New("expected one argument")
	case f.many:
		return nil, f.set(o, g.values)
	case len(g.values) == 0:
		return nil, f.set(o, []string{"True"})
	}
	return g.values[1:], f.set(o, g.values[:1])
}

// flags lists every argument by name.
func flags() map[string]flag {
	all := map[string]flag{}
	maps.Copy(all, trainingFlags())
	maps.Copy(all, adapterFlags())
	maps.Copy(all, outputFlags())
	maps.Copy(all, ignoredFlags())
	return all
}

func trainingFlags() map[string]flag {
	length := integer(2, 1<<16, func(o *options) *int { return &o.length })
	return map[string]flag{
		"model_name_or_path":          choice(slices.Sorted(maps.Keys(sizes())), func(o *options) *string { return &o.model }),
		"per_device_train_batch_size": integer(1, 1<<16, func(o *options) *int { return &o.batch }),
		"gradient_accumulation_steps": integer(1, 1<<16, func(o *options) *int { return &o.accumulation }),
		"max_steps":                   integer(-1, 1<<30, func(o *options) *int { return &o.maxSteps }),
		"num_train_epochs":            number(0, 1e6, func(o *options) *float64 { return &o.epochs }),
		"max_seq_len":                 length,
		"max_seq_length":              length,
		"learning_rate":               number(0, 1e3, func(o *options) *float64 { return &o.learningRate }),
		"warmup_steps":                integer(0, 1<<30, func(o *options) *int { return &o.warmupSteps }),
		"weight_decay":                number(0, 1e3, func(o *options) *float64 { return &o.weightDecay }),
		"adam_epsilon":                number(0, 1, func(o *options) *float64 { return &o.epsilon }),
		"adam_beta1":                  number(0, 0.9999, func(o *options) *float64 { return &o.beta1 }),
		"adam_beta2":                  number(0, 0.99999, func(o *options) *float64 { return &o.beta2 }),
		"max_grad_norm":               number(0, 1e9, func(o *options) *float64 { return &o.maxGradNorm }),
		"lr_scheduler_type":           choice([]string{"linear", "constant", "constant_with_warmup"}, func(o *options) *string { return &o.schedule }),
		"seed":                        {set: setSeed},
		"torch_dtype":                 {set: setPrecision},
		"training_data_path":          text(func(o *options) *string { return &o.dataPath }),
		"dataset_text_field":          text(func(o *options) *string { return &o.dataField }),
	}
}

func adapterFlags() map[string]flag {
	return map[string]flag{
		"peft_method":    {set: setMethod},
		"r":              integer(1, 1<<10, func(o *options) *int { return &o.rank }),
		"lora_alpha":     number(0, 1e6, func(o *options) *float64 { return &o.alpha }),
		"lora_dropout":   {set: setDropout},
		"target_modules": {many: true, set: setTargets},
	}
}

func outputFlags() map[string]flag {
	return map[string]flag{
		"output_dir":                text(func(o *options) *string { return &o.outputDir }),
		"logging_steps":             integer(1, 1<<30, func(o *options) *int { return &o.loggingSteps }),
		"logging_strategy":          choice([]string{"steps", "epoch", "no"}, func(o *options) *string { return &o.logging }),
		"skip_memory_metrics":       boolean(func(o *options) *bool { return &o.skipMemory }),
		"include_tokens_per_second": boolean(func(o *options) *bool { return &o.perSecond }),
	}
}

// ignoredFlags have no meaning for this model, but scenarios for real trainers set
// them for every experiment.
func ignoredFlags() map[string]flag {
	names := []string{
		"packing", "gradient_checkpointing", "use_flash_attn", "evaluation_strategy",
		"eval_strategy", "save_strategy", "response_template", "bf16", "fp16",
	}
	all := map[string]flag{}
	for _, name := range names {
		all[name] = flag{optional: true, set: func(*options, []string) error { return nil }}
	}
	return all
}

func integer(low, high int, field func(*options) *int) flag {
	return flag{set: func(o *options, values []string) error {
		n, err := strconv.Atoi(strings.TrimSpace(values[0]))
		if err != nil {
			return fmt.Errorf("invalid int value: '%s'", values[0])
		}
		if n < low || n > high {
			return fmt.Errorf("invalid value: %d (must be from %d to %d)", n, low, high)
		}
		*field(o) = n
		return nil
	}}
}

func number(low, high float64, field func(*options) *float64) flag {
	return flag{set: func(o *options, values []string) error {
		n, err := parseNumber(values[0], low, high)
		if err == nil {
			*field(o) = n
		}
		return err
	}}
}

func parseNumber(text string, low, high float64) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) {
		return 0, fmt.Errorf("invalid float value: '%s'", text)
	}
	if n < low || n > high {
		return 0, fmt.Errorf("invalid value: %s (must be from %v to %v)", text, low, high)
	}
	return n, nil
}

func boolean(field func(*options) *bool) flag {
	return flag{optional: true, set: func(o *options, values []string) error {
		switch strings.ToLower(values[0]) {
		case "true", "t", "yes", "y", "1":
			*field(o) = true
		case "false", "f", "no", "n", "0":
			*field(o) = false
		default:
			return fmt.Errorf("invalid bool value: '%s' (write True or False)", values[0])
		}
		return nil
	}}
}

func text(field func(*options) *string) flag {
	return flag{set: func(o *options, values []string) error {
		*field(o) = values[0]
		return nil
	}}
}

func choice(allowed []string, field func(*options) *string) flag {
	return flag{set: func(o *options, values []string) error {
		if !slices.Contains(allowed, values[0]) {
			return invalidChoice(values[0], allowed)
		}
		*field(o) = values[0]
		return nil
	}}
}

func invalidChoice(value string, allowed []string) error {
	return fmt.Errorf("invalid choice: '%s' (choose from %s)", value, strings.Join(allowed, ", "))
}
