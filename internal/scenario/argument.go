package scenario

import (
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"
)

// Model is the one argument that unfolds where it is a list; any other list is
// handed on as several values of one flag.
const Model = "model_name_or_path"

// Value is what a setting is set to, spelled as the file spells it.
type Value struct {
	Values []string // one text, or several for one flag
	List   bool     // written as a list
	Null   bool     // written with no value: the setting is removed
}

// Argument is a setting of the trainer.
type Argument struct {
	Name string
	Value
	Position Position // of the name
}

// Axis is a setting that takes each of its values in turn.
type Axis struct {
	Name     string
	Values   []Value
	Position Position
}

// arguments reads a flat map of settings.
func (r *reader) arguments(n *yaml.Node, what string) []Argument {
	var out []Argument
	for _, e := range r.mapping(n, what) {
		if !r.isFlag(e) {
			continue
		}
		if v, ok := r.value(e.value, e.key); ok {
			out = append(out, Argument{Name: e.key, Value: v, Position: r.at(e.keyNode)})
		}
	}
	return out
}

// isFlag refuses names that cannot stand behind two dashes.
func (r *reader) isFlag(e entry) bool {
	if e.key != "" && e.key[0] != '-' && !strings.ContainsAny(e.key, " \t\r\n=") {
		return true
	}
	r.complain(e.keyNode, "%q is no name of a setting: write it without dashes in front, blanks and =", e.key)
	return false
}

// value reads one text, a list of texts, or nothing.
func (r *reader) value(n *yaml.Node, what string) (Value, bool) {
	switch s := resolve(n); {
	case isNull(s):
		return Value{Null: true}, true
	case s.Kind == yaml.SequenceNode:
		return r.list(n, what)
	}
	text, ok := r.text(n, what)
	return Value{Values: []string{text}}, ok
}

func (r *reader) list(n *yaml.Node, what string) (Value, bool) {
	v := Value{List: true}
	items := resolve(n).Content
	if len(items) == 0 {
		r.complain(n, "%s is an empty list: leave the value out to remove a default", what)
		return v, false
	}
	for _, item := range items {
		text, ok := r.text(item, "each value of "+what)
		if !ok {
			return v, false
		}
		v.Values = append(v.Values, text)
	}
	return v, true
}

// axes reads a map of settings to the list of values that each unfolds to.
func (r *reader) axes(n *yaml.Node) []Axis {
	var out []Axis
	for _, e := range r.mapping(n, "matrix") {
		switch {
		case !r.isFlag(e):
		case e.key == Model:
			r.complain(e.keyNode, "%s unfolds by itself: list the models under arguments", Model)
		default:
			out = append(out, r.axis(e))
		}
	}
	return slices.DeleteFunc(out, func(a Axis) bool { return len(a.Values) == 0 })
}

func (r *reader) axis(e entry) Axis {
	axis := Axis{Name: e.key, Position: r.at(e.keyNode)}
	items := r.items(e.value, e.key+" in a matrix")
	if len(items) == 0 && resolve(e.value).Kind == yaml.SequenceNode {
		r.complain(e.value, "%s in a matrix has no values", e.key)
	}
	for _, item := range items {
		if v, ok := r.value(item, "each value of "+e.key); ok {
			axis.Values = append(axis.Values, v)
		}
	}
	return axis
}
