package trainer

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/metric"
)

// numbers shows the set as name to number, and a gap as the text that was read.
func numbers(m metric.Set) map[string]any {
	out := map[string]any{}
	for _, e := range m {
		if e.Value.Known() {
			out[e.Name] = e.Value.Number
		} else {
			out[e.Name] = e.Value.Gap
		}
	}
	return out
}

func output(files map[string]string) fs.FS {
	dir := fstest.MapFS{}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}

const (
	bars   = "100%|##########| 100/100 [03:11<00:00,  1.91s/it]"
	simple = "{'train_runtime': 191.2, 'train_loss': 1.06, 'epoch': 1.0}"
)

func simpleNumbers() map[string]any {
	return map[string]any{"train_runtime": 191.2, "train_loss": 1.06, "epoch": 1.0}
}

func TestTheFinalDictIsFoundAndRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		stdout string
		files  map[string]string
		want   map[string]any
		notes  []string
		from   string
	}{{
		name: "numbers in quotes are numbers of four digits",
		stdout: "{'train_runtime': '191.2', 'train_samples_per_second': '0.209', 'train_steps_per_second': '0.052', " +
			"'train_tokens_per_second': '1.719e+04', 'train_loss': '1.063', 'init_mem_gpu_alloc_delta': 0, " +
			"'init_mem_gpu_peaked_delta': 0, 'train_mem_gpu_alloc_delta': -9000000000, " +
			"'train_mem_gpu_peaked_delta': 15000000000, 'before_init_mem_gpu': 20000000000, 'epoch': '0.01'}\n",
		want: map[string]any{
			"train_runtime": 191.2, "train_samples_per_second": 0.209, "train_steps_per_second": 0.052,
			"train_tokens_per_second": 17190.0, "train_loss": 1.063, "init_mem_gpu_alloc_delta": 0.0,
			"init_mem_gpu_peaked_delta": 0.0, "train_mem_gpu_alloc_delta": -9e9,
			"train_mem_gpu_peaked_delta": 15e9, "before_init_mem_gpu": 20e9, "epoch": 0.01,
		},
		notes: []string{"values have 4 digits"},
	}, {
		name:   "the full value of all_results.json wins over the printed one",
		stdout: "{'train_runtime': '191.2', 'train_tokens_per_second': '1.719e+04', 'train_loss': '1.063'}\n",
		files: map[string]string{
			"all_results.json": `{"train_runtime": 191.2037, "train_tokens_per_second": 17188.262, "train_loss": 1.06291, "eval_loss": 2}`,
		},
		want: map[string]any{"train_runtime": 191.2037, "train_tokens_per_second": 17188.262, "train_loss": 1.06291},
		from: "hf/all_results.json",
	}, {
		name:   "the history of trainer_state.json gives the last final entry, not a logging step",
		stdout: "{'train_runtime': '191.2', 'train_tokens_per_second': '1.719e+04', 'train_loss': '1.063', 'epoch': '0.01'}\n",
		files: map[string]string{
			"trainer_state.json": `{"best_metric": NaN, "log_history": [{"loss": 3, "step": 5, "train_runtime": 5.5},
				{"train_runtime": 191.2037, "train_tokens_per_second": 17188.262, "train_loss": 1.06291, "step": 10},
				{"eval_loss": 3, "train_runtime": 200.0, "step": 10}]}`,
		},
		want:  map[string]any{"train_runtime": 191.2037, "train_tokens_per_second": 17188.262, "train_loss": 1.06291, "epoch": 0.01},
		notes: []string{"values have 4 digits"},
		from:  "hf/trainer_state.json",
	}, {
		name:   "a file alone is enough",
		stdout: "nothing was printed\n",
		files:  map[string]string{"train_results.json": `{"epoch": 1.0, "train_loss": 1.5, "train_runtime": 10.0}`},
		want:   map[string]any{"epoch": 1.0, "train_loss": 1.5, "train_runtime": 10.0},
		from:   "hf/train_results.json",
	}, {
		name:   "a file of another training is told",
		stdout: simple,
		files:  map[string]string{"all_results.json": `{"train_loss": 1.5, "train_runtime": 191.2}`},
		want:   map[string]any{"train_runtime": 191.2, "train_loss": 1.5, "epoch": 1.0},
		notes:  []string{"hf/all_results.json has train_loss 1.5, stdout has 1.06"},
		from:   "hf/all_results.json",
	}, {
		name:   "a broken file is a note",
		stdout: simple,
		files:  map[string]string{"all_results.json": `{"train_lo`, "train_results.json": `[]`},
		want:   simpleNumbers(),
		notes: []string{
			"hf/train_results.json was not used: not a JSON object",
			"hf/all_results.json was not used: unexpected EOF",
		},
	}, {
		name:   "a file's null does not hide a printed number, its NaN does",
		stdout: simple,
		files:  map[string]string{"all_results.json": `{"train_loss": NaN, "train_runtime": null, "a_\"NaN": -Infinity}`},
		want: map[string]any{"train_runtime": 191.2, "train_loss": "not finite: NaN", "epoch": 1.0,
			`a_"NaN`: "not finite: -Inf"},
		notes: []string{"train_loss is not finite: nan", `a_"NaN is not finite: -inf`},
		from:  "hf/all_results.json",
	}, {
		name: "loss nan", stdout: "{'train_runtime': 191.2, 'train_loss': nan}",
		want:  map[string]any{"train_runtime": 191.2, "train_loss": "not finite: NaN"},
		notes: []string{"train_loss is not finite: nan"},
	}, {
		name: "loss nan in quotes", stdout: "{'train_runtime': '191.2', 'train_loss': 'nan'}",
		want:  map[string]any{"train_runtime": 191.2, "train_loss": "not finite: NaN"},
		notes: []string{"values have 4 digits", "train_loss is not finite: nan"},
	}, {
		name: "loss inf", stdout: "{'train_runtime': 191.2, 'train_loss': inf}",
		want:  map[string]any{"train_runtime": 191.2, "train_loss": "not finite: +Inf"},
		notes: []string{"train_loss is not finite: inf"},
	}, {
		name: "loss -inf", stdout: "{'train_runtime': 191.2, 'train_loss': -inf}",
		want:  map[string]any{"train_runtime": 191.2, "train_loss": "not finite: -Inf"},
		notes: []string{"train_loss is not finite: -inf"},
	}, {
		name: "no loss is another thing", stdout: "{'train_runtime': 191.2, 'train_loss': None}",
		want: map[string]any{"train_runtime": 191.2, "train_loss": "reported as None"},
	}, {
		name: "a truth value beside the numbers", stdout: "{'train_runtime': 191.2, 'train_loss': 1.5, 'done': True}",
		want: map[string]any{"train_runtime": 191.2, "train_loss": 1.5, "done": "not a number"},
	}, {
		name: "scalars of numpy and torch",
		stdout: "{'train_runtime': np.float64(10.5), 'train_loss': np.float32(1.25), " +
			"'grad_norm': tensor(0.75, device='cuda:0'), 'steps': np.int64(100), 'epoch': 0.5}",
		want: map[string]any{"train_runtime": 10.5, "train_loss": 1.25, "grad_norm": 0.75, "steps": 100.0, "epoch": 0.5},
	}, {
		name: "scalars with what numpy, torch and jax print around them",
		stdout: "{'train_runtime': numpy.float64(-1e-3), 'train_loss': tensor([1.25], grad_fn=<NllLossBackward0>), " +
			"'a': Array(2., dtype=float32), 'b': np.float64(nan), 'c': -np.float32(inf), 'd': exit(1)}",
		want: map[string]any{"train_runtime": -0.001, "train_loss": 1.25, "a": 2.0, "b": "not finite: NaN",
			"c": "not finite: -Inf", "d": "not a number"},
		notes: []string{"b is not finite: nan", "c is not finite: -inf"},
	}, {
		name: "a progress bar right before it", stdout: bars + simple + "\n", want: simpleNumbers(),
	}, {
		name:   "a bar wiped by blanks before it",
		stdout: bars + "\r" + strings.Repeat(" ", 60) + "\r" + simple + "\n", want: simpleNumbers(),
	}, {
		name: "lines that end as on Windows", stdout: bars + "\r\n" + simple + "\r\n", want: simpleNumbers(),
	}, {
		name: "a bar and a rank on both sides", stdout: "[rank0]:" + bars + simple + bars, want: simpleNumbers(),
	}, {
		name: "an opened brace in the text before it", stdout: "{'what is this " + simple, want: simpleNumbers(),
	}, {
		name: "no stages before training",
		stdout: "{'train_runtime': 10.0, 'train_loss': 1.0, 'init_mem_gpu_alloc_delta': 300000000, " +
			"'init_mem_gpu_peaked_delta': 0, 'train_mem_gpu_alloc_delta': 900000000, 'train_mem_gpu_peaked_delta': 2000000000, 'epoch': 1.0}",
		want: map[string]any{"train_runtime": 10.0, "train_loss": 1.0, "init_mem_gpu_alloc_delta": 3e8,
			"init_mem_gpu_peaked_delta": 0.0, "train_mem_gpu_alloc_delta": 9e8, "train_mem_gpu_peaked_delta": 2e9, "epoch": 1.0},
	}, {
		name: "the stages before training stand in the dict of an earlier evaluation",
		stdout: "{'eval_loss': 2.0, 'before_init_mem_gpu': 500000000, 'init_mem_gpu_alloc_delta': 300000000, 'init_mem_gpu_peaked_delta': 0}\n" +
			"{'train_runtime': 10.0, 'train_loss': 1.0, 'train_mem_gpu_alloc_delta': 900000000, 'train_mem_gpu_peaked_delta': 2000000000}\n",
		want: map[string]any{"train_runtime": 10.0, "train_loss": 1.0, "train_mem_gpu_alloc_delta": 9e8,
			"train_mem_gpu_peaked_delta": 2e9, "before_init_mem_gpu": 5e8, "init_mem_gpu_alloc_delta": 3e8,
			"init_mem_gpu_peaked_delta": 0.0},
		notes: []string{"memory of the stages before training is from an earlier dict"},
	}, {
		name: "an evaluation after the training has nothing to lend",
		stdout: "{'train_runtime': 10.0, 'train_loss': 1.0, 'train_mem_gpu_alloc_delta': 900000000}\n" +
			"{'eval_loss': 2.0, 'before_init_mem_gpu': 500000000}\n",
		want: map[string]any{"train_runtime": 10.0, "train_loss": 1.0, "train_mem_gpu_alloc_delta": 9e8},
	}, {
		name: "tokens per second that were not reported stay missing",
		stdout: "{'loss': 1.1, 'num_input_tokens_seen': 819200, 'epoch': 0.5}\n{'train_runtime': 100.0, " +
			"'train_samples_per_second': 4.0, 'train_steps_per_second': 1.0, 'train_loss': 1.0}\n",
		want: map[string]any{"train_runtime": 100.0, "train_samples_per_second": 4.0, "train_steps_per_second": 1.0,
			"train_loss": 1.0, "derived_tokens_per_second": 8192.0},
		notes: []string{"derived_tokens_per_second uses the tokens of an earlier log line: a lower bound"},
	}, {
		name:   "tokens of the final dict itself need no note",
		stdout: "{'train_runtime': 100.0, 'train_loss': 1.0, 'num_input_tokens_seen': 5000}\n",
		want: map[string]any{"train_runtime": 100.0, "train_loss": 1.0, "num_input_tokens_seen": 5000.0,
			"derived_tokens_per_second": 50.0},
	}, {
		name:   "no tokens were counted",
		stdout: "{'train_runtime': 100.0, 'train_loss': 1.0, 'num_input_tokens_seen': 0}\n",
		want:   map[string]any{"train_runtime": 100.0, "train_loss": 1.0, "num_input_tokens_seen": 0.0},
	}, {
		name: "two prints of one dict are one", stdout: simple + "\n" + simple + "\n", want: simpleNumbers(),
	}, {
		name:   "of two different ones the last is taken, with a note",
		stdout: "{'train_runtime': 9.0, 'train_loss': 1.5}\n{'train_runtime': 9.0, 'train_loss': 1.4}\n",
		want:   map[string]any{"train_runtime": 9.0, "train_loss": 1.4},
		notes:  []string{"2 different final dicts"},
	}, {
		name:   "two of three are alike",
		stdout: "{'train_runtime': 9.0, 'train_loss': 1.5}\n{'train_runtime': 9.0, 'train_loss': 1.4}\n{'train_runtime': 9.0, 'train_loss': 1.5}\n",
		want:   map[string]any{"train_runtime": 9.0, "train_loss": 1.5},
		notes:  []string{"2 different final dicts"},
	}, {
		name:   "an evaluation comes last",
		stdout: simple + "\n{'eval_loss': 2.0, 'eval_runtime': 5.0, 'epoch': 1.0}\n", want: simpleNumbers(),
	}, {
		name:   "an evaluation that says train_runtime is none of the training",
		stdout: simple + "\n{'eval_loss': 2.0, 'eval_runtime': 5.0, 'train_runtime': 300.0}\n", want: simpleNumbers(),
	}, {
		name:   "lines that are no dict of the Trainer are passed by",
		stdout: "42\n" + simple + "\nMETRICS {\"train_runtime\": 1.0, \"train_loss\": 9.0}\nTORCH 1 2 3\nTOKS 5.5\n{}\n[1]\n", want: simpleNumbers(),
	}, {
		name: "bytes that are no text", stdout: "\xff\xfe caf\xe9\n" + simple + "\n\xe2\x96", want: simpleNumbers(),
	}, {
		name: "bytes that are no text on the same line", stdout: "\xe2\x96" + simple, want: simpleNumbers(),
	}, {
		name: "bytes that are no text inside a value", stdout: "{'train_runtime': 1.0, 'train_loss': 2.0, 'who': 'caf\xe9'}",
		want: map[string]any{"train_runtime": 1.0, "train_loss": 2.0, "who": "not a number"},
	}, {
		name: "a very long line before it", stdout: strings.Repeat("#", 3<<20) + simple, want: simpleNumbers(),
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var dir fs.FS
			if test.files != nil {
				dir = output(test.files)
			}
			got, err := ReadFinal(strings.NewReader(test.stdout), dir)
			if err != nil || !got.Found {
				t.Fatalf("found %v, error %v, notes %q", got.Found, err, got.Notes)
			}
			if test.from == "" {
				test.from = "stdout"
			}
			if diff := cmp.Diff(test.want, numbers(got.Metrics)); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notes, got.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if got.From != test.from {
				t.Errorf("from %q, want %q", got.From, test.from)
			}
		})
	}
}

func TestWhereThereIsNoFinalDict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stdout string
		notes        []string
	}{
		{"nothing at all", "", nil},
		{"only logging steps, which name the run time too", "{'loss': '11.19', 'epoch': '0.0004', 'train_runtime': '11', 'train_tokens_per_second': '7446'}\n", nil},
		{"only an evaluation", "{'eval_loss': 2.0, 'eval_runtime': 5.0}\n", nil},
		{"only JSON of a script", `METRICS {"train_runtime": 1.0, "train_loss": 2.0}`, nil},
		{"cut off in the middle", "{'train_runtime': 191.2, 'train_lo", []string{"a final dict on stdout could not be read: it does not end on its line"}},
		{"deeper than any dict of the Trainer", strings.Repeat("{'a_': [", 5000), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadFinal(strings.NewReader(test.stdout), output(nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Final{Notes: test.notes}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAReadErrorKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	got, err := ReadFinal(io.MultiReader(strings.NewReader(simple+"\n"), iotest.ErrReader(broken)), nil)
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if diff := cmp.Diff(simpleNumbers(), numbers(got.Metrics)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestAWholeLogOfANewTrainer(t *testing.T) {
	t.Parallel()
	log, err := os.Open("testdata/stdout_new.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	got, err := ReadFinal(iotest.OneByteReader(log), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"train_runtime": 16.01, "train_samples_per_second": 2.499, "train_steps_per_second": 0.6246,
		"train_loss": 2.295, "init_mem_gpu_alloc_delta": 0.0, "init_mem_gpu_peaked_delta": 0.0,
		"train_mem_gpu_alloc_delta": 17e7, "train_mem_gpu_peaked_delta": 5e9, "before_init_mem_gpu": 14e9,
		"epoch": 0.1, "num_input_tokens_seen": 80000.0, "derived_tokens_per_second": 80000 / 16.01,
	}
	if diff := cmp.Diff(want, numbers(got.Metrics)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestTheRecordings(t *testing.T) {
	t.Parallel()
	const root = "../../../shared/recorded/h200"
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the recorded runs are not here: %v", err)
	}
	want := map[string]float64{"exp_0": 19.79, "exp_1": 34.42, "exp_3": 5.585, "exp_4": 6.697, "exp_2": math.NaN(), "exp_5": math.NaN()}
	for name, seconds := range want {
		log, err := os.Open(filepath.Join(root, name, "stdout"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		got, err := ReadFinal(log, nil)
		if err != nil || got.Found == math.IsNaN(seconds) {
			t.Fatalf("%s: found %v, error %v", name, got.Found, err)
		}
		if v, ok := got.Metrics.Get("train_runtime"); ok != got.Found || (ok && v.Number != seconds) {
			t.Errorf("%s: train_runtime %v, want %v", name, v, seconds)
		}
	}
}

func FuzzReadFinal(f *testing.F) {
	f.Add(bars+simple, `{"train_runtime": 1, "train_loss": NaN}`)
	f.Add("{'train_runtime': tensor(1., device='cuda:0'), 'train_loss': -nan}\r\n", `{"log_history": []}`)
	f.Add("\xff{'loss': 1}{'train_runtime': '9e999', 'train_loss': (((1)))}", "")
	f.Add("{'train_runtime': <a b>, 'train_loss': 0x10, 'a': 99999999999999999999999999}", `"`)
	f.Fuzz(func(t *testing.T, stdout, file string) {
		dir := output(map[string]string{"all_results.json": file, "trainer_state.json": file})
		got, err := ReadFinal(strings.NewReader(stdout), dir)
		if err != nil {
			t.Fatalf("an error of a reader that has none: %v", err)
		}
		if got.Found != (got.From != "") || got.Found != (len(got.Metrics) > 0) {
			t.Errorf("found %v, from %q, %d metrics", got.Found, got.From, len(got.Metrics))
		}
		names := map[string]bool{}
		for _, m := range got.Metrics {
			if names[m.Name] {
				t.Errorf("%q twice", m.Name)
			}
			names[m.Name] = true
			if math.IsNaN(m.Value.Number) || math.IsInf(m.Value.Number, 0) {
				t.Errorf("%s holds %v", m.Name, m.Value.Number)
			}
			if strings.HasPrefix(m.Name, "eval_") {
				t.Errorf("%s is not of the training", m.Name)
			}
		}
		again, _ := ReadFinal(strings.NewReader(stdout+"\n42\n"), dir)
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("a line after it changed the result (-before +after):\n%s", diff)
		}
	})
}
