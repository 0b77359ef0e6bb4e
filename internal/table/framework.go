package table

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"tunebench/internal/experiment"
)

// scriptFile is the first harness's note of how it was called.
const scriptFile = "script.json"

// none is the word for an experiment without a framework configuration.
const none = "none"

// frameworks maps configuration files to short names, as script.json lists them.
type frameworks struct {
	source string // the text that it was read from
	names  map[string]string
	reason string // why it holds no names
}

// readFrameworks reads the names of a results folder. A folder without script.json,
// or with one that cannot be read, has none: our own records name theirs themselves.
func readFrameworks(root *os.Root) frameworks {
	data, err := root.ReadFile(scriptFile)
	if err != nil {
		return frameworks{reason: "there is no readable " + scriptFile}
	}
	var script struct {
		Pairs []string `json:"acceleration_framework_config_keypairs"`
	}
	if err := json.Unmarshal(data, &script); err != nil {
		return frameworks{source: string(data), reason: scriptFile + " cannot be read: " + err.Error()}
	}
	f := frameworks{source: string(data), names: make(map[string]string), reason: scriptFile + " does not list it"}
	for i := 0; i+1 < len(script.Pairs); i += 2 {
		f.names[filepath.Clean(script.Pairs[i+1])] = script.Pairs[i]
	}
	return f
}

// name returns the short name of the configuration, and a note where it had to fall
// back on the name of the file.
func (f frameworks) name(c *experiment.Content) (name, note string) {
	switch {
	case c == nil || c.Name == "" && c.Path == "":
		return none, ""
	case c.Name != "":
		return c.Name, ""
	}
	if name, ok := f.names[filepath.Clean(c.Path)]; ok {
		return name, ""
	}
	base := filepath.Base(c.Path)
	return strings.TrimSuffix(base, filepath.Ext(base)), "the short name of " + c.Path + " is not known: " + f.reason
}
