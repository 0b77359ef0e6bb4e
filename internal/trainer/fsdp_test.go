package trainer_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwoProcessesShardTheModelUnderFSDP trains with the sharding of two GPUs over gloo.
// Each process must hold half of the weights, and the metrics must be those of any run.
func TestTwoProcessesShardTheModelUnderFSDP(t *testing.T) {
	t.Parallel()
	const tokens = 2 * 4 * 2 * 32
	lora := []string{"--peft_method", "lora", "--r", "8", "--target_modules", "q_proj", "v_proj"}
	for name, tc := range map[string]struct {
		env, args []string
		weights   string
	}{
		"all weights, those of the first process": {[]string{"FSDP_CPU_RAM_EFFICIENT_LOADING=true"}, nil, "139584"},
		"all weights, made by each process":       {nil, nil, "139584"},
		"LoRA in checkpointed blocks":             {nil, append(lora, "--gradient_checkpointing", "True"), "143168"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := append([]string{"ACCELERATE_USE_FSDP=true", "FSDP_VERSION=2", "FSDP_AUTO_WRAP_POLICY=TRANSFORMER_BASED_WRAP",
				"FSDP_STATE_DICT_TYPE=SHARDED_STATE_DICT"}, tc.env...)
			wrapper, err := filepath.Abs("testdata/fsdp/on_cpu.py")
			if err != nil {
				t.Fatal(err)
			}
			e := train(t, env, []string{"-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", freePort(t), "--", wrapper}, tiny(tc.args...))
			e.checkTrained(t, 2, tokens)
			e.checkSays(t, "rank 0 holds", "rank 1 holds", " of "+tc.weights+" weights")
			checkHalves(t, e.stderr)
		})
	}
}

// checkHalves finds what each rank said of its part. Rows of a tensor are not always even, so
// a part may be a little more than half.
func checkHalves(t *testing.T, said string) {
	t.Helper()
	for line := range strings.Lines(said) {
		_, part, found := strings.Cut(line, " holds ")
		if !found {
			continue
		}
		held, whole := 0.0, 0.0
		if n, err := fmt.Sscanf(part, "%g of %g weights", &held, &whole); n != 2 || err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if held < 0.49*whole || held > 0.51*whole {
			t.Errorf("%s: want half", strings.TrimSpace(line))
		}
	}
}
