package scenario

import (
	"bytes"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v4"
)

// scalars collects the texts of all scalars, and of those in plain style.
func scalars(n *yaml.Node, all, plain map[string]bool) {
	if n.Kind == yaml.ScalarNode {
		all[n.Value] = true
		plain[n.Value] = n.Style == 0 || plain[n.Value]
	}
	for _, c := range n.Content {
		scalars(c, all, plain)
	}
}

// blanks makes runs of white space one blank: a plain text may go over several lines.
func blanks(text string) string {
	text = strings.NewReplacer("\u2028", " ", "\u2029", " ", "\ufeff", " ").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

func FuzzParseScenarios(f *testing.F) {
	for _, seed := range []string{
		"", "scenarios:\n- name: s\n  arguments: {a: 1e6, b: [012, 1:30], c: , d: ''}\n",
		"\ufeffscenarios:\r\n- name: s\r\n  arguments:\r\n    a: x\r\n      y\r\n",
		"p: &p {a: 1}\nscenarios:\n- name: s\n  arguments: {<<: *p, a: 2}\n- name: s\n  arguments: {a: 1, a: 2}\n",
		"a: &a {<<: [*a, *a]}\nscenarios:\n- name: s\n  arguments: *a\n",
		"scenarios:\n- name: s\n  matrix: {a: [1, [2, 3], null]}\n  env: {A: b}\n  timeout: 1m\n",
		"scenarios: [", "scenarios:\n\t- x", "\xff", "? [a]\n: b\n", "scenarios: &a [*a]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, problems := ParseScenarios(data, "s.yaml")
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Line > bytes.Count(data, []byte("\n"))+1 || p.Message == "" {
				t.Fatalf("problem outside of the file: %+v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		checkSound(t, data, file)
	})
}

// checkSound holds what is true of every file without problems.
func checkSound(t *testing.T, data []byte, file File) {
	all, plain := map[string]bool{}, map[string]bool{}
	scalars(newReader(data, "s.yaml").document(data), all, plain)
	names, input := map[string]bool{}, blanks(string(data))
	for _, s := range file.Scenarios {
		if s.Name == "" || names[s.Name] {
			t.Fatalf("name %q is empty or there twice", s.Name)
		}
		names[s.Name] = true
		settings := map[string]bool{}
		for _, a := range s.Arguments {
			if settings[a.Name] {
				t.Fatalf("argument %q is there twice", a.Name)
			}
			settings[a.Name] = true
			for _, v := range a.Values {
				if !all[v] || plain[v] && !strings.Contains(input, blanks(v)) {
					t.Fatalf("value %q of %q is not in the input", v, a.Name)
				}
			}
		}
	}
}
