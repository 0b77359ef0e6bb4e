package matrix

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/experiment"
	"tunebench/internal/scenario"
)

// request is a call on a file of scenarios written in the test.
func request(t *testing.T, text string, change func(*Request)) Request {
	t.Helper()
	file, problems := scenario.ParseScenarios([]byte(text), "s.yaml")
	if len(problems) > 0 {
		t.Fatalf("the scenarios of the test are wrong: %v", problems)
	}
	r := Request{Scenarios: file, Out: "/out", Workdir: "/start", Python: "/venv/bin/python", Self: "/bin/tunebench",
		Port: 29500, AccelerateConfig: seedFile("scenarios", "accelerate.yaml"), Sampling: experiment.Sampling{Memory: []string{"nvidia"}}}
	if change != nil {
		change(&r)
	}
	return r
}

func seedFile(parts ...string) string {
	return filepath.Join(append([]string{"testdata", "seed"}, parts...)...)
}

func defaults(t *testing.T, text string) scenario.Defaults {
	t.Helper()
	d, problems := scenario.ParseDefaults([]byte(text), "d.yaml")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

func plan(t *testing.T, r Request) Plan {
	t.Helper()
	p, problems := Unfold(r)
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	return p
}

func messages(problems []scenario.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Error())
	}
	return out
}

// points spells the settings of all experiments but the last, which is the same in
// most tests.
func points(p Plan) []string {
	var out []string
	for _, e := range p.Experiments {
		var words []string
		for _, s := range e.Settings {
			if s.Name != skipMemory {
				words = append(words, s.Name+"="+strings.Join(s.Values, "|"))
			}
		}
		out = append(out, e.Scenario+": "+strings.Join(words, " "))
	}
	return out
}

func lines(text ...string) string { return strings.Join(text, "\n") + "\n" }

func TestPrecedence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scenarios, defaults string
		change                    func(*Request)
		want                      []string
	}{
		{"a default that one scenario overrides or removes reaches the next one whole",
			lines("scenarios:", "- name: a", "  arguments: {x: 1, z: }", "- name: b", "- name: c", "  arguments: {y: ''}"),
			lines("x: 9", "y: 8", "z: 7"), nil,
			[]string{"a: x=1 y=8", "b: x=9 y=8 z=7", "c: y= x=9 z=7"}},
		{"the matrix of the call beats a default of the same name",
			lines("scenarios:", "- name: a"), lines("packing: False", "max_seq_len: 1024"),
			func(r *Request) { r.Packing, r.MaxSeqLen = []string{"True"}, []string{"2048", "4096"} },
			[]string{"a: packing=True max_seq_len=2048", "a: packing=True max_seq_len=4096"}},
		{"a scenario beats the matrix of the call and turns once",
			lines("scenarios:", "- name: a", "  arguments: {packing: False}", "- name: b"), "packing: default",
			func(r *Request) { r.Packing = []string{"true", "false"} },
			[]string{"a: packing=False", "b: packing=true", "b: packing=false"}},
		{"a scenario that removes a setting keeps the call from setting it",
			lines("scenarios:", "- name: a", "  arguments: {packing: }"), "packing: default",
			func(r *Request) { r.Packing = []string{"true"} },
			[]string{"a: "}},
		{"a default with no value sets nothing",
			lines("scenarios:", "- name: a"), "x:\ny: 1", nil, []string{"a: y=1"}},
		{"a list is several values of one flag, and only models unfold",
			lines("scenarios:", "- name: a", "  arguments:", "    t: [q, k]", "    model_name_or_path: [m, n]", "    u: 1"), "", nil,
			[]string{"a: t=q|k model_name_or_path=m u=1", "a: t=q|k model_name_or_path=n u=1"}},
		{"a single model", lines("scenarios:", "- name: a", "  arguments: {model_name_or_path: m}"), "", nil,
			[]string{"a: model_name_or_path=m"}},
		{"models among the defaults unfold too",
			lines("scenarios:", "- name: a", "- name: b", "  arguments: {model_name_or_path: o}"), "model_name_or_path: [m, n]", nil,
			[]string{"a: model_name_or_path=m", "a: model_name_or_path=n", "b: model_name_or_path=o"}},
		{"dashes in a value are kept",
			lines("scenarios:", "- name: a", "  arguments: {t: 'a --x b', u: '--y'}"), "", nil,
			[]string{"a: t=a --x b u=--y"}},
		{"without batch sizes the keys of the scenario stand, both or neither",
			lines("scenarios:", "- name: a", "  arguments: {per_device_train_batch_size: 2}", "- name: b"), "gradient_accumulation_steps: 1", nil,
			[]string{"a: per_device_train_batch_size=2 gradient_accumulation_steps=1", "b: gradient_accumulation_steps=1"}},
		{"the matrix of a scenario may set, list and remove",
			lines("scenarios:", "- name: a", "  matrix: {x: [1, [2, 3], null]}"), "x: 9", nil,
			[]string{"a: x=1", "a: x=2|3", "a: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := request(t, tt.scenarios, tt.change)
			r.Defaults = defaults(t, tt.defaults)
			if diff := cmp.Diff(tt.want, points(plan(t, r))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTheLastAxisTurnsFastest(t *testing.T) {
	t.Parallel()
	r := request(t, lines("scenarios:", "- name: a",
		"  arguments: {model_name_or_path: [m, n]}", "  matrix: {z: [1, 2], y: [3, 4]}",
		"  framework_config: [null, foak-fast-kernels]", "  repeats: 2"),
		func(r *Request) {
			r.Frameworks, _ = scenario.ReadFrameworks(seedFile("sample-configurations", "CONTENTS.yaml"))
			r.BatchSizes, r.NumGPUs, r.Packing, r.MaxSeqLen = []int{4, 8}, []int{2, 1}, []string{"p", "q"}, []string{"5", "6"}
		})
	r.Defaults = defaults(t, "gradient_accumulation_steps: 1")
	p := plan(t, r)
	if len(p.Experiments) != 512 {
		t.Fatalf("got %d experiments, want 512", len(p.Experiments))
	}
	key := func(e experiment.Experiment) []string {
		var out []string
		for _, name := range []string{scenario.Model, "z", "y"} {
			s, _ := e.Setting(name)
			out = append(out, s.Values[0])
		}
		out = append(out, map[bool]string{false: "a", true: "b"}[e.Framework != nil])
		out = append(out, string(rune('0'+e.EffectiveBatch)), string(rune('9'-e.NumGPUs)))
		for _, name := range []string{packing, maxSeqLen} {
			s, _ := e.Setting(name)
			out = append(out, s.Values[0])
		}
		return append(out, string(rune('0'+e.Trial)))
	}
	if !slices.IsSortedFunc(p.Experiments, func(a, b experiment.Experiment) int { return slices.Compare(key(a), key(b)) }) {
		t.Error("the experiments are not in reading order")
	}
}

func TestSlowScenariosRunOnlyWhereTheyAreNamed(t *testing.T) {
	t.Parallel()
	text := lines("scenarios:", "- name: a", "- {name: b, slow: yes}", "- name: c")
	for _, tt := range []struct {
		name string
		only []string
		want []string
	}{
		{"nothing is named", nil, []string{"a: ", "c: "}},
		{"the slow one is named", []string{"b"}, []string{"b: "}},
		{"two are named, in another order than the file's", []string{"c", "b"}, []string{"b: ", "c: "}},
	} {
		p := plan(t, request(t, text, func(r *Request) { r.Only = tt.only }))
		if diff := cmp.Diff(tt.want, points(p)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
	}
}

func TestTheEnvironmentOfAnExperiment(t *testing.T) {
	t.Parallel()
	plain := lines("scenarios:", "- name: a")
	abs, err := filepath.Abs(seedFile("sample-configurations", "foak-fast-kernels-sample-configuration.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, scenarios string
		change          func(*Request)
		want            map[string]string
		devices, unset  []string
	}{
		{"devices that are not known are counted", plain, func(r *Request) { r.NumGPUs = []int{2} },
			map[string]string{visibleDevices: "0,1", deviceOrder: "PCI_BUS_ID"}, []string{"0", "1"}, []string{frameworkConfig}},
		{"the first visible ones are taken as they are spelled", plain,
			func(r *Request) { r.Devices, r.DevicesKnown = []string{"3", "GPU-7", "1"}, true },
			map[string]string{visibleDevices: "3", deviceOrder: "PCI_BUS_ID"}, []string{"3"}, []string{frameworkConfig}},
		{"no GPU sees none", plain, func(r *Request) { r.NumGPUs = []int{0} },
			map[string]string{visibleDevices: "", deviceOrder: "PCI_BUS_ID"}, nil, []string{frameworkConfig}},
		{"an order that the user set is kept", plain, func(r *Request) { r.UserDeviceOrder = "FASTEST_FIRST" },
			map[string]string{visibleDevices: "0", deviceOrder: "FASTEST_FIRST"}, []string{"0"}, []string{frameworkConfig}},
		{"the scenario's own comes on top", lines("scenarios:", "- name: a", "  env: {A: 1, CUDA_DEVICE_ORDER: X}"), nil,
			map[string]string{visibleDevices: "0", deviceOrder: "X", "A": "1"}, []string{"0"}, []string{frameworkConfig}},
		{"a framework is an absolute path", lines("scenarios:", "- name: a", "  framework_config: foak-fast-kernels"),
			func(r *Request) {
				r.Frameworks, _ = scenario.ReadFrameworks(seedFile("sample-configurations", "CONTENTS.yaml"))
			},
			map[string]string{visibleDevices: "0", deviceOrder: "PCI_BUS_ID", frameworkConfig: abs}, []string{"0"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := plan(t, request(t, tt.scenarios, tt.change)).Experiments[0]
			if diff := cmp.Diff(tt.want, e.Env); diff != "" {
				t.Errorf("environment (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([][]string{tt.devices, tt.unset}, [][]string{e.Devices, e.Unset}); diff != "" {
				t.Errorf("devices and unset (-want +got)\n%s", diff)
			}
		})
	}
}

func TestDataAndMemoryAreAppended(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(data, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := request(t, lines("scenarios:", "- name: a", "- name: b", "  arguments: {training_data_path: own.json, skip_memory_metrics: True}"),
		func(r *Request) { r.DataFile, r.Sampling.Memory = data, []string{"nvidia", "huggingface"} })
	r.Defaults = defaults(t, "x: 1\ntraining_data_path: default.json\nskip_memory_metrics: True\n")
	p := plan(t, r)
	want := [][]string{
		{"/venv/bin/python", "-m", "tuning.sft_trainer", "--x", "1", "--training_data_path", data,
			"--skip_memory_metrics", "False", "--output_dir", "/out/exp_0/hf"},
		{"/venv/bin/python", "-m", "tuning.sft_trainer", "--training_data_path", "own.json",
			"--skip_memory_metrics", "True", "--x", "1", "--output_dir", "/out/exp_1/hf"},
	}
	if diff := cmp.Diff(want, [][]string{p.Experiments[0].Argv, p.Experiments[1].Argv}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	before := p.Experiments[0]
	if before.Data == nil || before.Data.SHA256 != "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945" {
		t.Errorf("the data is %+v", before.Data)
	}
	if err := os.WriteFile(data, []byte("[1]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after := plan(t, r).Experiments[0]; after.ID == before.ID {
		t.Error("other data has the same identity")
	}
}

func TestTheMemoryProbeIsPartOfTheIdentity(t *testing.T) {
	t.Parallel()
	text := lines("scenarios:", "- name: a")
	off := plan(t, request(t, text, nil)).Experiments[0]
	on := plan(t, request(t, text, func(r *Request) { r.Sampling.Memory = []string{"huggingface"} })).Experiments[0]
	if s, _ := off.Setting(skipMemory); s.Values[0] != "True" {
		t.Errorf("without huggingface it is %v", s)
	}
	if on.ID == off.ID {
		t.Error("both have one identity")
	}
}

func TestTrainersAndLimitsOfAScenario(t *testing.T) {
	t.Parallel()
	p := plan(t, request(t, lines("scenarios:",
		"- {name: a, trainer: hf, timeout: 30m}", "- {name: b, trainer: builtin, host_memory_limit: 2GiB}", "- {name: c, trainer: ./x y}", "- name: d"),
		func(r *Request) {
			r.NumGPUs, r.Timeout, r.HostMemory, r.Trainer = []int{2}, 1, 3, "hf"
		}))
	var got []string
	for _, e := range p.Experiments {
		got = append(got, e.Trainer+" "+e.Launcher+" "+e.Argv[0]+" "+e.Limits.Timeout.String()+" "+e.Limits.HostMemory.String())
	}
	want := []string{
		"hf accelerate /venv/bin/accelerate 30m0s 3 B", "builtin  /bin/tunebench 1ns 2.00 GiB",
		"./x y  ./x 1ns 3 B", "hf accelerate /venv/bin/accelerate 1ns 3 B"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if e := p.Experiments[0]; e.Argv[e.PortArg] != "29500" || !slices.Contains(e.Argv, "/out/exp_0/hf_trainer.py") {
		t.Errorf("the command is %q with the port at %d", e.Argv, e.PortArg)
	}
}

// B38: the trainer gets every number as the file spells it.
func TestTheTrainerGetsNumbersAsTheyAreSpelled(t *testing.T) {
	t.Parallel()
	p := plan(t, request(t, lines("scenarios:", "- name: a",
		"  arguments: {learning_rate: 2e-5, adam_epsilon: 1e-4, max_steps: 1e6, lora_dropout: 0.10, seed: 012,",
		"    tag: 1_000, num: 100000000, t: 1:30, v: 2024-01-01, more: [0x1F, +1., .5]}",
		"  matrix: {warmup: [1E2, 0o17]}"), nil))
	want := strings.Fields("--learning_rate 2e-5 --adam_epsilon 1e-4 --max_steps 1e6 --lora_dropout 0.10 --seed 012" +
		" --tag 1_000 --num 100000000 --t 1:30 --v 2024-01-01 --more 0x1F +1. .5 --warmup")
	for i, warmup := range []string{"1E2", "0o17"} {
		got := p.Experiments[i].Argv[3 : 3+len(want)+1]
		if diff := cmp.Diff(append(slices.Clone(want), warmup), got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// TestEveryExperimentOfALargePlanHasItsOwnIdentity unfolds scenarios of more points than
// get their identities together, of just as many, and of few.
func TestEveryExperimentOfALargePlanHasItsOwnIdentity(t *testing.T) {
	t.Parallel()
	values := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint(i+1))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	text := "scenarios:\n"
	want := 0
	for i, n := range []int{3 * inPart / 2, inPart, 1, 2*inPart + 1} {
		text += fmt.Sprintf("  - name: s%d\n    matrix: {r: %s}\n    arguments: {model_name_or_path: m}\n", i, values(n))
		want += n
	}
	p := plan(t, request(t, text, nil))
	seen := map[string]string{}
	for i, e := range p.Experiments {
		if e.ID == "" || e.ID != experiment.Identity(e) {
			t.Errorf("%s has the identity %q, want %q", e.Name, e.ID, experiment.Identity(e))
		}
		if seen[e.ID] != "" || e.Name != folder(i) {
			t.Errorf("%s stands at %d and has the identity of %q", e.Name, i, seen[e.ID])
		}
		seen[e.ID] = e.Name
	}
	if len(seen) != want {
		t.Errorf("%d identities, want %d", len(seen), want)
	}
}

func TestASecretOfAScenarioIsToldOfBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	for variable, told := range map[string]bool{
		"HF_TOKEN: abc": true, "PROXY: 'http://me:word@host'": true, "MINE: hf_AbCdEfGh1234": true,
		"TOKENIZERS_PARALLELISM: 'false'": false, "PROXY: 'http://host:3128'": false,
	} {
		p := plan(t, request(t, "scenarios:\n  - name: s\n    env: {"+variable+"}\n    arguments: {model_name_or_path: m}\n", nil))
		text := strings.Join(p.Warnings, "\n")
		if strings.Contains(text, "looks like a secret") != told || strings.Contains(text, "word") {
			t.Errorf("%s: warnings %q, want one without the value: %v", variable, text, told)
		}
	}
}
