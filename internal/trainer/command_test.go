package trainer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tunebench/internal/experiment"
)

func one(name, value string) experiment.Setting {
	return experiment.Setting{Name: name, Values: []string{value}}
}

func start(trainer string, gpus int, change func(*Start)) Start {
	s := Start{Trainer: trainer, NumGPUs: gpus, Python: "/venv/bin/python", Port: 29511, Self: "/bin/tunebench",
		Script: "/out/exp_0/hf_trainer.py", AccelerateConfig: "/c/acc.yaml", Args: []experiment.Setting{one("r", "8")}}
	if change != nil {
		change(&s)
	}
	return s
}

func launcher(name string) func(*Start) { return func(s *Start) { s.Launcher = name } }

func TestHowEachTrainerIsStarted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		start Start
		want  string // words parted by one blank
		port  string // the word at the index of the port
	}{
		{"the library on one GPU", start(FMS, 1, nil), "/venv/bin/python -m tuning.sft_trainer --r 8", ""},
		{"the library on no GPU", start(FMS, 0, nil), "/venv/bin/python -m tuning.sft_trainer --r 8", ""},
		{"the library on two GPUs", start(FMS, 2, nil),
			"/venv/bin/accelerate launch --config_file /c/acc.yaml --num_processes 2 --main_process_port 29511 -m tuning.sft_trainer --r 8", "29511"},
		{"an interpreter from PATH has its launcher from PATH", start(FMS, 4, func(s *Start) { s.Python = "python" }),
			"accelerate launch --config_file /c/acc.yaml --num_processes 4 --main_process_port 29511 -m tuning.sft_trainer --r 8", "29511"},
		{"torchrun", start(FMS, 2, launcher(Torchrun)),
			"/venv/bin/torchrun --nproc_per_node 2 --master_port 29511 -m -- tuning.sft_trainer --r 8", "29511"},
		{"torchrun needs no configuration", start(FMS, 2, func(s *Start) { s.Launcher, s.AccelerateConfig = Torchrun, "" }),
			"/venv/bin/torchrun --nproc_per_node 2 --master_port 29511 -m -- tuning.sft_trainer --r 8", "29511"},
		{"a launcher that was asked for starts one GPU too", start(FMS, 1, launcher(Torchrun)),
			"/venv/bin/torchrun --nproc_per_node 1 --master_port 29511 -m -- tuning.sft_trainer --r 8", "29511"},
		{"a launcher without GPUs starts one process", start(HF, 0, launcher(Accelerate)),
			"/venv/bin/accelerate launch --config_file /c/acc.yaml --num_processes 1 --main_process_port 29511 /out/exp_0/hf_trainer.py --r 8", "29511"},
		{"no launcher on two GPUs", start(FMS, 2, launcher(Direct)), "/venv/bin/python -m tuning.sft_trainer --r 8", ""},
		{"the Hugging Face script", start(HF, 1, nil), "/venv/bin/python /out/exp_0/hf_trainer.py --r 8", ""},
		{"the Hugging Face script without a configuration", start(HF, 2, func(s *Start) { s.AccelerateConfig = "" }),
			"/venv/bin/accelerate launch --num_processes 2 --main_process_port 29511 /out/exp_0/hf_trainer.py --r 8", "29511"},
		{"tunebench itself", start(Builtin, 1, nil), "/bin/tunebench builtin-trainer --r 8", ""},
		{"tunebench itself for four GPUs", start(Builtin, 4, nil), "/bin/tunebench builtin-trainer --r 8", ""},
		{"a command", start("./train.sh --fast", 2, nil), "./train.sh --fast --r 8", ""},
		{"a Python command on one GPU", start("/v/bin/python3 train.py", 1, nil), "/v/bin/python3 train.py --r 8", ""},
		{"a Python command on two GPUs", start("/v/bin/python3.12 train.py a", 2, nil),
			"/v/bin/accelerate launch --config_file /c/acc.yaml --num_processes 2 --main_process_port 29511 train.py a --r 8", "29511"},
		{"a Python module under torchrun", start("python -m pkg.train", 2, launcher(Torchrun)),
			"torchrun --nproc_per_node 2 --master_port 29511 -m -- pkg.train --r 8", "29511"},
		{"a Python script under torchrun", start("python train.py", 2, launcher(Torchrun)),
			"torchrun --nproc_per_node 2 --master_port 29511 -- train.py --r 8", "29511"},
		{"a Python command with options is started directly", start("python -u train.py", 2, nil), "python -u train.py --r 8", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			argv, port, err := Command(tt.start)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(tt.want, " "), argv); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if tt.port == "" && port != 0 || tt.port != "" && argv[port] != tt.port {
				t.Errorf("the port is said to be argument %d of %q", port, argv)
			}
		})
	}
}

func TestWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		start Start
		want  string
	}{
		{"the library without accelerate's configuration", start(FMS, 2, func(s *Start) { s.AccelerateConfig = "" }), "needs a configuration file"},
		{"a launcher for tunebench itself", start(Builtin, 2, launcher(Torchrun)), "takes no launcher"},
		{"a launcher for a shell script", start("./train.sh", 2, launcher(Accelerate)), `no launcher can start "./train.sh"`},
		{"a launcher for Python with options", start("python -u train.py", 2, launcher(Torchrun)), "a script or -m with a module must follow python"},
		{"a launcher for Python alone", start("python", 1, launcher(Torchrun)), "a script or -m with a module must follow python"},
		{"a launcher that is not known", start(FMS, 2, launcher("deepspeed")), `unknown launcher "deepspeed"`},
		{"a list with a flag among its values", start(FMS, 1, func(s *Start) {
			s.Args = []experiment.Setting{{Name: "x", Values: []string{"a", "-n"}, List: true}}
		}), `x: a list with a value that begins with a dash`},
		{"an empty command", start(" ", 1, nil), "is empty"},
		{"a command with an open quote", start("python 'a", 1, nil), "reading the command"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			argv, _, err := Command(tt.start)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q and %v, want an error with %q", argv, err, tt.want)
			}
		})
	}
}

func TestHowSettingsAreSpelled(t *testing.T) {
	t.Parallel()
	list := func(values ...string) experiment.Setting {
		return experiment.Setting{Name: "x", Values: values, List: true}
	}
	for _, tt := range []struct {
		name    string
		setting experiment.Setting
		want    []string
	}{
		{"a text", one("x", "2e-5"), []string{"--x", "2e-5"}},
		{"an empty text", one("x", ""), []string{"--x", ""}},
		{"a text with a dash in front", one("x", "-n"), []string{"--x=-n"}},
		{"two dashes in front", one("x", "--y z"), []string{"--x=--y z"}},
		{"a negative number", one("x", "-1"), []string{"--x=-1"}},
		{"dashes within", one("x", "a--b"), []string{"--x", "a--b"}},
		{"what a shell would touch", one("x", "\n$HOME `id` 'a' \"b\" * ; 日本"), []string{"--x", "\n$HOME `id` 'a' \"b\" * ; 日本"}},
		{"a list", list("q", "k", ""), []string{"--x", "q", "k", ""}},
		{"a list of one with a dash", list("-n"), []string{"--x=-n"}},
		{"a list of negative numbers", list("-1", "-.5", "2"), []string{"--x", "-1", "-.5", "2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := withFlags(nil, []experiment.Setting{tt.setting})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestWordsAreSplitAsAShellDoes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		want          []string
	}{
		{"blanks and ends of line", " python \t train.py ", []string{"python", "train.py"}},
		{"single quotes keep everything", `a '$HOME b' ''`, []string{"a", "$HOME b", ""}},
		{"double quotes keep blanks", `a "b c" d"e f"g`, []string{"a", "b c", "de fg"}},
		{"escapes in double quotes", `a "\$x \"q\" \\ \n"`, []string{"a", `$x "q" \ \n`}},
		{"backslashes", `a b\ c \$d \*`, []string{"a", "b c", "$d", "*"}},
		{"a continued line", "a \\\n b", []string{"a", "b"}},
		{"patterns and braces stay", "a *.py {b,c} [d]?", []string{"a", "*.py", "{b,c}", "[d]?"}},
		{"a quoted tilde", `a '~/x' b~c`, []string{"a", "~/x", "b~c"}},
		{"an assignment behind the program", `env A=1 python x.py`, []string{"env", "A=1", "python", "x.py"}},
		{"letters beyond ASCII", `日本 é`, []string{"日本", "é"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Words(tt.command)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestWordsRefusesWhatNeedsAShell(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"a $HOME":          "variables and substitutions",
		`a "x${Y}"`:        "variables and substitutions",
		"a `id`":           "variables and substitutions",
		"a $((1+1))":       "variables and substitutions",
		"~/bin/python x":   "~ is not carried out",
		"a; b":             "needs a shell",
		"a | b":            "needs a shell",
		"a && b":           "needs a shell",
		"a > log":          "needs a shell",
		"a &":              "needs a shell",
		"(a)":              "needs a shell",
		"A=1 python x":     "sets A",
		"":                 "is empty",
		"# only a comment": "is empty",
		"'' x":             "has no program",
		`a "b`:             "reading the command",
	} {
		got, err := Words(command)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q and %v, want an error with %q", command, got, err, want)
		}
	}
}

func TestAPlainCommandIsSplitAsAShellDoesIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.StringMatching(`( ?(if|then|for|in|do|done|time|function|[A-Za-z0-9_./,:@%+-]{1,5}))+ ?`).Draw(t, "command")
		want, wantErr := shellWords(command)
		got, err := Words(command)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, a shell's is %v", command, err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-a shell +got)\n%s", command, diff)
		}
	})
}

// FuzzWords holds that what is accepted is made of characters of the command, in
// their order, and that quoting every word again gives the same words.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"python train.py", `a "b c" 'd'\''e'`, `a \` + "\n" + `b`, "a $x", "~ b", "é '' *"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		words, err := Words(command)
		if err != nil {
			return
		}
		rest := command
		var quoted []string
		for _, c := range strings.Join(words, "") {
			_, after, ok := strings.Cut(rest, string(c))
			if !ok {
				t.Fatalf("%q is not made of %q", words, command)
			}
			rest = after
		}
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		again, err := Words(strings.Join(quoted, " "))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(words, again); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}
