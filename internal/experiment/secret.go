package experiment

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// NotRecorded stands in files for the value of a variable that looks like a secret. Who
// runs such an experiment again gives the value through their own environment.
const NotRecorded = "<not recorded>"

// Names of variables that hold secrets, word by word: HF_TOKEN, wandb-api-key. Some words
// count where they run together with another, too: DBPASSWORD.
var (
	secretWord = regexp.MustCompile(`^(?:AUTH|AUTHORIZATION|BEARER|COOKIE|CREDS|KEYS?|PASS|PAT|PASSWORDS|SECRETS|TOKENS)$` +
		`|(?:TOKEN|(?:API|ACCESS|PRIVATE|SECRET)KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|OAUTH)$`)
	harmless = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|none|auto|[0-9])?$`)
	number   = regexp.MustCompile(`^[0-9]{1,9}$`)
)

// Values that are secrets whatever the name of their variable.
var (
	issued = regexp.MustCompile(`\b(?:hf_|sk-|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|pypi-|AIza|AKIA|ASIA)([A-Za-z0-9_-]{8,})`)
	passed = regexp.MustCompile(`://[^/\s:@]*:[^/\s]+@` + // a URL with a password
		`|(?i:[?&](?:[a-z_]*token|api_?key|secret|password|sig|signature)=[^&\s])` +
		`|(?i:\b(?:bearer|basic)\s+[a-z0-9+/=._-]{8,})` +
		`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+` + // a signed token
		`|-----BEGIN [A-Z ]*PRIVATE KEY`)
)

// Secret reports whether a variable of the environment looks like a secret, by its name or
// by its value. In doubt it is one: what was recorded cannot be taken back.
func Secret(name, value string) bool {
	return value == NotRecorded || secretName(name, value) || secretValue(value)
}

func secretName(name, value string) bool {
	if harmless.MatchString(value) {
		return false // use_auth_token: true
	}
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, word := range words {
		switch {
		case word == "TOKENS" && number.MatchString(value):
			continue // MAX_TOKENS: 512
		case secretWord.MatchString(word), word == "PWD" && len(words) > 1:
			return true
		}
	}
	return false
}

func secretValue(value string) bool {
	if passed.MatchString(value) {
		return true
	}
	for _, found := range issued.FindAllStringSubmatch(value, -1) {
		// Chance has digits or capitals in it; hf_transformers has none.
		if strings.ContainsAny(found[1], "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return true
		}
	}
	return false
}

// recorded returns the variables as they may stand in a file.
func recorded(env map[string]string) map[string]string {
	copied := false
	for name, value := range env {
		if value == NotRecorded || !Secret(name, value) {
			continue
		}
		if !copied {
			env, copied = maps.Clone(env), true
		}
		env[name] = NotRecorded
	}
	return env
}

// Withheld returns the names of the variables whose values are not known, since they were
// not recorded.
func (e Experiment) Withheld() []string {
	var names []string
	for name, value := range e.Env {
		if value == NotRecorded {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// MarshalJSON writes no secret of the environment, wherever the experiment is written.
func (e Experiment) MarshalJSON() ([]byte, error) {
	type plain Experiment
	e.Env, e.OwnEnv = recorded(e.Env), recorded(e.OwnEnv)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(plain(e))
	return out.Bytes(), err
}

// UnmarshalJSON reads an experiment. A secret that an older version recorded is not taken
// over, or it would be shown after all.
func (e *Experiment) UnmarshalJSON(data []byte) error {
	type plain Experiment
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	e.Env, e.OwnEnv = recorded(e.Env), recorded(e.OwnEnv)
	return nil
}
