package builtin

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArgumentsAreReadAsArgparseReadsThem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		args []string
		want func(*options)
	}{
		{"nothing gives the defaults", nil, func(*options) {}},
		{"a value of its own", []string{"--max_steps", "7"}, func(o *options) { o.maxSteps = 7 }},
		{"a value after an equals sign", []string{"--max_steps=7"}, func(o *options) { o.maxSteps = 7 }},
		{"a negative number is a value", []string{"--max_steps", "-1"}, func(o *options) { o.maxSteps = -1 }},
		{"the last of two wins", []string{"--r", "4", "--r", "16"}, func(o *options) { o.rank = 16 }},
		{"both names of the sequence length", []string{"--max_seq_length", "9", "--max_seq_len", "8"}, func(o *options) { o.length = 8 }},
		{"a number keeps its spelling's meaning", []string{"--learning_rate", "2e-5"}, func(o *options) { o.learningRate = 2e-5 }},
		{"several values", []string{"--target_modules", "q_proj", "o_proj"}, func(o *options) {
			o.targets = map[string]bool{"q_proj": true, "o_proj": true}
		}},
		{"a flag without a value is true", []string{"--skip_memory_metrics", "False", "--packing", "--include_tokens_per_second"}, func(o *options) {
			o.skipMemory = false
		}},
		{"a template that begins with dashes", []string{"--response_template", "--- and then"}, func(*options) {}},
		{"a template with a newline", []string{"--response_template", "\n### Response:"}, func(*options) {}},
		{"an empty value", []string{"--peft_method", "", "--dataset_text_field", ""}, func(*options) {}},
		{"lora", []string{"--peft_method", "lora", "--r", "2", "--lora_alpha", "4", "--lora_dropout", "0.0"}, func(o *options) {
			o.peft, o.rank, o.alpha = "lora", 2, 4
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := defaultOptions()
			test.want(&want)
			got, err := parseArgs(test.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWrongCommandLineIsAUsageErrorThatSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, args, want string
	}{
		{"an unknown name", "--lora_alhpa 16", "unrecognized arguments: --lora_alhpa 16"},
		{"two unknown names", "--foo --r 4 --bar 1 2", "unrecognized arguments: --foo --bar 1 2"},
		{"a value too many", "--max_steps 1 2", "unrecognized arguments: 2"},
		{"a value before any name", "7 --r 4", "unrecognized arguments: 7"},
		{"one dash", "-r 4", "unrecognized arguments: -r 4"},
		{"no value", "--max_steps --r 4", "argument --max_steps: expected one argument"},
		{"no values", "--target_modules", "argument --target_modules: expected at least one argument"},
		{"not a whole number", "--max_steps 1e3", "argument --max_steps: invalid int value: '1e3'"},
		{"not a number", "--learning_rate fast", "argument --learning_rate: invalid float value: 'fast'"},
		{"nan", "--learning_rate nan", "argument --learning_rate: invalid float value: 'nan'"},
		{"a batch of nothing", "--per_device_train_batch_size 0", "argument --per_device_train_batch_size: invalid value: 0 (must be from 1 to 65536)"},
		{"an impossible dropout", "--lora_dropout 1.5", "argument --lora_dropout: invalid value: 1.5 (must be from 0 to 1)"},
		{"an unknown model", "--model_name_or_path gpt2", "argument --model_name_or_path: invalid choice: 'gpt2' (choose from builtin:large, builtin:small, builtin:tiny)"},
		{"an unknown schedule", "--lr_scheduler_type cosine", "argument --lr_scheduler_type: invalid choice: 'cosine' (choose from linear, constant, constant_with_warmup)"},
		{"an unknown module", "--target_modules q_proj w1", "argument --target_modules: invalid choice: 'w1' (choose from q_proj, k_proj, v_proj, o_proj, up_proj, down_proj, lm_head, all-linear)"},
		{"an unknown method", "--peft_method pt", "argument --peft_method: invalid choice: 'pt' (choose from lora, none)"},
		{"an unknown precision", "--torch_dtype int8", "argument --torch_dtype: invalid choice: 'int8' (choose from auto, float32, bfloat16, float16)"},
		{"not a boolean", "--skip_memory_metrics perhaps", "argument --skip_memory_metrics: invalid bool value: 'perhaps' (write True or False)"},
		{"nothing to train", "--model_name_or_path builtin:tiny --num_train_epochs 0", "nothing to train: give --max_steps or --num_train_epochs above 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := Main(context.Background(), strings.Fields(test.args), &stdout, &stderr); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout has %q", &stdout)
			}
			lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
			if !strings.HasPrefix(lines[0], "usage: builtin-trainer ") {
				t.Errorf("stderr begins with %q", lines[0])
			}
			if diff := cmp.Diff("builtin-trainer: error: "+test.want, lines[len(lines)-1]); diff != "" {
				t.Errorf("last line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestArgumentsThatScenariosSetForEveryTrainerAreAccepted(t *testing.T) {
	t.Parallel()
	args := strings.Fields("--use_flash_attn True --dataset_text_field output --include_tokens_per_second True " +
		"--num_train_epochs 1 --gradient_accumulation_steps 1 --gradient_checkpointing True --evaluation_strategy no " +
		"--save_strategy no --weight_decay 0.01 --warmup_steps 10 --adam_epsilon 1e-4 --lr_scheduler_type linear " +
		"--logging_strategy steps --logging_steps 10 --max_steps 100 --packing False --bf16 True --fp16 True " +
		"--target_modules all-linear --seed 18446744073709551615 --adam_beta1 0.8 --adam_beta2 0.99 --max_grad_norm 2")
	o, err := parseArgs(append(args, "--response_template", "\n### Response:"))
	if err != nil {
		t.Fatal(err)
	}
	if o.maxSteps != 100 || o.epsilon != 1e-4 || o.warmupSteps != 10 || len(o.warnings) > 0 {
		t.Errorf("read as %+v", o)
	}
}

func TestWhatIsNotDoneAsAskedIsAWarning(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--torch_dtype bfloat16": "computing in float32: --torch_dtype bfloat16 is not supported",
		"--torch_dtype float16":  "computing in float32: --torch_dtype float16 is not supported",
		"--lora_dropout 0.10":    "--lora_dropout 0.10 is not applied: adapters are trained without dropout",
	} {
		o, err := parseArgs(strings.Fields(args))
		if err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if diff := cmp.Diff([]string{want}, o.warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", args, diff)
		}
	}
}

func FuzzParseArgs(f *testing.F) {
	f.Add("--max_steps\x003\x00--r\x008")
	f.Add("--target_modules\x00q_proj\x00v_proj\x00--seed=9")
	f.Add("stray\x00--\x00-1\x00--=")
	f.Add("--learning_rate\x00Inf\x00--packing")
	f.Fuzz(func(t *testing.T, joined string) {
		o, err := parseArgs(strings.Split(joined, "\x00"))
		var wrong usageError
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("%v is not a usage error", err)
		}
		if err != nil {
			return
		}
		if _, ok := sizes()[o.model]; !ok || o.batch < 1 || o.length < 2 || o.accumulation < 1 || o.loggingSteps < 1 || len(o.targets) == 0 {
			t.Errorf("accepted %q as %+v", joined, o)
		}
		if !(o.learningRate >= 0 && o.learningRate <= 1e3) || !(o.dropout >= 0 && o.dropout <= 1) {
			t.Errorf("accepted %q as %+v", joined, o)
		}
	})
}
