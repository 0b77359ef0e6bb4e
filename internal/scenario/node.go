package scenario

import (
	"fmt"
	"slices"

	yaml "go.yaml.in/yaml/v4"
)

// entry is one key of a map with its value.
type entry struct {
	key     string
	keyNode *yaml.Node
	value   *yaml.Node
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	n = resolve(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func isMerge(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "<<"
}

// describe names what stands at a node, for complaints.
func describe(n *yaml.Node) string {
	switch n = resolve(n); {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "empty"
	}
	return fmt.Sprintf("the text %q", n.Value)
}

// mapping returns the entries of a map in reading order, merge keys carried out.
// What is not a map is a problem.
func (r *reader) mapping(n *yaml.Node, what string) []entry {
	if resolve(n).Kind != yaml.MappingNode {
		r.complain(n, "%s must be a map, not %s", what, describe(n))
		return nil
	}
	return r.flatten(resolve(n))
}

// flatten remembers each map: one with an anchor is read for every alias, and lists
// of merges could otherwise grow without bound. A map that merges itself meets the
// empty entry that stands here while it is being read.
func (r *reader) flatten(n *yaml.Node) []entry {
	if entries, ok := r.flat[n]; ok {
		return entries
	}
	r.flat[n] = nil
	var own, merged []entry
	var mergeKey *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) && mergeKey == nil {
			mergeKey, merged = key, r.merge(value)
			continue
		}
		own = r.own(own, key, value, mergeKey)
	}
	r.flat[n] = overlay(merged, own)
	return r.flat[n]
}

// own appends an entry unless its key is no text or was there before.
func (r *reader) own(entries []entry, key, value, mergeKey *yaml.Node) []entry {
	k := resolve(key)
	if k.Kind != yaml.ScalarNode || isNull(k) {
		r.complain(key, "a key must be text, not %s", describe(key))
		return entries
	}
	first := mergeKey
	if !isMerge(key) {
		first = nil
		if i := slices.IndexFunc(entries, func(e entry) bool { return e.key == k.Value }); i >= 0 {
			first = entries[i].keyNode
		}
	}
	if first != nil {
		r.complain(key, "%q is set twice, here and in line %d", k.Value, r.at(first).Line)
		return entries
	}
	return append(entries, entry{k.Value, key, value})
}

// merge returns what a merge key brings in: the entries of one map, or of a list of
// maps of which the first wins.
func (r *reader) merge(value *yaml.Node) []entry {
	switch n := resolve(value); n.Kind {
	case yaml.MappingNode:
		return r.flatten(n)
	case yaml.SequenceNode:
		var out []entry
		for _, item := range slices.Backward(n.Content) {
			out = overlay(out, r.mapping(item, "each part of a merge"))
		}
		return out
	}
	r.complain(value, "a merge key (<<) takes a map or a list of maps, not %s", describe(value))
	return nil
}

// overlay sets over on top of under: a key keeps its first place and takes the last value.
func overlay(under, over []entry) []entry {
	if len(under) == 0 {
		return over
	}
	out := slices.Clone(under)
	place := make(map[string]int, len(out)+len(over))
	for i, e := range out {
		place[e.key] = i
	}
	for _, e := range over {
		if i, ok := place[e.key]; ok {
			out[i] = e
			continue
		}
		place[e.key] = len(out)
		out = append(out, e)
	}
	return out
}

// items returns the elements of a list.
func (r *reader) items(n *yaml.Node, what string) []*yaml.Node {
	if resolve(n).Kind != yaml.SequenceNode {
		r.complain(n, "%s must be a list, not %s", what, describe(n))
		return nil
	}
	return resolve(n).Content
}

// text returns a value as the file spells it, whatever type YAML sees in it.
func (r *reader) text(n *yaml.Node, what string) (string, bool) {
	s := resolve(n)
	if s.Kind != yaml.ScalarNode || isNull(s) {
		r.complain(n, "%s must be text or a number, not %s", what, describe(n))
		return "", false
	}
	if s.Style&yaml.TaggedStyle != 0 && !slices.Contains(scalarTags(), s.ShortTag()) {
		r.complain(n, "%s has the unknown tag %s", what, s.ShortTag())
		return "", false
	}
	return s.Value, true
}

func scalarTags() []string {
	return []string{"!", "!!str", "!!int", "!!float", "!!bool", "!!timestamp"}
}
