// Package scenario reads what people write: scenario files, the defaults of all
// scenarios, and the contents file that maps short names to framework
// configurations.
//
// Every reader returns all mistakes of a file at once, each with its place and,
// where there is one, the name that was probably meant. Values keep the spelling of
// the file: 2e-5 stays 2e-5 and 012 stays 012, whatever type YAML sees in them.
// Merge keys, anchors and aliases work as they do in YAML 1.1.
//
// What the scenarios unfold to, and whether the files that they name exist, is left
// to package matrix.
package scenario

import (
	"os"
	"time"

	yaml "go.yaml.in/yaml/v4"

	"tunebench/internal/unit"
)

// Scenario is a named recipe as its file gives it.
type Scenario struct {
	Name       string
	Position   Position
	Frameworks []Reference // in file order; empty: one experiment without a framework
	Slow       bool        // runs only where it is named
	Arguments  []Argument
	Matrix     []Axis
	Trainer    string     // empty: the trainer of the call
	Env        []Variable // in file order
	Timeout    time.Duration
	Repeats    int        // 0: not given
	HostMemory unit.Bytes // 0: not given
}

// Argument returns the argument of that name.
func (s Scenario) Argument(name string) (Argument, bool) {
	for _, a := range s.Arguments {
		if a.Name == name {
			return a, true
		}
	}
	return Argument{}, false
}

// Reference is the short name of a framework configuration; an empty name means
// none.
type Reference struct {
	Name     string
	Position Position
}

// Variable is an environment variable that the scenario sets.
type Variable struct {
	Name, Value string
	Position    Position
}

// File is a scenario file.
type File struct {
	Name      string
	Scenarios []Scenario
	Data      []Argument // data_processing: kept for a later release
}

// Names returns the names of all scenarios in file order.
func (f File) Names() []string {
	var out []string
	for _, s := range f.Scenarios {
		out = append(out, s.Name)
	}
	return out
}

// ReadScenarios opens a scenario file and reads it.
func ReadScenarios(path string) (File, []Problem) {
	data, err := os.ReadFile(path)
	if err != nil {
		return File{Name: path}, []Problem{unopened(err)}
	}
	return ParseScenarios(data, path)
}

// unopened needs no place of its own: the error names the act and the file.
func unopened(err error) Problem { return Problem{Message: err.Error()} }

// ParseScenarios reads the content of a scenario file; name is used in positions.
func ParseScenarios(data []byte, name string) (File, []Problem) {
	r, f := newReader(data, name), File{Name: name}
	top := r.document(data)
	if top == nil {
		if len(r.problems) == 0 {
			r.problems = append(r.problems, r.place(1, 1).Problem("no scenarios: the file is empty"))
		}
		return f, r.problems
	}
	r.topKeys(top, &f)
	r.uniqueNames(f.Scenarios)
	return f, inReadingOrder(r.problems)
}

// topKeys reads the keys at the top of a scenario file. A key whose value has an
// anchor is a place for parts that scenarios merge, and read where they are merged.
func (r *reader) topKeys(top *yaml.Node, f *File) {
	found := false
	for _, e := range r.mapping(top, "a scenario file") {
		switch e.key {
		case "scenarios":
			found = true
			f.Scenarios = r.scenarios(e.value)
		case "data_processing":
			f.Data = r.dataProcessing(e.value)
		default:
			if e.value.Anchor == "" {
				r.complain(e.keyNode, "unknown setting %q%s", e.key, Suggest(e.key, []string{"scenarios", "data_processing"}))
			}
		}
	}
	if !found && resolve(top).Kind == yaml.MappingNode {
		r.complain(top, "no scenarios: the file needs a list under the key scenarios")
	}
}

func (r *reader) scenarios(n *yaml.Node) []Scenario {
	if isNull(n) || resolve(n).Kind == yaml.SequenceNode && len(resolve(n).Content) == 0 {
		r.complain(n, "no scenarios: the list is empty")
		return nil
	}
	var out []Scenario
	for _, item := range r.items(n, "scenarios") {
		out = append(out, r.scenario(item))
	}
	return out
}

// uniqueNames reports every name that an earlier scenario has: results are told
// apart by it.
func (r *reader) uniqueNames(scenarios []Scenario) {
	first := map[string]int{}
	for _, s := range scenarios {
		if s.Name == "" {
			continue
		}
		if line, ok := first[s.Name]; ok {
			r.problems = append(r.problems, s.Position.Problem("two scenarios have the name %q, here and in line %d", s.Name, line))
			continue
		}
		first[s.Name] = s.Position.Line
	}
}

func dataKeys() []string {
	return []string{"dataset_name", "dataset_split", "dataset_config", "chat_template", "tokenize", "formatting",
		"input_field", "dataset_text_field", "response_template", "response_field"}
}

func (r *reader) dataProcessing(n *yaml.Node) []Argument {
	out := r.arguments(n, "data_processing")
	known := map[string]bool{}
	for _, k := range dataKeys() {
		known[k] = true
	}
	for _, a := range out {
		if !known[a.Name] {
			r.problems = append(r.problems, a.Position.Problem("unknown setting %q%s", a.Name, Suggest(a.Name, dataKeys())))
		}
	}
	return out
}
