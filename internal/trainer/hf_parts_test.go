package trainer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/trainer"
)

// probe prints what the functions of the script give, as JSON: one start of Python for many small cases.
const probe = `
import json, sys
import hf_trainer as hf, torch

def code(*argv):
    try:
        hf.parse(list(argv))
    except SystemExit as end:
        return end.code
    return 0

def size(name):
    with hf.init_empty_weights():
        net = hf.AutoModelForCausalLM.from_config(hf.synthetic_config("synthetic:" + name))
    return net.num_parameters()

model = ("--model_name_or_path", "synthetic:tiny")
batch = hf.Collator(0)([hf.Samples([([5, 6, 7], [-100, 6, 7]), ([8], [8])])[i] for i in range(2)])
json.dump({
    "sizes": {n: size(n) for n in hf.SHAPES},
    "layers": hf.synthetic_config("synthetic:mistral-7b?layers=8").num_hidden_layers,
    "codes": {
        "no such shape": code("--model_name_or_path", "synthetic:tina"),
        "layers none": code("--model_name_or_path", "synthetic:tiny?layers=0"),
        "layers negative": code("--model_name_or_path", "synthetic:tiny?layers=-1"),
        "layers no number": code("--model_name_or_path", "synthetic:tiny?layers=2x"),
        "other override": code("--model_name_or_path", "synthetic:tiny?heads=2"),
        "two overrides": code("--model_name_or_path", "synthetic:tiny?layers=2&layers=3"),
        "empty override": code("--model_name_or_path", "synthetic:tiny?"),
        "no model": code("--max_steps", "1"),
        "no number": code(*model, "--max_steps", "many"),
        "no truth": code(*model, "--bf16", "perhaps"),
        "no such method": code(*model, "--peft_method", "prefix"),
        "no such type": code(*model, "--torch_dtype", "int4"),
        "no such file": code(*model, "--training_data_path", "/nonexistent.jsonl"),
        "no length": code(*model, "--max_seq_len", "1"),
    },
    "masked": hf.encode("Q A", "Q", hf.ByteTokenizer()),
    "unmasked": hf.encode("Q A", "R", hf.ByteTokenizer()),
    "batch": {k: v.tolist() for k, v in batch.items()},
    "same length": sorted(hf.Collator(0)([hf.RandomTokens(2, 4, 9, 1)[i] for i in range(2)])),
}, sys.stdout)
`

func TestPartsOfTheScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, trainer.ScriptName), trainer.Script(), 0o600); err != nil {
		t.Fatal(err)
	}
	var e ended
	e.run(t, []string{"PYTHONPATH=" + dir}, []string{python(t), "-c", probe})
	var got map[string]any
	if err := json.Unmarshal([]byte(e.stdout), &got); err != nil {
		t.Fatalf("exit status %d, %v; stderr:\n%s", e.code, err, e.stderr)
	}
	for name, want := range partsWanted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, got[name]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	checkUsageErrors(t, got["codes"])
}

// partsWanted holds, among others, the parameter counts that the model cards give.
func partsWanted() map[string]any {
	eos, ignored := 2.0, -100.0
	q, blank, a := 'Q'+3.0, ' '+3.0, 'A'+3.0
	return map[string]any{
		"sizes": map[string]any{"tiny": 139584.0, "mistral-7b": 7241732096.0, "llama-2-70b": 68976648192.0,
			"llama-3-8b": 8030261248.0, "mixtral-8x7b": 46702792704.0},
		"layers":   8.0,
		"masked":   []any{[]any{q, blank, a, eos}, []any{ignored, blank, a, eos}, true},
		"unmasked": []any{[]any{q, blank, a, eos}, []any{q, blank, a, eos}, false},
		"batch": map[string]any{"input_ids": []any{[]any{5.0, 6.0, 7.0}, []any{8.0, 0.0, 0.0}},
			"labels":         []any{[]any{ignored, 6.0, 7.0}, []any{8.0, ignored, ignored}},
			"attention_mask": []any{[]any{1.0, 1.0, 1.0}, []any{1.0, 0.0, 0.0}}},
		"same length": []any{"input_ids", "labels"},
	}
}

func checkUsageErrors(t *testing.T, codes any) {
	t.Helper()
	all, ok := codes.(map[string]any)
	if !ok || len(all) == 0 {
		t.Fatalf("codes = %v, want a code for each case", codes)
	}
	for name, code := range all {
		if code != 2.0 {
			t.Errorf("%s: exit status %v, want 2", name, code)
		}
	}
}

func TestScriptIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	first := trainer.Script()
	first[0] ^= 0xff
	if bytes.Equal(first, trainer.Script()) {
		t.Error("a change to what Script returned is seen by the next caller")
	}
}
