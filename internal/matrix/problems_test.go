package matrix

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/scenario"
)

func TestWhatStopsACallBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	plain := lines("scenarios:", "- name: full-finetuning", "- {name: slow-one, slow: yes}")
	contents := func(r *Request) {
		r.Frameworks, _ = scenario.ParseFrameworks([]byte(lines("framework_configs:",
			"- {shortname: foak, filename: nowhere.yaml}",
			"- {shortname: bnb, filename: seed/sample-configurations/CONTENTS.yaml}")), "testdata/C.yaml")
	}
	for _, tt := range []struct {
		name, scenarios string
		change          func(*Request)
		want            []string
	}{
		{"an unknown scenario", plain, func(r *Request) { r.Only = []string{"full-fintuning", "zzzzzzzz"} }, []string{
			`--only full-fintuning: there is no such scenario in s.yaml (did you mean "full-finetuning"?)`,
			`--only zzzzzzzz: there is no such scenario in s.yaml`}},
		{"only slow scenarios", lines("scenarios:", "- {name: a, slow: yes}"), nil, []string{
			`no scenario is selected: slow scenarios run only where --only names them`}},
		{"more GPUs than there are", plain, func(r *Request) {
			r.NumGPUs, r.Devices, r.DevicesKnown = []int{1, 2, 4}, []string{"5", "6"}, true
		}, []string{`--num-gpus 4: only 2 devices are visible ("5,6")`}},
		{"numbers that make no sense", plain, func(r *Request) { r.NumGPUs, r.BatchSizes = []int{-1}, []int{0} }, []string{
			`--num-gpus -1: there is no such number of GPUs`, `--batch-sizes 0: a batch has at least one sample`}},
		{"a framework that is not known", lines("scenarios:", "- name: a", "  framework_config:", "  - foaq"), contents, []string{
			`s.yaml:4:5: unknown framework configuration "foaq" (did you mean "foak"?)`}},
		{"frameworks without their contents file", lines("scenarios:", "- name: a", "  framework_config: foak"), nil, []string{
			`s.yaml:3:21: unknown framework configuration "foak": no file of framework configurations (CONTENTS.yaml) was read`}},
		{"a framework without its file", lines("scenarios:", "- name: a", "  framework_config: foak"), contents, []string{
			`testdata/C.yaml:2:3: framework configuration "foak": open ABS/testdata/nowhere.yaml: no such file or directory`}},
		{"a framework for a trainer that reads none", lines("scenarios:", "- {name: a, trainer: hf, framework_config: [null, bnb]}"), contents, []string{
			`s.yaml:2:51: the trainer hf reads no framework configuration: its results under the label "bnb" would be those of a run without`}},
		{"both batch keys", lines("scenarios:", "- name: a", "  arguments: {per_device_train_batch_size: 2, gradient_accumulation_steps: 1}"),
			func(r *Request) { r.BatchSizes = []int{4, 8} }, []string{
				`s.yaml:2:3: scenario "a": with --batch-sizes exactly one of per_device_train_batch_size and gradient_accumulation_steps is set and the other derived, but both are: leave the value of one empty in the scenario`}},
		{"neither batch key", lines("scenarios:", "- name: a"), func(r *Request) { r.BatchSizes = []int{4} }, []string{
			`s.yaml:2:3: scenario "a": with --batch-sizes exactly one of per_device_train_batch_size and gradient_accumulation_steps is set and the other derived, but neither is`}},
		{"a batch smaller than the GPUs", lines("scenarios:", "- name: a", "  arguments: {gradient_accumulation_steps: 1}"),
			func(r *Request) { r.BatchSizes, r.NumGPUs = []int{1}, []int{2} }, []string{
				`s.yaml:2:3: scenario "a": batch size 1 leaves no sample for each of 2 GPUs`}},
		{"a batch key that is no number", lines("scenarios:", "- name: a", "  arguments: {per_device_train_batch_size: 1e1}"),
			func(r *Request) { r.BatchSizes = []int{1} }, []string{
				`s.yaml:2:3: scenario "a": per_device_train_batch_size must be a whole number from 1, not "1e1"`}},
		{"settings and variables that tunebench sets", lines("scenarios:", "- name: a", "  arguments: {output_dir: x}", "  env: {CUDA_VISIBLE_DEVICES: 3}"), nil, []string{
			`s.yaml:3:15: output_dir is set by tunebench, to a folder of its own for each experiment`,
			`s.yaml:4:9: CUDA_VISIBLE_DEVICES is set by tunebench, from the matrix`}},
		{"a model twice", lines("scenarios:", "- name: a", "  arguments: {model_name_or_path: [m, m]}"),
			func(r *Request) { r.NumGPUs = []int{1, 2} }, []string{
				`s.yaml:2:3: scenario "a": exp_0 and exp_2 are the same, a value of some axis is given twice`}},
		{"a number of GPUs twice", plain, func(r *Request) { r.NumGPUs = []int{1, 1} }, []string{
			`s.yaml:2:3: scenario "full-finetuning": exp_0 and exp_1 are the same, a value of some axis is given twice`}},
		{"a launcher for a command that takes none", lines("scenarios:", "- {name: a, trainer: ./x.sh}"),
			func(r *Request) { r.Launcher = "torchrun" }, []string{
				`s.yaml:2:4: scenario "a": no launcher can start "./x.sh": only a Python script or module can be handed to one`}},
		{"several GPUs without accelerate's configuration", plain,
			func(r *Request) { r.AccelerateConfig, r.NumGPUs = "", []int{2} }, []string{
				`s.yaml:2:3: scenario "full-finetuning": accelerate needs a configuration file to start the trainer fms on 2 GPUs (give --accelerate-config FILE, or --launcher torchrun)`}},
		{"files that are not there", plain,
			func(r *Request) { r.AccelerateConfig, r.DataFile, r.NumGPUs = "/no/a.yaml", "/no/d.json", []int{2} }, []string{
				`the training data: open /no/d.json: no such file or directory`,
				`the configuration of accelerate: open /no/a.yaml: no such file or directory`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, problems := Unfold(request(t, tt.scenarios, tt.change))
			if diff := cmp.Diff(tt.want, relative(messages(problems))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(p.Experiments) > 0 {
				t.Errorf("%d experiments would run", len(p.Experiments))
			}
		})
	}
}

func TestDoubtsStopNobody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scenarios string
		change          func(*Request)
		want            []string
		settings        []string
	}{
		{"a batch that does not divide", lines("scenarios:", "- name: a", "  arguments: {gradient_accumulation_steps: 3}"),
			func(r *Request) { r.BatchSizes, r.NumGPUs = []int{5}, []int{2} },
			[]string{`scenario "a": batch size 5 on 2 GPUs cannot be met, 4 is really used`},
			[]string{"a: gradient_accumulation_steps=3 per_device_train_batch_size=2"}},
		{"accumulation that does not divide", lines("scenarios:", "- name: a", "  arguments: {per_device_train_batch_size: 3}"),
			func(r *Request) { r.BatchSizes = []int{7} },
			[]string{`scenario "a": batch size 7 on 1 GPUs cannot be met, 6 is really used`},
			[]string{"a: per_device_train_batch_size=3 gradient_accumulation_steps=2"}},
		{"accumulation is at least 1", lines("scenarios:", "- name: a", "  arguments: {per_device_train_batch_size: 8}"),
			func(r *Request) { r.BatchSizes = []int{4} },
			[]string{`scenario "a": batch size 4 on 1 GPUs cannot be met, 8 is really used`},
			[]string{"a: per_device_train_batch_size=8 gradient_accumulation_steps=1"}},
		{"no GPU counts as one", lines("scenarios:", "- name: a", "  arguments: {gradient_accumulation_steps: 1}"),
			func(r *Request) { r.BatchSizes, r.NumGPUs = []int{4}, []int{0} }, nil,
			[]string{"a: gradient_accumulation_steps=1 per_device_train_batch_size=4"}},
		{"two batch sizes that come to the same", lines("scenarios:", "- name: a", "  arguments: {gradient_accumulation_steps: 1}"),
			func(r *Request) { r.BatchSizes, r.NumGPUs = []int{4, 5}, []int{2} },
			[]string{`scenario "a": batch size 5 on 2 GPUs cannot be met, 4 is really used`,
				`scenario "a": batch sizes 4 and 5 on 2 GPUs come to the same arguments, both are run`},
			[]string{"a: gradient_accumulation_steps=1 per_device_train_batch_size=2", "a: gradient_accumulation_steps=1 per_device_train_batch_size=2"}},
		{"an unknown framework of a scenario that is not selected",
			lines("scenarios:", "- name: a", "- {name: b, slow: yes, framework_config: [x]}"), nil,
			[]string{`s.yaml:3:43: scenario "b", which is not selected, names the unknown framework configuration "x"`}, []string{"a: "}},
		{"a scenario out of reach of the call's matrix", lines("scenarios:", "- name: a", "  matrix: {packing: [x]}"),
			func(r *Request) { r.Packing = []string{"y", "z"} },
			[]string{`scenario "a" sets packing itself, the values of the call do not reach it`}, []string{"a: packing=x"}},
		{"more GPUs than there are do not matter to the builtin trainer", lines("scenarios:", "- {name: a, trainer: builtin}"),
			func(r *Request) { r.NumGPUs, r.DevicesKnown = []int{4}, true }, nil, []string{"a: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := plan(t, request(t, tt.scenarios, tt.change))
			if diff := cmp.Diff(tt.want, p.Warnings); diff != "" {
				t.Errorf("warnings (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.settings, points(p)); diff != "" {
				t.Errorf("settings (-want +got)\n%s", diff)
			}
		})
	}
}
