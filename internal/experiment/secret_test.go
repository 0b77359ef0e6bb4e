package experiment

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestASecretIsKnownByItsNameOrItsValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		want        bool
	}{
		{"HF_TOKEN", "x1", true},
		{"hf_token", "x1", true},
		{"WANDB_API_KEY", "0123abcd", true},
		{"WANDB_APIKEY", "0123abcd", true},
		{"apiKey", "0123abcd", true},
		{"AWS_SECRET_ACCESS_KEY", "a/b+c", true},
		{"DB_PASSWORD", "12345678", true},
		{"DBPASSWORD", "hunter2", true},
		{"GOOGLE_APPLICATION_CREDENTIALS", "/home/me/gcp.json", true},
		{"PROXY_AUTH", "me", true},
		{"GITHUB_PAT", "abc", true},
		{"MYSQL_PWD", "abc", true},
		{"MINE", "hf_AbCdEfGhIjKlMnOp", true},
		{"MINE", "sk-proj-abcdef123456", true},
		{"MINE", "ghp_0123456789abcdef", true},
		{"MINE", "AKIAIOSFODNN7EXAMPLE", true},
		{"EXTRA", "--hub hf_AbCdEfGhIjKlMnOp --fast", true},
		{"HTTPS_PROXY", "http://me:word@proxy:3128", true},
		{"REDIS", "redis://:word@host/0", true},
		{"URL", "https://host/x?access_token=abc", true},
		{"HEADER", "Authorization: Bearer abcdefgh12", true},
		{"MINE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x", true},
		{"PEM", "-----BEGIN RSA PRIVATE KEY-----", true},

		{"TOKENIZERS_PARALLELISM", "false", false},
		{"USE_AUTH_TOKEN", "true", false},
		{"MAX_TOKENS", "512", false},
		{"HF_TOKEN", "", false},
		{"MONKEY", "banana", false},
		{"PWD", "/home/me", false},
		{"KEYBOARD", "de", false},
		{"HF_HOME", "/cache/hf_transformers", false},
		{"NAME", "task-learning-rate", false},
		{"HTTP_PROXY", "http://proxy:3128/a@b", false},
		{"MASTER", "tcp://10.0.0.1:29500", false},
		{"CUDA_VISIBLE_DEVICES", "GPU-0123abcd,GPU-4567", false},
	} {
		if got := Secret(tt.name, tt.value); got != tt.want {
			t.Errorf("Secret(%q, %q) = %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}

func secretive() Experiment {
	e := example()
	e.OwnEnv = map[string]string{"A": "1", "HF_TOKEN": "word-one"}
	e.Env = map[string]string{"A": "1", "HF_TOKEN": "word-one", "PROXY": "http://me:word-two@host"}
	return e
}

func TestNoFileHoldsASecretOfTheEnvironment(t *testing.T) {
	t.Parallel()
	e := secretive()
	e.Dir, e.ID = t.TempDir(), Identity(e)
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(e.Dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); strings.Contains(text, "word-") || strings.Count(text, NotRecorded) != 3 {
		t.Errorf("the file holds a secret, or does not say where one was:\n%s", text)
	}
	if e.Env["HF_TOKEN"] != "word-one" || e.OwnEnv["HF_TOKEN"] != "word-one" {
		t.Error("the experiment itself lost its secret, so its trainer would not get it")
	}
	got, err := Load(e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"HF_TOKEN", "PROXY"}, got.Withheld()); diff != "" {
		t.Errorf("withheld (-want +got)\n%s", diff)
	}
	if Identity(got) != e.ID {
		t.Error("the identity did not survive the file")
	}
}

func TestASecretThatAnOlderVersionRecordedIsNotTakenOver(t *testing.T) {
	t.Parallel()
	var e Experiment
	if err := json.Unmarshal([]byte(`{"env": {"HF_TOKEN": "word"}, "scenario_env": {"HF_TOKEN": "word", "A": "1"}}`), &e); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"HF_TOKEN": NotRecorded, "A": "1"}
	if diff := cmp.Diff(want, e.OwnEnv); diff != "" || e.Env["HF_TOKEN"] != NotRecorded {
		t.Errorf("scenario_env (-want +got)\n%s env %v", diff, e.Env)
	}
}

func TestTheIdentityTellsNothingOfASecret(t *testing.T) {
	t.Parallel()
	a, b, c := secretive(), secretive(), secretive()
	b.OwnEnv["HF_TOKEN"] = "word-three"
	delete(c.OwnEnv, "HF_TOKEN")
	if Identity(a) != Identity(b) {
		t.Error("another value of a secret gave another identity")
	}
	if Identity(a) == Identity(c) {
		t.Error("a secret more gave the same identity")
	}
}

// FuzzParse holds that what is read can be written and read again to the same, and that
// no secret is in what is written.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"version": 1, "id": "x", "env": {"HF_TOKEN": "word"}, "settings": [{"name": "r", "values": ["1"]}]}`,
		`{"version": 1, "id": "x", "scenario_env": {"A": "<not recorded>"}, "limits": {"timeout_ns": 5}, "argv": ["a", "\u2028<>&"]}`,
		`{"version": 1, "id": "x", "env": null, "framework_config": {"path": "/x"}}`, `{`, `null`, `[]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for name, value := range e.Env {
			if value != NotRecorded && Secret(name, value) {
				t.Fatalf("%s=%s was read", name, value)
			}
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(strings.NewReader(string(data)))
		if err != nil {
			t.Fatalf("%v of what was written: %s", err, data)
		}
		second, err := json.Marshal(again)
		if err != nil || string(second) != string(data) {
			t.Fatalf("%v; (-first +second)\n%s", err, cmp.Diff(string(data), string(second)))
		}
	})
}
