package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// trainTiny runs the whole trainer on the tiny model and returns its stdout.
func trainTiny(t *testing.T, extra ...string) (stdout, stderr string) {
	t.Helper()
	args := append(strings.Fields("--model_name_or_path builtin:tiny --per_device_train_batch_size 4 --max_seq_length 32 "+
		"--logging_steps 10 --max_steps 40 --seed 7"), extra...)
	var out, errs bytes.Buffer
	if code := Main(context.Background(), args, &out, &errs); code != 0 {
		t.Fatalf("exit code %d, stderr %q", code, &errs)
	}
	return out.String(), errs.String()
}

// numbers reads a printed dict, whose Python is also JSON but for the quotes.
func numbers(t *testing.T, line string) map[string]float64 {
	t.Helper()
	var out map[string]float64
	if err := json.Unmarshal([]byte(strings.ReplaceAll(line, "'", `"`)), &out); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return out
}

func dicts(t *testing.T, stdout string) []map[string]float64 {
	t.Helper()
	var out []map[string]float64
	for line := range strings.Lines(stdout) {
		out = append(out, numbers(t, line))
	}
	return out
}

func TestTheLossFalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, args string
		fall       float64 // in nats per byte
	}{
		{"in full fine-tuning", "--learning_rate 5e-3", 1.5},
		{"with adapters", "--learning_rate 3e-2 --peft_method lora --r 8 --target_modules q_proj k_proj v_proj o_proj", 0.8},
		{"with adapters on the default modules", "--learning_rate 3e-2 --peft_method lora", 0.6},
		{"with accumulated gradients", "--learning_rate 5e-3 --gradient_accumulation_steps 2", 1.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stdout, _ := trainTiny(t, strings.Fields(test.args)...)
			lines := dicts(t, stdout)
			if len(lines) != 5 {
				t.Fatalf("%d lines, want 4 and the final one:\n%s", len(lines), stdout)
			}
			first, last := lines[0]["loss"], lines[3]["loss"]
			if start := math.Log(vocabulary); first > start+0.5 || last > start-test.fall {
				t.Errorf("the loss went from %v to %v, want it below %v", first, last, start-test.fall)
			}
		})
	}
}

func TestTheFinalDictSumsUpTheRun(t *testing.T) {
	t.Parallel()
	stdout, _ := trainTiny(t, "--gradient_accumulation_steps", "3")
	lines := dicts(t, stdout)
	final := lines[len(lines)-1]
	var mean float64
	for _, l := range lines[:4] {
		mean += l["loss"] / 4
	}
	if math.Abs(final["train_loss"]-mean) > 1e-9 {
		t.Errorf("train_loss %v, mean of the log lines %v", final["train_loss"], mean)
	}
	const tokens = 40 * 3 * 4 * 32
	if final["num_input_tokens_seen"] != tokens {
		t.Errorf("%v tokens seen, want %d", final["num_input_tokens_seen"], tokens)
	}
	for name, want := range map[string]float64{
		"train_tokens_per_second": tokens, "train_samples_per_second": 40 * 3 * 4, "train_steps_per_second": 40,
	} {
		if got := final[name] * final["train_runtime"]; math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s times the runtime is %v, want %v", name, got, want)
		}
	}
	if want := 40 * 3 * 4 / float64((len(embeddedText)-1)/32); math.Abs(final["epoch"]-want) > 1e-9 {
		t.Errorf("epoch %v, want %v", final["epoch"], want)
	}
}

func TestTheOutputHasTheFormOfTheTrainer(t *testing.T) {
	t.Parallel()
	stdout, stderr := trainTiny(t, "--skip_memory_metrics", "True")
	number := `-?[0-9.e+-]+`
	line := regexp.MustCompile(`^\{'loss': N, 'grad_norm': N, 'learning_rate': N, 'epoch': N, 'num_input_tokens_seen': \d+\}$`)
	line = regexp.MustCompile(strings.ReplaceAll(line.String(), "N", number))
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	for _, l := range lines[:4] {
		if !line.MatchString(l) {
			t.Errorf("log line %q", l)
		}
	}
	if !strings.HasPrefix(lines[4], "{'train_runtime': ") || strings.Contains(lines[4], "mem") {
		t.Errorf("final line %q", lines[4])
	}
	if !strings.HasPrefix(stderr, "\r  0%|          | 0/40 [00:00<?, ?it/s]") || !strings.Contains(stderr, "\r100%|██████████| 40/40 [00:0") {
		t.Errorf("bar %q", stderr)
	}
}

func TestLogLinesAppearAsTheStrategySays(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{
		"--logging_strategy no":                  1,
		"--logging_strategy steps":               5,
		"--logging_strategy steps --max_steps 9": 1,
		"--logging_steps 1 --max_steps 3":        4,
		// The text makes 315 samples, 79 batches; four times 160 samples are two epochs.
		"--logging_strategy epoch --gradient_accumulation_steps 4": 3,
		"--max_steps -1 --num_train_epochs 0.126":                  2,
	} {
		stdout, _ := trainTiny(t, strings.Fields(args)...)
		if got := strings.Count(stdout, "\n"); got != want {
			t.Errorf("%s: %d lines, want %d:\n%s", args, got, want, stdout)
		}
	}
}

func TestTheSameSeedGivesTheSameRunOnAnyNumberOfCores(t *testing.T) {
	t.Parallel()
	losses := func(seed uint64, w workers) []float64 {
		o := defaultOptions()
		o.model, o.batch, o.length, o.maxSteps, o.seed, o.learningRate = "builtin:tiny", 3, 17, 5, seed, 1e-2
		tr := &training{options: o, workers: w, model: newModel(sizes()[o.model], newRandom(seed, 2))}
		if err := tr.prepare(embeddedText, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		if err := tr.train(context.Background()); err != nil {
			t.Fatal(err)
		}
		return []float64{tr.totalLoss, float64(tr.model.head.weight.value[5])}
	}
	if diff := cmp.Diff(losses(1, 1), losses(1, 5)); diff != "" {
		t.Errorf("one and five workers (-one +five):\n%s", diff)
	}
	if cmp.Equal(losses(1, 1), losses(2, 1)) {
		t.Error("another seed gave the same run")
	}
}

func TestResultsAreWrittenExactly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "er")
	stdout, _ := trainTiny(t, "--output_dir", dir)
	lines := dicts(t, stdout)
	var results map[string]float64
	readJSON(t, filepath.Join(dir, "all_results.json"), &results)
	if diff := cmp.Diff(lines[4], results); diff != "" {
		t.Errorf("all_results.json (-printed +written):\n%s", diff)
	}
	var state struct {
		GlobalStep int                  `json:"global_step"`
		History    []map[string]float64 `json:"log_history"`
	}
	readJSON(t, filepath.Join(dir, "trainer_state.json"), &state)
	for i := range lines {
		lines[i]["step"] = float64(min(40, 10*(i+1)))
	}
	if diff := cmp.Diff(lines, state.History); diff != "" || state.GlobalStep != 40 {
		t.Errorf("trainer_state.json, step %d (-printed +written):\n%s", state.GlobalStep, diff)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.new"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatal(err)
	}
}

func TestOtherErrorsAreExitCodeOne(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("short"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, args, want string }{
		{"a missing data file", "--training_data_path " + file + "x", "reading training data"},
		{"a text shorter than a sample", "--training_data_path " + file, "the training text has 5 bytes, a sample of max_seq_length 128 needs 129"},
		{"a batch that no machine holds", "--per_device_train_batch_size 65536 --max_seq_length 9000", "a batch of 65536 samples of 9000 bytes needs"},
		{"an output folder that is a file", "--output_dir " + file, "making the output folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			args := append([]string{"--model_name_or_path", "builtin:tiny"}, strings.Fields(test.args)...)
			if code := Main(context.Background(), args, &stdout, &stderr); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			if !strings.Contains(stderr.String(), test.want) || stdout.Len() > 0 {
				t.Errorf("stderr %q, want %q in it; stdout %q", &stderr, test.want, &stdout)
			}
		})
	}
}

func TestAnEndedContextEndsTheTraining(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	var stdout, stderr bytes.Buffer
	start := time.Now()
	code := Main(ctx, strings.Fields("--model_name_or_path builtin:tiny --max_steps 1000000"), &stdout, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "of 1000000 steps: context deadline exceeded") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
