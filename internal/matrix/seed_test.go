package matrix

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"tunebench/internal/experiment"
	"tunebench/internal/scenario"
)

var update = flag.Bool("update", false, "write the golden files anew")

// relative takes the folder of this package out of texts.
func relative(texts []string) []string {
	here, err := filepath.Abs(".")
	if err != nil {
		return texts
	}
	var out []string
	for _, text := range texts {
		out = append(out, strings.ReplaceAll(text, here, "ABS"))
	}
	return out
}

// seedRequest is the call of the first harness: batches 4 and 8 on 1 and 2 GPUs.
func seedRequest(t *testing.T, dir, file string) Request {
	t.Helper()
	s, a := scenario.ReadScenarios(filepath.Join(dir, "scenarios", file))
	d, b := scenario.ReadDefaults(filepath.Join(dir, "scenarios", "defaults.yaml"))
	f, c := scenario.ReadFrameworks(filepath.Join(dir, "sample-configurations", "CONTENTS.yaml"))
	if problems := append(append(a, b...), c...); len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	return Request{Scenarios: s, Defaults: d, Frameworks: f, NumGPUs: []int{1, 2}, BatchSizes: []int{4, 8},
		Python: "/venv/bin/python", Port: 29500, Out: "/out", Workdir: "/start", Sampling: experiment.Sampling{Memory: []string{"nvidia", "huggingface"}},
		AccelerateConfig: filepath.Join(dir, "scenarios", "accelerate.yaml")}
}

func planSeed(t *testing.T, dir string) {
	for file, want := range map[string]int{
		"scenarios.yaml":         124,
		"scenarios-granite.yaml": 4 * (2 + 2 + 1 + 2),
		"scenarios-liger.yaml":   4 * 16,
		"scenarios-moe.yaml":     4 * 30,
		"scenarios-orca.yaml":    4 * (1 + 2 + 4 + 4),
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			p := plan(t, seedRequest(t, dir, file))
			if len(p.Experiments) != want {
				t.Errorf("got %d experiments, want %d", len(p.Experiments), want)
			}
			for _, e := range p.Experiments {
				for _, s := range e.Settings {
					if s.Name == scenario.Model && len(s.Values) != 1 {
						t.Errorf("%s has the models %q", e.Name, s.Values)
					}
				}
			}
		})
	}
}

func TestTheScenarioFilesOfTheFirstHarnessArePlanned(t *testing.T) {
	t.Parallel()
	planSeed(t, seedFile())
}

func TestTheSharedScenarioFilesArePlanned(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "shared", "seed")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("needs the scenario files of the first harness: %v", err)
	}
	planSeed(t, dir)
}

func TestTheSlowGraniteScenario(t *testing.T) {
	t.Parallel()
	r := seedRequest(t, seedFile(), "scenarios-granite.yaml")
	want := `scenario "accelerated-moe", which is not selected, names the unknown framework configuration "moe-scattermoe-granite"`
	if w := plan(t, r).Warnings; len(w) != 1 || !strings.Contains(w[0], want) {
		t.Errorf("the warnings are %q", w)
	}
	r.Only = []string{"accelerated-moe"}
	_, problems := Unfold(r)
	want = `testdata/seed/scenarios/scenarios-granite.yaml:61:15: unknown framework configuration "moe-scattermoe-granite" (did you mean "moe-scattermoe-granite-ep1"?)`
	if got := messages(problems); len(got) != 1 || got[0] != want {
		t.Errorf("the problems are %q, want %q", got, want)
	}
}

// The first harness lost a default to all scenarios after one that overrode it; here
// every one of the 124 experiments has them.
func TestTheWholeMatrix(t *testing.T) {
	t.Parallel()
	p := plan(t, seedRequest(t, seedFile(), "scenarios.yaml"))
	var out strings.Builder
	for i, e := range p.Experiments {
		for name, want := range map[string]string{"max_steps": "100", "learning_rate": "", "adam_epsilon": "1e-4"} {
			s, ok := e.Setting(name)
			if !ok || want != "" && s.Values[0] != want {
				t.Errorf("%s has %s %q", e.Name, name, s.Values)
			}
		}
		if e.Name != fmt.Sprintf("exp_%d", i) {
			t.Errorf("experiment %d is called %s", i, e.Name)
		}
		fmt.Fprintf(&out, "%s CUDA_VISIBLE_DEVICES=%s framework=%s", e.Name, e.Env[visibleDevices], relative([]string{filepath.Base(e.Env[frameworkConfig])})[0])
		for _, arg := range relative(e.Argv) {
			quoted, err := syntax.Quote(arg, syntax.LangBash)
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString(" " + quoted)
		}
		out.WriteString("\n")
	}
	golden(t, filepath.Join("testdata", "scenarios.golden"), out.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("(-want +got, write anew with -update)\n%s", diff)
	}
}
