package matrix

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tunebench/internal/scenario"
)

const (
	scenarioA = "- name: a\n  arguments: {learning_rate: 2e-4}\n"
	scenarioB = "- name: b\n  trainer: hf\n"
)

// onDisk is what a run of the plan leaves behind.
func onDisk(p Plan) map[string]string {
	out := map[string]string{}
	for _, e := range p.Experiments {
		out[e.ID] = e.Name
	}
	return out
}

func placed(p Plan) []string {
	var out []string
	for _, e := range p.Experiments {
		out = append(out, e.Scenario+" in "+e.Name)
	}
	return out
}

// B35: what was run is known by what it contains, not by where it stands.
func TestResumeKnowsExperimentsByTheirContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, now string
		change    func(*Request)
		taken     []string
		want      []string
	}{
		{"nothing changed", scenarioA + scenarioB, nil, nil, []string{"a in exp_0", "b in exp_1"}},
		{"an argument of A changed, so A runs again", strings.Replace(scenarioA, "2e-4", "1e-4", 1) + scenarioB, nil, nil,
			[]string{"a in exp_2", "b in exp_1"}},
		{"a new scenario in front", "- name: new\n" + scenarioA + scenarioB, nil, nil,
			[]string{"new in exp_2", "a in exp_0", "b in exp_1"}},
		{"only B", scenarioA + scenarioB, func(r *Request) { r.Only = []string{"b"} }, nil, []string{"b in exp_1"}},
		{"the order turned round", scenarioB + scenarioA, nil, nil, []string{"b in exp_1", "a in exp_0"}},
		{"a folder that is taken by something else is passed by", "- name: new\n" + scenarioA, nil, []string{"exp_2", "notes"},
			[]string{"new in exp_3", "a in exp_0"}},
		{"another interpreter, port and device is the same", scenarioA + scenarioB,
			func(r *Request) {
				r.Python, r.Port, r.Out, r.Devices, r.DevicesKnown = "/other/python", 1, "/moved", []string{"7"}, true
			}, nil,
			[]string{"a in exp_0", "b in exp_1"}},
		{"a value more on an axis", scenarioA + scenarioB, func(r *Request) { r.NumGPUs = []int{2, 1} }, nil,
			[]string{"a in exp_2", "a in exp_0", "b in exp_3", "b in exp_1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			existing := onDisk(plan(t, request(t, "scenarios:\n"+scenarioA+scenarioB, nil)))
			now := plan(t, request(t, "scenarios:\n"+tt.now, tt.change)).Place(existing, tt.taken)
			if diff := cmp.Diff(tt.want, placed(now)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, e := range now.Experiments {
				if e.Dir != filepath.Join(filepath.Dir(e.Dir), e.Name) || e.Argv[len(e.Argv)-1] != e.Dir+"/hf" {
					t.Errorf("%s lies in %s and is told to write to %s", e.Name, e.Dir, e.Argv[len(e.Argv)-1])
				}
			}
		})
	}
}

func TestPlaceMovesTheScriptAndLeavesThePlanAlone(t *testing.T) {
	t.Parallel()
	p := plan(t, request(t, "scenarios:\n"+scenarioB, nil))
	moved := p.Place(map[string]string{p.Experiments[0].ID: "exp_41"}, nil).Experiments[0]
	if !slices.Contains(moved.Argv, "/out/exp_41/hf_trainer.py") {
		t.Errorf("the command is %q", moved.Argv)
	}
	if e := p.Experiments[0]; e.Name != "exp_0" || !slices.Contains(e.Argv, "/out/exp_0/hf_trainer.py") {
		t.Errorf("the plan itself was changed: %q", e.Argv)
	}
}

// Adding a value to an axis renames nothing that was run.
func TestAValueMoreKeepsAllIdentities(t *testing.T) {
	t.Parallel()
	frameworks, _ := scenario.ReadFrameworks(seedFile("sample-configurations", "CONTENTS.yaml"))
	rapid.Check(t, func(rt *rapid.T) {
		models, extra := rapid.IntRange(1, 3).Draw(rt, "models"), rapid.IntRange(0, 6).Draw(rt, "axis")
		numbers := rapid.SliceOfNDistinct(rapid.IntRange(1, 9), 2, 4, rapid.ID[int]).Draw(rt, "numbers")
		at := rapid.IntRange(0, len(numbers)-1).Draw(rt, "at")
		fewer := slices.Delete(slices.Clone(numbers), at, at+1)
		build := func(more bool) Request {
			values := func(axis int) []int {
				if axis == extra && more {
					return numbers
				}
				return fewer
			}
			r := request(t, axesText(models, values(0), values(1)), nil)
			r.Frameworks, r.Defaults = frameworks, defaults(t, "gradient_accumulation_steps: 1")
			r.NumGPUs, r.BatchSizes = values(2), multiply(values(3), 2520)
			r.Packing, r.MaxSeqLen, r.Repeats = texts(values(4)), texts(values(5)), 1
			if extra == 6 && more {
				r.Repeats = 2
			}
			return r
		}
		before, after := plan(t, build(false)), onDisk(plan(t, build(true)))
		if len(after) <= len(before.Experiments) {
			rt.Fatalf("%d experiments became %d", len(before.Experiments), len(after))
		}
		for _, e := range before.Experiments {
			if _, ok := after[e.ID]; !ok {
				rt.Fatalf("%s has another identity", e.Name)
			}
		}
	})
}

func axesText(models int, ranks, frameworks []int) string {
	names := []string{"null", "foak-fast-kernels", "accelerated-peft-bnb", "baseline-peft-bnb", "aadp-padding-free",
		"accelerated-peft-bnb-foak", "accelerated-peft-autogptq", "moe-scattermoe-granite-ep1", "moe-scattermoe-granite-ep2"}
	var chosen []string
	for _, f := range frameworks {
		chosen = append(chosen, names[f-1])
	}
	return lines("scenarios:", "- name: a",
		"  arguments: {model_name_or_path: ["+strings.Join([]string{"m", "n", "o"}[:models], ", ")+"]}",
		"  matrix: {r: ["+strings.Join(texts(ranks), ", ")+"]}",
		"  framework_config: ["+strings.Join(chosen, ", ")+"]")
}

func texts(numbers []int) []string {
	var out []string
	for _, n := range numbers {
		out = append(out, string(rune('0'+n)))
	}
	return out
}

func multiply(numbers []int, by int) []int {
	var out []int
	for _, n := range numbers {
		out = append(out, n*by)
	}
	return out
}
