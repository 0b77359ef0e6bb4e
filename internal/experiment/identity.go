package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Version is the version of experiment.json. It is no part of the identity.
const Version = 1

// identityVersion is raised when the same content is to get another identity.
const identityVersion = "tunebench experiment 1"

// content is what shapes a result. Its fields are written in this order, and maps
// with sorted keys, so equal contents have equal bytes.
type content struct {
	Version    string            `json:"version"`
	Scenario   string            `json:"scenario"`
	Trainer    string            `json:"trainer"`
	Launcher   string            `json:"launcher"`
	Settings   []Setting         `json:"settings"`
	Framework  string            `json:"framework_sha256"`
	Accelerate string            `json:"accelerate_sha256"`
	Data       string            `json:"data_sha256"`
	Env        map[string]string `json:"env"`
	NumGPUs    int               `json:"num_gpus"`
	Batch      int               `json:"effective_batch_size"`
	Trial      int               `json:"trial"`
}

// Identity returns 16 hexadecimal digits made of what shapes the result of an
// experiment, and of nothing that only places it: which devices, port, folders,
// interpreter, limits and sampling do not enter, nor does the order of the settings.
// A file whose content is known enters by content, not by path; a variable that looks
// like a secret enters by name.
func Identity(e Experiment) string {
	c := content{
		Version: identityVersion, Scenario: e.Scenario, Trainer: e.Trainer, Launcher: e.Launcher,
		Settings: canonical(e), Framework: sum(e.Framework), Data: sum(e.Data),
		Env: recorded(e.OwnEnv), NumGPUs: e.NumGPUs, Batch: e.EffectiveBatch, Trial: e.Trial,
	}
	if c.Env == nil {
		c.Env = map[string]string{}
	}
	if e.Launcher == "accelerate" {
		c.Accelerate = sum(e.Accelerate)
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("texts and numbers could not be written as JSON: %v", err)) // Not possible.
	}
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:8])
}

func sum(c *Content) string {
	if c == nil {
		return ""
	}
	return c.SHA256
}

// canonical sorts the settings by name and puts the content of the data in place of
// its path.
func canonical(e Experiment) []Setting {
	out := make([]Setting, 0, len(e.Settings))
	for _, s := range e.Settings {
		if len(s.Values) == 1 && namesData(e, s.Values[0]) {
			s.Values = []string{"the content of the data"}
		}
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// namesData reports whether a value is the path of the data, which may be written
// relative to the folder in which the trainer is started.
func namesData(e Experiment, value string) bool {
	if e.Data == nil || e.Data.SHA256 == "" || value == "" {
		return false
	}
	return value == e.Data.Path || filepath.Join(e.Workdir, value) == e.Data.Path
}
