package experiment

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func example() Experiment {
	return Experiment{
		Version: Version, Name: "exp_1", Scenario: "lora", Trial: 1,
		Trainer: "fms", Launcher: "accelerate", NumGPUs: 2, EffectiveBatch: 8,
		Settings: []Setting{
			{Name: "learning_rate", Values: []string{"2e-5"}},
			{Name: "target_modules", Values: []string{"q", "k"}, List: true},
			{Name: "training_data_path", Values: []string{"/d/data.json"}},
		},
		Framework:  &Content{Name: "foak", Path: "/c/foak.yaml", SHA256: "f0"},
		Accelerate: &Content{Path: "/c/accelerate.yaml", SHA256: "ac"},
		Data:       &Content{Path: "/d/data.json", SHA256: "da"},
		OwnEnv:     map[string]string{"A": "1", "B": "2"},
		Dir:        "/out/exp_1", Workdir: "/w",
		Argv: []string{"/venv/bin/python", "/out/exp_1/hf_trainer.py", "--output_dir", "/out/exp_1/hf",
			"--x=/out/exp_1/y", "/out/exp_10/z", "/out/exp_1", "a=/out/exp_1/b"},
		Env:     map[string]string{"CACHE": "/out/exp_1/cache", "OTHER": "/out/exp_12"},
		Devices: []string{"0", "1"}, Limits: Limits{Timeout: time.Hour},
		Sampling: Sampling{Memory: []string{"nvidia"}, Interval: time.Second},
	}
}

func TestWhatShapesAResultChangesTheIdentity(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Experiment){
		"scenario":                    func(e *Experiment) { e.Scenario = "full" },
		"trial":                       func(e *Experiment) { e.Trial = 2 },
		"trainer":                     func(e *Experiment) { e.Trainer = "hf" },
		"launcher":                    func(e *Experiment) { e.Launcher = "torchrun" },
		"number of GPUs":              func(e *Experiment) { e.NumGPUs = 1 },
		"batch that was asked for":    func(e *Experiment) { e.EffectiveBatch = 4 },
		"value of a setting":          func(e *Experiment) { e.Settings[0].Values = []string{"1e-5"} },
		"spelling of a value":         func(e *Experiment) { e.Settings[0].Values = []string{"0.00002"} },
		"name of a setting":           func(e *Experiment) { e.Settings[0].Name = "lr" },
		"order within a list":         func(e *Experiment) { e.Settings[1].Values = []string{"k", "q"} },
		"two values become one":       func(e *Experiment) { e.Settings[1].Values = []string{"q k"} },
		"a setting more":              func(e *Experiment) { e.Settings = append(e.Settings, Setting{Name: "r", Values: []string{""}}) },
		"content of the framework":    func(e *Experiment) { e.Framework.SHA256 = "f1" },
		"no framework":                func(e *Experiment) { e.Framework = nil },
		"content of accelerate's":     func(e *Experiment) { e.Accelerate.SHA256 = "ad" },
		"content of the data":         func(e *Experiment) { e.Data.SHA256 = "db" },
		"own environment":             func(e *Experiment) { e.OwnEnv = map[string]string{"A": "1", "B": "3"} },
		"own environment, name moved": func(e *Experiment) { e.OwnEnv = map[string]string{"A": "2", "B": "1"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := example()
			change(&e)
			if Identity(e) == Identity(example()) {
				t.Error("the identity did not change")
			}
		})
	}
}

func TestWhatOnlyPlacesAnExperimentDoesNot(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Experiment){
		"folder":                func(e *Experiment) { *e = e.Relocate("/elsewhere/exp_7") },
		"devices":               func(e *Experiment) { e.Devices = []string{"GPU-1", "GPU-2"} },
		"command":               func(e *Experiment) { e.Argv, e.PortArg = []string{"/other/python", "29501"}, 1 },
		"environment around it": func(e *Experiment) { e.Env = map[string]string{"CUDA_VISIBLE_DEVICES": "3"} },
		"working folder":        func(e *Experiment) { e.Workdir = "/elsewhere" },
		"limits":                func(e *Experiment) { e.Limits = Limits{} },
		"sampling":              func(e *Experiment) { e.Sampling = Sampling{} },
		"warnings":              func(e *Experiment) { e.Warnings = []string{"x"} },
		"path of the framework": func(e *Experiment) { e.Framework.Path, e.Framework.Name = "/moved", "renamed" },
		"path of the data": func(e *Experiment) {
			e.Data.Path, e.Settings[2].Values = "/moved.json", []string{"/moved.json"}
		},
		"path of the data, now relative": func(e *Experiment) {
			e.Workdir, e.Data.Path, e.Settings[2].Values = "/x", "/x/sub/d.json", []string{"sub/d.json"}
		},
		"order of the settings":                         func(e *Experiment) { e.Settings[0], e.Settings[1] = e.Settings[1], e.Settings[0] },
		"accelerate's configuration without accelerate": func(e *Experiment) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, want := example(), example()
			if strings.Contains(name, "without accelerate") {
				e.Launcher, want.Launcher, e.Accelerate = "torchrun", "torchrun", nil
			}
			change(&e)
			if got, want := Identity(e), Identity(want); got != want {
				t.Errorf("the identity became %s, want %s", got, want)
			}
		})
	}
}

// The value is written down so that a change of the rule is a decision: it orphans
// every result on disk.
func TestTheIdentityIsStable(t *testing.T) {
	t.Parallel()
	if got, want := Identity(example()), "1a27d0f08fc44449"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRelocateMovesWhatLiesInTheFolder(t *testing.T) {
	t.Parallel()
	before := example()
	got := before.Relocate("/results/exp_3")
	want := example()
	want.Dir, want.Name = "/results/exp_3", "exp_3"
	want.Argv = []string{"/venv/bin/python", "/results/exp_3/hf_trainer.py", "--output_dir", "/results/exp_3/hf",
		"--x=/results/exp_3/y", "/out/exp_10/z", "/results/exp_3", "a=/out/exp_1/b"}
	want.Env = map[string]string{"CACHE": "/results/exp_3/cache", "OTHER": "/out/exp_12"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(example(), before); diff != "" {
		t.Errorf("the original was changed (-want +got)\n%s", diff)
	}
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	t.Parallel()
	want := example()
	want.Settings[0].Values = []string{"\n### <R>: \u65e5\u672c & \"x\" \u2028"}
	want.Dir, want.ID = t.TempDir(), Identity(want)
	if err := want.Save(); err != nil {
		t.Fatal(err)
	}
	got, err := Load(want.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if Identity(got) != want.ID {
		t.Error("the identity did not survive the file")
	}
	want.Trial = 2
	if err := want.Save(); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(want.Dir); len(files) != 1 {
		t.Errorf("saving twice left %v", files)
	}
}

func TestSaveRefusesWhatWouldNotReadBack(t *testing.T) {
	t.Parallel()
	e := example()
	e.Dir = t.TempDir()
	e.Argv = []string{"python", "a\xffb"}
	if err := e.Save(); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(e.Dir, FileName)); !os.IsNotExist(err) {
		t.Errorf("a file was left: %v", err)
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, content, want string }{
		{"a file that was cut", `{"version": 1, "id"`, "not an experiment"},
		{"an empty file", "", "not an experiment"},
		{"another file", `{"a": 1}`, "no version or no id"},
		{"a list", `[]`, "not an experiment"},
		{"a file of a later version", `{"version": 9, "id": "x"}`, "version 9 is newer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, FileName), []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("got %v, want %q and the path", err, tt.want)
			}
		})
	}
	if _, err := Load(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
}
