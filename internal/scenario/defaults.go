package scenario

import "os"

// Defaults are the arguments that every scenario gets unless it says otherwise.
type Defaults struct {
	Name      string
	Arguments []Argument
}

// ReadDefaults opens a file of defaults and reads it.
func ReadDefaults(path string) (Defaults, []Problem) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Defaults{Name: path}, []Problem{unopened(err)}
	}
	return ParseDefaults(data, path)
}

// ParseDefaults reads a flat map of arguments. An empty file has none.
func ParseDefaults(data []byte, name string) (Defaults, []Problem) {
	r, d := newReader(data, name), Defaults{Name: name}
	if top := r.document(data); top != nil {
		d.Arguments = r.arguments(top, "a file of defaults")
	}
	return d, inReadingOrder(r.problems)
}
