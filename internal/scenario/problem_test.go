package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMistakesInScenarioFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, yaml string
		want       []string
	}{
		{"an unknown setting with the one that was meant",
			lines("scenarios:", "- name: s", "  framwork_config: x"),
			[]string{`s.yaml:3:3: unknown setting "framwork_config" (did you mean "framework_config"?)`}},
		{"a setting of the trainer in the wrong place",
			lines("scenarios:", "- name: s", "  learning_rate: 1"),
			[]string{`s.yaml:3:3: unknown setting "learning_rate": a scenario has name, framework_config, slow, arguments, trainer, env, timeout, matrix, repeats, host_memory_limit; what the trainer is to get stands under arguments`}},
		{"an unknown key at the top",
			lines("scenario: 1", "scenarios:", "- name: s"),
			[]string{`s.yaml:1:1: unknown setting "scenario" (did you mean "scenarios"?)`}},
		{"an argument twice",
			lines("scenarios:", "- name: s", "  arguments:", "    learning_rate: 2e-5", "    r: 1", "    learning_rate: 2e-4"),
			[]string{`s.yaml:6:5: "learning_rate" is set twice, here and in line 4`}},
		{"a key of a scenario twice",
			lines("scenarios:", "- name: s", "  slow: yes", "  slow: no"),
			[]string{`s.yaml:4:3: "slow" is set twice, here and in line 3`}},
		{"the same key three times, once in quotes",
			lines("scenarios:", "- name: s", "  arguments: {a: 1,", "    'a': 2,", "    a: 3}"),
			[]string{`s.yaml:4:5: "a" is set twice, here and in line 3`, `s.yaml:5:5: "a" is set twice, here and in line 3`}},
		{"two merge keys",
			lines("p: &p {a: 1}", "scenarios:", "- name: s", "  arguments:", "    <<: *p", "    <<: *p"),
			[]string{`s.yaml:6:5: "<<" is set twice, here and in line 5`}},
		{"a doubled key in a part that is merged twice is said once",
			lines("p: &p", "  a: 1", "  a: 2", "scenarios:", "- name: s", "  arguments: {<<: *p}", "- name: t", "  arguments: *p"),
			[]string{`s.yaml:3:3: "a" is set twice, here and in line 2`}},
		{"two scenarios of one name",
			lines("scenarios:", "- name: same", "  slow: yes", "- name: other", "- slow: no", "  name: 'same'"),
			[]string{`s.yaml:6:3: two scenarios have the name "same", here and in line 2`}},
		{"a setting under arguments and under matrix",
			lines("scenarios:", "- name: s", "  arguments: {r: 1}", "  matrix: {r: [1, 2]}"),
			[]string{`s.yaml:4:12: "r" is set twice, here and under arguments in line 3`}},
		{"models under matrix",
			lines("scenarios:", "- name: s", "  matrix: {model_name_or_path: [a]}"),
			[]string{`s.yaml:3:12: model_name_or_path unfolds by itself: list the models under arguments`}},
		{"all mistakes at once, in reading order", lines(
			"scenarios:",
			"- slow: maybe",
			"  repeats: 0",
			"  timeout: 30",
			"  host_memory_limit: much",
			"- name: [a]",
			"  arguments: {a: {b: 1}, c: [[1]], d: []}",
			"- name: ''",
			"  env: {A: , 'B=C': 1}",
			"  matrix: {r: 3, s: []}",
			"- just text",
			"  "),
			[]string{
				`s.yaml:2:3: the scenario has no name`,
				`s.yaml:2:9: slow must be true or false, not the text "maybe"`,
				`s.yaml:3:12: repeats must be a whole number from 1, not the text "0"`,
				`s.yaml:4:12: timeout must be a time like 90s, 30m or 1h30m, not the text "30"`,
				`s.yaml:5:22: host_memory_limit must be an amount of memory like 2GiB, not the text "much"`,
				`s.yaml:6:9: name must be text or a number, not a list`,
				`s.yaml:7:18: a must be text or a number, not a map`,
				`s.yaml:7:30: each value of c must be text or a number, not a list`,
				`s.yaml:7:39: d is an empty list: leave the value out to remove a default`,
				`s.yaml:8:9: name is empty`,
				`s.yaml:9:12: A must be text or a number, not empty`,
				`s.yaml:9:14: "B=C" is no name of an environment variable`,
				`s.yaml:10:15: r in a matrix must be a list, not the text "3"`,
				`s.yaml:10:21: s in a matrix has no values`,
				`s.yaml:11:3: a scenario must be a map, not the text "just text"`,
			}},
		{"a null among the values of a list", lines("scenarios:", "- name: s", "  arguments: {a: [1, ]}", "- name: t", "  arguments:", "    b:", "    - 1", "    -"),
			[]string{`s.yaml:8:6: each value of b must be text or a number, not empty`}},
		{"a name that is no flag", lines("scenarios:", "- name: s", "  arguments: {--lr: 1, 'a b': 2}"),
			[]string{
				`s.yaml:3:15: "--lr" is no name of a setting: write it without dashes in front, blanks and =`,
				`s.yaml:3:24: "a b" is no name of a setting: write it without dashes in front, blanks and =`}},
		{"keys that are no text", lines("scenarios:", "- name: s", "  arguments: {[a]: 1, ~: 2}"),
			[]string{`s.yaml:3:15: a key must be text, not a list`, `s.yaml:3:23: a key must be text, not empty`}},
		{"a merge of a text", lines("scenarios:", "- name: s", "  arguments: {<<: 3}"),
			[]string{`s.yaml:3:19: a merge key (<<) takes a map or a list of maps, not the text "3"`}},
		{"an unknown tag", lines("scenarios:", "- name: s", "  arguments: {a: !gpu 3}"),
			[]string{`s.yaml:3:18: a has the unknown tag !gpu`}},
		{"an unknown key of the data", lines("data_processing: {dataset_nam: x}", "scenarios:", "- name: s"),
			[]string{`s.yaml:1:19: unknown setting "dataset_nam" (did you mean "dataset_name"?)`}},
		{"scenarios that are a map", lines("scenarios:", "  name: s"),
			[]string{`s.yaml:2:3: scenarios must be a list, not a map`}},
		{"an empty list", lines("scenarios: []"), []string{`s.yaml:1:12: no scenarios: the list is empty`}},
		{"an empty file", "", []string{`s.yaml:1:1: no scenarios: the file is empty`}},
		{"only comments", "# to do\n\n", []string{`s.yaml:1:1: no scenarios: the file is empty`}},
		{"no scenarios", "data_processing: {}\n", []string{`s.yaml:1:1: no scenarios: the file needs a list under the key scenarios`}},
		{"a file that is a list", "- name: s\n", []string{`s.yaml:1:1: a scenario file must be a map, not a list`}},
		{"two documents", "scenarios:\n- name: s\n---\nscenarios:\n- name: t\n",
			[]string{`s.yaml:3:1: a second document: the file must hold one`}},
		{"a bracket that is not closed", "scenarios: [\n- name: s\n",
			[]string{`s.yaml:2:1: not YAML: did not find expected node content while parsing a flow node`}},
		{"a tab", "scenarios:\n\t- name: s\n",
			[]string{`s.yaml:2:1: not YAML: found character that cannot start any token while scanning for the next token`}},
		{"an anchor that is not there", "scenarios: *x\n", []string{`s.yaml:1:12: not YAML: unknown anchor 'x' referenced`}},
		{"a byte that is not UTF-8", "scenarios:\n- name: \xff\n",
			[]string{`s.yaml:2:9: not YAML: invalid leading UTF-8 octet (value: 255)`}},
		{"UTF-16", "\xff\xfes\x00", []string{`s.yaml:1:1: the file is UTF-16, save it as UTF-8`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, problems := ParseScenarios([]byte(tt.yaml), "s.yaml")
			if diff := cmp.Diff(tt.want, messages(problems)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestMistakesInOtherFiles(t *testing.T) {
	t.Parallel()
	_, defaults := ParseDefaults([]byte("a: 1\nb: {c: 1}\na: 2\n"), "d.yaml")
	_, list := ParseDefaults([]byte("- a\n"), "d.yaml")
	_, contents := ParseFrameworks([]byte(lines(
		"framework_config: []",
		"framework_configs:",
		"- shortname: a", "  filename: a.yaml", "  plugin: x",
		"- shortname: a", "  filename: b.yaml",
		"- shortname: c",
		"- text")), "c.yaml")
	got := [][]string{messages(defaults), messages(list), messages(contents)}
	want := [][]string{
		{`d.yaml:2:4: b must be text or a number, not a map`, `d.yaml:3:1: "a" is set twice, here and in line 1`},
		{`d.yaml:1:1: a file of defaults must be a map, not a list`},
		{
			`c.yaml:1:1: unknown setting "framework_config" (did you mean "framework_configs"?)`,
			`c.yaml:5:3: unknown setting "plugin" (did you mean "plugins"?)`,
			`c.yaml:6:3: two framework configurations have the short name "a", here and in line 3`,
			`c.yaml:8:3: a framework configuration needs a shortname and a filename`,
			`c.yaml:9:3: a framework configuration must be a map, not the text "text"`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Each level merges the one below twice: read naively this is a million maps.
func TestMergesOfMergesStaySmall(t *testing.T) {
	t.Parallel()
	text := "l0: &l0 {a: 1}\n"
	for i := range 20 {
		below, here := string(rune('a'+i)), string(rune('b'+i))
		if i == 0 {
			below = "l0"
		}
		text += here + ": &" + here + " {<<: [*" + below + ", *" + below + "]}\n"
	}
	f := parse(t, text+"scenarios:\n- name: s\n  arguments: *u\n")
	if diff := cmp.Diff([]string{"a=1"}, values(f.Scenarios[0].Arguments)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	known := []string{"full-finetuning", "standard-peft", "slow"}
	for name, want := range map[string]string{
		"full-fintuning": "full-finetuning",
		"standardpeft":   "standard-peft",
		"slwo":           "slow",
		"something-else": "",
		"":               "",
	} {
		got := Suggest(name, known)
		if want != "" && !strings.Contains(got, `"`+want+`"`) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
