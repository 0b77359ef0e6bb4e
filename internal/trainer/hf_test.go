package trainer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/trainer"
)

// pythonVariable names an interpreter to run the script of the trainer hf with.
const pythonVariable = "TUNEBENCH_TEST_PYTHON"

// python returns the interpreter, and skips the test where there is none.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv(pythonVariable)
	if path == "" {
		t.Skipf("needs %s: an absolute path of a Python 3.10 or later with torch, transformers 5, accelerate and peft"+
			" (a build for the processor is enough)", pythonVariable)
	}
	return path
}

// ended is what a run of the script left.
type ended struct {
	code           int
	stdout, stderr string
	out            string         // the output directory
	metrics        map[string]any // of all_results.json; nil: not written
}

// onTwoProcessors are the variables that keep the runs off the network and off the
// accelerators of the machine, if it has any.
func onTwoProcessors() []string {
	return []string{"HF_HUB_OFFLINE=1", "OMP_NUM_THREADS=1", "CUDA_VISIBLE_DEVICES="}
}

// tiny are arguments of a run that takes moments: 4 steps of 2 samples of 32 tokens.
func tiny(more ...string) []string {
	return append([]string{"--model_name_or_path", "synthetic:tiny", "--max_steps", "4", "--max_seq_len", "32",
		"--per_device_train_batch_size", "2", "--logging_steps", "2", "--include_tokens_per_second", "True"}, more...)
}

// train runs the script behind a launcher, which may be empty.
func train(t *testing.T, env, launcher, args []string) ended {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, trainer.ScriptName)
	if err := os.WriteFile(script, trainer.Script(), 0o600); err != nil {
		t.Fatal(err)
	}
	e := ended{out: filepath.Join(dir, "out")}
	args = append(append(append(launcher, script), args...), "--output_dir", e.out)
	e.run(t, env, append([]string{python(t)}, args...))
	data, err := os.ReadFile(filepath.Join(e.out, "all_results.json"))
	if err != nil {
		return e
	}
	if err := json.Unmarshal(data, &e.metrics); err != nil {
		t.Fatalf("all_results.json: %v", err)
	}
	return e
}

// run starts the command and waits for it.
func (e *ended) run(t *testing.T, env, argv []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, t.TempDir()
	cmd.Env = append(append(os.Environ(), onTwoProcessors()...), env...)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	e.code, e.stdout, e.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// number returns a metric that must be there and finite.
func (e ended) number(t *testing.T, name string) float64 {
	t.Helper()
	n, ok := e.metrics[name].(float64)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		t.Errorf("metric %s = %v, want a finite number", name, e.metrics[name])
	}
	return n
}

// checkTrained holds a run to what every good run must leave: exit 0, exact metrics
// of that many tokens in all, one final line, and no checkpoint.
func (e ended) checkTrained(t *testing.T, processes, tokens int) {
	t.Helper()
	if e.code != 0 {
		t.Fatalf("exit status %d, want 0; stderr:\n%s", e.code, e.stderr)
	}
	if loss := e.number(t, "train_loss"); loss < 4 || loss > 8 {
		t.Errorf("train_loss = %v, want about the 6.2 of a guess among 512 tokens", loss)
	}
	if got := e.number(t, "num_input_tokens_seen"); got != float64(tokens) {
		t.Errorf("num_input_tokens_seen = %v, want %d", got, tokens)
	}
	want := float64(tokens) / float64(processes) / e.number(t, "train_runtime")
	if got := e.number(t, "train_tokens_per_second"); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("train_tokens_per_second = %v, want the tokens of one process over the run time, %v", got, want)
	}
	e.checkOutput(t)
}

func (e ended) checkOutput(t *testing.T) {
	t.Helper()
	if n := strings.Count(e.stdout, "'train_samples_per_second'"); n != 1 {
		t.Errorf("%d final lines in stdout, want 1:\n%s", n, e.stdout)
	}
	if strings.Contains(e.stdout, "hf_trainer:") {
		t.Errorf("stdout has remarks, which belong to stderr:\n%s", e.stdout)
	}
	found, err := filepath.Glob(filepath.Join(e.out, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	if diff := cmp.Diff([]string{"all_results.json", "train_results.json"}, names); diff != "" {
		t.Errorf("output directory (-want +got):\n%s", diff)
	}
}

func (e ended) checkSays(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(e.stderr, text) {
			t.Errorf("stderr does not say %q:\n%s", text, e.stderr)
		}
	}
}

func write(t *testing.T, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func TestOneProcessTrainsAllWeightsUnderTheArgumentsOfOlderReleases(t *testing.T) {
	t.Parallel()
	e := train(t, nil, nil, tiny("--use_flash_attn", "True", "--response_template", "\n### Response:",
		"--dataset_text_field", "output", "--num_train_epochs", "1", "--gradient_accumulation_steps", "1",
		"--gradient_checkpointing", "True", "--evaluation_strategy", "no", "--save_strategy", "no",
		"--weight_decay", "0.01", "--warmup_steps", "10", "--adam_epsilon", "1e-4", "--lr_scheduler_type", "linear",
		"--logging_strategy", "steps", "--learning_rate", "2e-5", "--torch_dtype", "float32", "--packing", "False",
		"--skip_memory_metrics", "False"))
	e.checkTrained(t, 1, 4*2*32)
	e.checkSays(t, "use_flash_attn is asked for, but there is no GPU: using sdpa", "random tokens")
	for _, name := range []string{"before_init_mem_cpu", "init_mem_cpu_alloc_delta", "train_mem_cpu_peaked_delta"} {
		e.number(t, name)
	}
}

func TestOneProcessTrainsLoRA(t *testing.T) {
	t.Parallel()
	e := train(t, nil, nil, tiny("--peft_method", "lora", "--r", "4", "--lora_alpha", "8", "--lora_dropout", "0.1",
		"--target_modules", "q_proj", "k_proj", "v_proj", "o_proj", "--gradient_checkpointing", "true"))
	e.checkTrained(t, 1, 4*2*32)
	// In each of 2 layers q and o are 64x64, k and v 32x64: 4*((64+64)*2 + (64+32)*2) * 2 layers.
	e.checkSays(t, "LoRA trains 3584 of 143168 parameters")
}

func TestLoRAWithoutPeftSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	hidden := write(t, "sitecustomize.py", "import sys", `sys.modules["peft"] = None`)
	e := train(t, []string{"PYTHONPATH=" + filepath.Dir(hidden)}, nil, tiny("--peft_method", "lora"))
	if e.code != 1 || e.metrics != nil {
		t.Errorf("exit status %d, metrics %v; want 1 and none", e.code, e.metrics)
	}
	e.checkSays(t, "pip install peft")
}

func TestTextsArePackedToFullBlocks(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 16 { // 23 bytes and an end of text each: 24*16 tokens, 12 blocks of 32
		lines = append(lines, fmt.Sprintf(`{"text": "what is %02d and %02d of it?", "id": %d}`, i, i, i))
	}
	config := write(t, "accelerator.json", `{"gradient_accumulation_kwargs": {"sync_each_batch": true}}`)
	e := train(t, nil, nil, []string{"--model_name_or_path", "synthetic:tiny", "--num_train_epochs", "1",
		"--per_device_train_batch_size", "3", "--gradient_accumulation_steps", "2", "--max_seq_length", "32",
		"--training_data_path", write(t, "data.jsonl", lines...), "--dataset_text_field", "text", "--packing", "true",
		"--response_template", "of", "--include_tokens_per_second", "true", "--accelerator_config", config})
	e.checkTrained(t, 1, 24*16)
	e.checkSays(t, "response_template is not used with packing")
}

func TestUnknownArgumentIsAUsageError(t *testing.T) {
	t.Parallel()
	e := train(t, nil, nil, tiny("--max_step", "3")) // an abbreviation is unknown too
	if e.code != 2 || e.stdout != "" || e.metrics != nil {
		t.Errorf("exit status %d, stdout %q, metrics %v; want 2, nothing and none", e.code, e.stdout, e.metrics)
	}
	e.checkSays(t, "unrecognized arguments: --max_step 3")
}

func TestBadDataNamesFileAndLine(t *testing.T) {
	t.Parallel()
	data := write(t, "data.jsonl", `{"output": "a text"}`, ``, `{"input": "another"}`)
	e := train(t, nil, nil, tiny("--training_data_path", data))
	if e.code != 1 || e.metrics != nil {
		t.Errorf("exit status %d, metrics %v; want 1 and none", e.code, e.metrics)
	}
	e.checkSays(t, data+":3: ", "--dataset_text_field")
}

func TestTwoProcessesTrainUnderAccelerate(t *testing.T) {
	t.Parallel()
	// Of its launchers, accelerate starts several processes of its own only with the
	// one for several GPUs; without any, the script's processes meet through gloo.
	config := write(t, "accelerate.yaml", "compute_environment: LOCAL_MACHINE", "distributed_type: MULTI_GPU",
		"mixed_precision: 'no'", "num_machines: 1", "machine_rank: 0", "num_processes: 2",
		"rdzv_backend: static", "same_network: true")
	e := train(t, nil, []string{"-m", "accelerate.commands.launch", "--config_file", config, "--num_processes", "2",
		"--main_process_port", freePort(t)}, tiny())
	e.checkTrained(t, 2, 2*4*2*32)
}

func TestTwoProcessesTrainUnderTorchrun(t *testing.T) {
	t.Parallel()
	// Only the first process makes weights here, as under FSDP: without its weights
	// in both, the loss would not be that of a fresh model.
	env := []string{"ACCELERATE_USE_FSDP=true", "FSDP_VERSION=2", "FSDP_CPU_RAM_EFFICIENT_LOADING=true"}
	e := train(t, env, []string{"-m", "torch.distributed.run", "--nproc_per_node", "2",
		"--master_port", freePort(t)}, tiny())
	e.checkTrained(t, 2, 2*4*2*32)
}
