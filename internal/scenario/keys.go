package scenario

import (
	"strconv"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v4"

	"tunebench/internal/unit"
)

func scenarioKeys() []string {
	return []string{"name", "framework_config", "slow", "arguments", "trainer", "env", "timeout", "matrix",
		"repeats", "host_memory_limit"}
}

// scenario reads one element of the list of scenarios.
func (r *reader) scenario(n *yaml.Node) Scenario {
	s := Scenario{Position: r.at(n)}
	named := false
	for _, e := range r.mapping(n, "a scenario") {
		if e.key == "name" {
			named = true
			s.Position = r.at(e.keyNode)
		}
		if e.key != "name" && isNull(e.value) {
			r.knownKey(e) // A key with no value sets nothing.
			continue
		}
		r.scenarioKey(&s, e)
	}
	if !named && resolve(n).Kind == yaml.MappingNode {
		r.complain(n, "the scenario has no name")
	}
	r.setOnce(s)
	return s
}

func (r *reader) scenarioKey(s *Scenario, e entry) {
	switch e.key {
	case "name":
		s.Name = r.word(e)
	case "trainer":
		s.Trainer = r.word(e)
	case "framework_config":
		s.Frameworks = r.frameworkNames(e.value)
	case "slow":
		s.Slow = r.truth(e)
	case "arguments":
		s.Arguments = r.arguments(e.value, "arguments")
	case "matrix":
		s.Matrix = r.axes(e.value)
	case "env":
		s.Env = r.environment(e.value)
	case "timeout":
		s.Timeout = r.duration(e)
	case "repeats":
		s.Repeats = r.count(e)
	case "host_memory_limit":
		s.HostMemory = r.memory(e)
	default:
		r.knownKey(e)
	}
}

func (r *reader) knownKey(e entry) {
	keys := scenarioKeys()
	for _, k := range keys {
		if k == e.key {
			return
		}
	}
	hint := Suggest(e.key, keys)
	if hint == "" {
		hint = ": a scenario has " + strings.Join(keys, ", ") + "; what the trainer is to get stands under arguments"
	}
	r.complain(e.keyNode, "unknown setting %q%s", e.key, hint)
}

// setOnce reports a setting that both arguments and matrix give.
func (r *reader) setOnce(s Scenario) {
	for _, axis := range s.Matrix {
		if a, ok := s.Argument(axis.Name); ok {
			r.problems = append(r.problems, axis.Position.Problem(
				"%q is set twice, here and under arguments in line %d", axis.Name, a.Position.Line))
		}
	}
}

// word reads a text that must not be empty.
func (r *reader) word(e entry) string {
	text, ok := r.text(e.value, e.key)
	if ok && strings.TrimSpace(text) == "" {
		r.complain(e.value, "%s is empty", e.key)
	}
	return text
}

// frameworkNames reads one short name or a list of them; an empty entry means none.
func (r *reader) frameworkNames(n *yaml.Node) []Reference {
	items := []*yaml.Node{n}
	if s := resolve(n); s.Kind == yaml.SequenceNode {
		items = s.Content
		if len(items) == 0 {
			r.complain(n, "framework_config is an empty list: leave the key out to run without one")
		}
	}
	var out []Reference
	for _, item := range items {
		if isNull(item) {
			out = append(out, Reference{Position: r.at(item)})
		} else if name, ok := r.text(item, "framework_config"); ok {
			out = append(out, Reference{Name: name, Position: r.at(item)})
		}
	}
	return out
}

func (r *reader) environment(n *yaml.Node) []Variable {
	var out []Variable
	for _, e := range r.mapping(n, "env") {
		if e.key == "" || strings.ContainsAny(e.key, "=\x00") {
			r.complain(e.keyNode, "%q is no name of an environment variable", e.key)
			continue
		}
		value, ok := r.text(e.value, e.key)
		if ok && strings.ContainsRune(value, 0) {
			r.complain(e.value, "%s holds a NUL, which no environment can", e.key)
			continue
		}
		if ok {
			out = append(out, Variable{Name: e.key, Value: value, Position: r.at(e.keyNode)})
		}
	}
	return out
}

// truth reads the spellings that YAML 1.1 has for true and false.
func (r *reader) truth(e entry) bool {
	text, ok := r.text(e.value, e.key)
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	if ok {
		r.complain(e.value, "%s must be true or false, not %s", e.key, describe(e.value))
	}
	return false
}

func (r *reader) duration(e entry) time.Duration {
	text, ok := r.text(e.value, e.key)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.complain(e.value, "%s must be a time like 90s, 30m or 1h30m, not %s", e.key, describe(e.value))
		return 0
	}
	return d
}

func (r *reader) count(e entry) int {
	text, ok := r.text(e.value, e.key)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		r.complain(e.value, "%s must be a whole number from 1, not %s", e.key, describe(e.value))
		return 0
	}
	return n
}

func (r *reader) memory(e entry) unit.Bytes {
	text, ok := r.text(e.value, e.key)
	if !ok {
		return 0
	}
	b, err := unit.ParseBytes(text)
	if err != nil || b <= 0 {
		r.complain(e.value, "%s must be an amount of memory like 2GiB, not %s", e.key, describe(e.value))
		return 0
	}
	return b
}
