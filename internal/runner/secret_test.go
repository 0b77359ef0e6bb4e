package runner

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"tunebench/internal/experiment"
)

func withheld() experiment.Experiment {
	return experiment.Experiment{Name: "exp_0", Workdir: "/", Env: map[string]string{
		"A": "1", "HF_TOKEN": experiment.NotRecorded, "PROXY": experiment.NotRecorded,
	}}
}

func TestWhatIsNotRecordedComesFromTheCaller(t *testing.T) {
	t.Parallel()
	e := withheld()
	got, notes, err := withSecrets(e, []string{"A=2", "HF_TOKEN=old", "HF_TOKEN=mine", "PROXY=http://me:word@host"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Env["A"] != "1" || got.Env["HF_TOKEN"] != "mine" || got.Env["PROXY"] != "http://me:word@host" {
		t.Errorf("environment %v", got.Env)
	}
	if e.Env["HF_TOKEN"] != experiment.NotRecorded {
		t.Error("the experiment that was handed in was changed")
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "HF_TOKEN") || strings.Contains(strings.Join(notes, ""), "word") {
		t.Errorf("notes %q, want one for each that names it without its value", notes)
	}
}

func TestAnExperimentWithoutItsSecretsIsNotStarted(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{
		"not set":           {"PROXY=x"},
		"set to nothing":    {"PROXY=x", "HF_TOKEN="},
		"of a longer name":  {"PROXY=x", "MY_HF_TOKEN=x"},
		"unset by a second": {"PROXY=x", "HF_TOKEN=x", "HF_TOKEN="},
	} {
		var missing *MissingSecrets
		if err := CheckSecrets(withheld(), environ); !errors.As(err, &missing) || !strings.Contains(err.Error(), "exp_0: HF_TOKEN:") {
			t.Errorf("%s: %v, want an error that names HF_TOKEN alone", name, err)
		}
	}
}

func TestTheScriptHoldsNoSecretAndDemandsIt(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash on PATH")
	}
	for name, env := range map[string]map[string]string{
		"by its name":         {"HF_TOKEN": "word-one"},
		"by its value":        {"HF_TOKEN": "http://me:word-two@host"},
		"of a loaded folder":  {"HF_TOKEN": experiment.NotRecorded},
		"that a token ensues": {"HF_TOKEN": "ghp_word0123456789"},
	} {
		e := experiment.Experiment{Name: "exp_0", Workdir: "/", Env: env}
		text, err := script(e, []string{"bash", "-c", `printf %s "$HF_TOKEN"`})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "word") || !strings.Contains(text, "HF_TOKEN looks like a secret") {
			t.Errorf("%s: the script is\n%s", name, text)
		}
		run := func(environ ...string) (string, error) {
			cmd := exec.Command(bash, "-s")
			cmd.Stdin, cmd.Env = strings.NewReader(text), append(environ, "PATH=/usr/bin:/bin")
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		if out, err := run("HF_TOKEN=mine"); err != nil || out != "mine" {
			t.Errorf("%s: with the variable: %q, %v", name, out, err)
		}
		if out, err := run(); err == nil || !strings.Contains(out, "HF_TOKEN") {
			t.Errorf("%s: without the variable: %q, %v, want a failure that names it", name, out, err)
		}
	}
}
