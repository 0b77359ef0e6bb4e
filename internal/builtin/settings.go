package builtin

import (
	"fmt"
	"slices"
	"strconv"
)

// setSeed reads a seed, which may be any number that fits.
func setSeed(o *options, values []string) error {
	seed, err := strconv.ParseUint(values[0], 10, 64)
	if err != nil {
		return fmt.Errorf("invalid int value: '%s' (a seed is 0 or more)", values[0])
	}
	o.seed = seed
	return nil
}

// setPrecision takes the half precisions with a warning: the arithmetic is always in
// float32, and a figure that is labelled bfloat16 should not be believed.
func setPrecision(o *options, values []string) error {
	switch values[0] {
	case "float32", "auto":
		return nil
	case "bfloat16", "float16":
		o.warnings = append(o.warnings, "computing in float32: --torch_dtype "+values[0]+" is not supported")
		return nil
	}
	return invalidChoice(values[0], []string{"auto", "float32", "bfloat16", "float16"})
}

func setMethod(o *options, values []string) error {
	switch values[0] {
	case "lora":
		o.peft = "lora"
	case "none", "None", "":
		o.peft = ""
	default:
		return invalidChoice(values[0], []string{"lora", "none"})
	}
	return nil
}

func setDropout(o *options, values []string) error {
	p, err := parseNumber(values[0], 0, 1)
	if err != nil {
		return err
	}
	o.dropout = p
	if p > 0 {
		o.warnings = append(o.warnings, "--lora_dropout "+values[0]+" is not applied: adapters are trained without dropout")
	}
	return nil
}

// modules lists the projections that an adapter may sit on. all-linear means all
// but the head, as it does for PEFT.
func modules() []string {
	return []string{"q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj", "lm_head"}
}

func setTargets(o *options, values []string) error {
	targets := map[string]bool{}
	for _, name := range values {
		switch {
		case name == "all-linear":
			for _, m := range modules() {
				targets[m] = m != "lm_head" || targets[m]
			}
		case slices.Contains(modules(), name):
			targets[name] = true
		default:
			return invalidChoice(name, append(modules(), "all-linear"))
		}
	}
	o.targets = targets
	return nil
}
