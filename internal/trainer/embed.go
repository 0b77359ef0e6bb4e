package trainer

import (
	_ "embed" // for the directive below
	"slices"
)

// ScriptName is the name of the file in which the trainer HF is started.
const ScriptName = "hf_trainer.py"

//go:embed hf_trainer.py
var script []byte

// Script returns the program of the trainer HF: a Python script in one file, which
// needs torch, transformers and accelerate, and peft only for LoRA. The caller writes
// it to a file named ScriptName. The bytes are the caller's own.
func Script() []byte { return slices.Clone(script) }
