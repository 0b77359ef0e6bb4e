package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/unit"
)

func lines(text ...string) string { return strings.Join(text, "\n") + "\n" }

func messages(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Error())
	}
	return out
}

// values returns the arguments as name=value texts, to compare them at a glance.
func values(arguments []Argument) []string {
	var out []string
	for _, a := range arguments {
		switch {
		case a.Null:
			out = append(out, a.Name+" removed")
		case a.List:
			out = append(out, a.Name+"=["+strings.Join(a.Values, "|")+"]")
		default:
			out = append(out, a.Name+"="+a.Values[0])
		}
	}
	return out
}

func parse(t *testing.T, text string) File {
	t.Helper()
	f, problems := ParseScenarios([]byte(text), "s.yaml")
	if len(problems) > 0 {
		t.Fatalf("problems: %v", messages(problems))
	}
	return f
}

func TestNumbersKeepTheirSpelling(t *testing.T) {
	t.Parallel()
	f := parse(t, lines(
		"scenarios:",
		"- name: spelling",
		"  arguments:",
		"    learning_rate: 2e-5",
		"    adam_epsilon: 1e-4",
		"    max_steps: 1e6",
		"    lora_dropout: 0.10",
		"    seed: 012",
		"    tag: 1_000",
		"    num: 100000000",
		"    t: 1:30",
		"    v: 2024-01-01",
		"    use: True",
		"    off: no",
		"    hex: 0x1F",
		"    plus: +1.",
		"    inf: .inf",
		"    list: [1e6, 012, ~x]",
	))
	want := []string{"learning_rate=2e-5", "adam_epsilon=1e-4", "max_steps=1e6", "lora_dropout=0.10", "seed=012",
		"tag=1_000", "num=100000000", "t=1:30", "v=2024-01-01", "use=True", "off=no", "hex=0x1F", "plus=+1.",
		"inf=.inf", "list=[1e6|012|~x]"}
	if diff := cmp.Diff(want, values(f.Scenarios[0].Arguments)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestArgumentValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, yaml, want string }{
		{"a key with no value removes a default", "a:", "a removed"},
		{"null removes a default", "a: null", "a removed"},
		{"a tilde removes a default", "a: ~", "a removed"},
		{"an empty text is handed on", `a: ""`, "a="},
		{"the word null in quotes is a text", "a: 'null'", "a=null"},
		{"a number with the tag of a text is a text", "a: !!str 012", "a=012"},
		{"escapes in double quotes are carried out", `a: "\n### R:"`, "a=\n### R:"},
		{"a block keeps its ends of line", "a: |\n      x\n      y", "a=x\ny\n"},
		{"a list of one stays a list", "a: [1]", "a=[1]"},
		{"a list of models is a list", "model_name_or_path:\n    - m/a\n    - m/b", "model_name_or_path=[m/a|m/b]"},
		{"two dashes in a value are kept", "a: --x--", "a=--x--"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, lines("scenarios:", "- name: s", "  arguments:", "    "+tt.yaml))
			if diff := cmp.Diff([]string{tt.want}, values(f.Scenarios[0].Arguments)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestMergeKeysAndAliases(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, yaml string
		want       []string
	}{
		{"an override wins and keeps the place", lines(
			"base: &base", "  learning_rate: 2e-5", "  r: 16",
			"scenarios:", "- name: s", "  arguments:", "    <<: *base", "    x: 1", "    learning_rate: 2e-4"),
			[]string{"learning_rate=2e-4", "r=16", "x=1"}},
		{"an override before the merge wins too", lines(
			"scenarios:", "- name: b", "  arguments: &b {r: 16, s: 2}",
			"- name: s", "  arguments:", "    r: 8", "    <<: *b"),
			[]string{"r=8", "s=2"}},
		{"of a list of maps the first wins", lines(
			"p: &p {a: 1, b: 1}", "q: &q {b: 2, c: 2}",
			"scenarios:", "- name: s", "  arguments:", "    <<: [*p, *q]"),
			[]string{"b=1", "c=2", "a=1"}},
		{"a merge may merge", lines(
			"p: &p {a: 1, b: 1}", "q: &q {<<: *p, b: 2}",
			"scenarios:", "- name: s", "  arguments: {<<: *q, c: 3}"),
			[]string{"a=1", "b=2", "c=3"}},
		{"an alias stands for a text and for a list", lines(
			"scenarios:", "- name: s", "  arguments:", "    a: &v 1e6", "    b: *v", "    c: &l [x, *v]", "    d: *l"),
			[]string{"a=1e6", "b=1e6", "c=[x|1e6]", "d=[x|1e6]"}},
		{"an override with null removes", lines(
			"p: &p {a: 1, b: 1}", "scenarios:", "- name: s", "  arguments: {<<: *p, a: null}"),
			[]string{"a removed", "b=1"}},
		{"two arrows in quotes are a name", lines(
			"scenarios:", "- name: s", "  arguments: {'<<': 1, a: 2}"),
			[]string{"<<=1", "a=2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, tt.yaml)
			last := f.Scenarios[len(f.Scenarios)-1]
			if diff := cmp.Diff(tt.want, values(last.Arguments)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAScenarioHasAllItsKeys(t *testing.T) {
	t.Parallel()
	f := parse(t, lines(
		"data_processing:", "  dataset_name: d", "  tokenize: false",
		"scenarios:",
		"- name: first",
		"  framework_config:", "    -", "    - foak", "    - ''",
		"  slow: True",
		"  trainer: python train.py",
		"  env: {B: 2, A: ''}",
		"  timeout: 30m",
		"  matrix:", "    r: [8, 16]", "    target_modules: [[q, k], null, v]",
		"  repeats: 3",
		"  host_memory_limit: 2GiB",
		"- name: second", "  framework_config: foak", "  slow: no"))
	at := func(line, column int) Position { return Position{"s.yaml", line, column} }
	want := File{Name: "s.yaml",
		Data: []Argument{
			{"dataset_name", Value{Values: []string{"d"}}, at(2, 3)},
			{"tokenize", Value{Values: []string{"false"}}, at(3, 3)}},
		Scenarios: []Scenario{{
			Name: "first", Position: at(5, 3), Slow: true, Trainer: "python train.py", Repeats: 3,
			Frameworks: []Reference{{"", at(7, 6)}, {"foak", at(8, 7)}, {"", at(9, 7)}},
			Env:        []Variable{{"B", "2", at(12, 9)}, {"A", "", at(12, 15)}},
			Timeout:    30 * time.Minute, HostMemory: 2 * unit.GiB,
			Matrix: []Axis{
				{"r", []Value{{Values: []string{"8"}}, {Values: []string{"16"}}}, at(15, 5)},
				{"target_modules", []Value{{Values: []string{"q", "k"}, List: true}, {Null: true}, {Values: []string{"v"}}}, at(16, 5)}},
		}, {
			Name: "second", Position: at(19, 3), Frameworks: []Reference{{"foak", at(20, 21)}},
		}}}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAMarkAndCarriageReturnsAreHarmless(t *testing.T) {
	t.Parallel()
	plain := lines("scenarios:", "- name: s", "  arguments:", "    a: 1e6", "    b: [x, y]")
	want := parse(t, plain)
	for name, text := range map[string]string{
		"byte-order mark":          "\ufeff" + plain,
		"carriage returns":         strings.ReplaceAll(plain, "\n", "\r\n"),
		"both":                     "\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n"),
		"no end of line":           strings.TrimSuffix(plain, "\n"),
		"a document mark at start": "---\n" + plain + "...\n",
	} {
		got := parse(t, text)
		if diff := cmp.Diff(values(want.Scenarios[0].Arguments), values(got.Scenarios[0].Arguments)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestDefaultsAreAFlatMap(t *testing.T) {
	t.Parallel()
	d, problems := ParseDefaults([]byte("# all\na: 1e-4\nb: ''\nc: [1, 2]\n"), "d.yaml")
	if len(problems) > 0 {
		t.Fatal(messages(problems))
	}
	if diff := cmp.Diff([]string{"a=1e-4", "b=", "c=[1|2]"}, values(d.Arguments)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if d, problems := ParseDefaults([]byte("# nothing\n"), "d.yaml"); len(d.Arguments)+len(problems) != 0 {
		t.Errorf("a file of comments gave %v and %v", d, problems)
	}
}

func TestFrameworkFilesLieBesideTheContents(t *testing.T) {
	t.Parallel()
	f, problems := ParseFrameworks([]byte(lines("framework_configs:",
		"- shortname: foak", "  plugins: [a, b]", "  filename: foak.yaml",
		"- shortname: bnb", "  filename: /abs/bnb.yaml")), "conf/CONTENTS.yaml")
	if len(problems) > 0 {
		t.Fatal(messages(problems))
	}
	got, ok := f.Lookup("foak")
	want := Framework{"foak", []string{"a", "b"}, "conf/foak.yaml", Position{"conf/CONTENTS.yaml", 2, 3}}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if bnb, _ := f.Lookup("bnb"); bnb.Path != "/abs/bnb.yaml" {
		t.Errorf("an absolute name became %q", bnb.Path)
	}
	if _, ok := f.Lookup("fok"); ok {
		t.Error("a name that is not there was found")
	}
}

func TestAFileThatIsNotThereIsAProblem(t *testing.T) {
	t.Parallel()
	missing := t.TempDir() + "/none.yaml"
	_, a := ReadScenarios(missing)
	_, b := ReadDefaults(missing)
	_, c := ReadFrameworks(missing)
	for _, problems := range [][]Problem{a, b, c} {
		want := []string{"open " + missing + ": no such file or directory"}
		if diff := cmp.Diff(want, messages(problems)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}
