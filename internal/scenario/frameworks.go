package scenario

import (
	"os"
	"path/filepath"

	yaml "go.yaml.in/yaml/v4"
)

// Framework is a framework configuration under its short name.
type Framework struct {
	ShortName string
	Plugins   []string
	Path      string // of its file, joined to the folder of the contents file
	Position  Position
}

// Frameworks is a contents file.
type Frameworks struct {
	Name    string
	Configs []Framework
}

// Lookup returns the configuration of that short name.
func (f Frameworks) Lookup(short string) (Framework, bool) {
	for _, c := range f.Configs {
		if c.ShortName == short {
			return c, true
		}
	}
	return Framework{}, false
}

// ShortNames returns all short names in file order.
func (f Frameworks) ShortNames() []string {
	var out []string
	for _, c := range f.Configs {
		out = append(out, c.ShortName)
	}
	return out
}

// ReadFrameworks opens a contents file and reads it.
func ReadFrameworks(path string) (Frameworks, []Problem) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Frameworks{Name: path}, []Problem{unopened(err)}
	}
	return ParseFrameworks(data, path)
}

// ParseFrameworks reads the content of a contents file. File names in it are
// relative to its own folder.
func ParseFrameworks(data []byte, name string) (Frameworks, []Problem) {
	r, f := newReader(data, name), Frameworks{Name: name}
	top := r.document(data)
	if top == nil {
		return f, r.problems
	}
	for _, e := range r.mapping(top, "a contents file") {
		if e.key == "framework_configs" {
			f.Configs = r.frameworks(e.value)
		} else if e.value.Anchor == "" {
			r.complain(e.keyNode, "unknown setting %q%s", e.key, Suggest(e.key, []string{"framework_configs"}))
		}
	}
	return f, inReadingOrder(r.problems)
}

func (r *reader) frameworks(n *yaml.Node) []Framework {
	if isNull(n) {
		return nil
	}
	var out []Framework
	first := map[string]int{}
	for _, item := range r.items(n, "framework_configs") {
		f, ok := r.framework(item)
		if !ok {
			continue
		}
		if line, doubled := first[f.ShortName]; doubled {
			r.complain(item, "two framework configurations have the short name %q, here and in line %d", f.ShortName, line)
			continue
		}
		first[f.ShortName] = f.Position.Line
		out = append(out, f)
	}
	return out
}

func (r *reader) framework(n *yaml.Node) (Framework, bool) {
	f := Framework{Position: r.at(n)}
	for _, e := range r.mapping(n, "a framework configuration") {
		switch e.key {
		case "shortname":
			f.ShortName = r.word(e)
		case "filename":
			f.Path = r.word(e)
		case "plugins":
			f.Plugins = r.plugins(e.value)
		default:
			r.complain(e.keyNode, "unknown setting %q%s", e.key, Suggest(e.key, []string{"shortname", "plugins", "filename"}))
		}
	}
	if resolve(n).Kind == yaml.MappingNode && (f.ShortName == "" || f.Path == "") {
		r.complain(n, "a framework configuration needs a shortname and a filename")
	}
	if !filepath.IsAbs(f.Path) {
		f.Path = filepath.Join(filepath.Dir(r.file), f.Path)
	}
	return f, f.ShortName != ""
}

func (r *reader) plugins(n *yaml.Node) []string {
	if isNull(n) {
		return nil
	}
	var out []string
	for _, item := range r.items(n, "plugins") {
		if text, ok := r.text(item, "a plugin"); ok {
			out = append(out, text)
		}
	}
	return out
}
