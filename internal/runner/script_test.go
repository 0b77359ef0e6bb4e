package runner

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/experiment"
)

// TestTheScriptGivesTheSameArgumentsByteForByte runs the script in a real bash with a
// program that prints what it was given.
func TestTheScriptGivesTheSameArgumentsByteForByte(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash on PATH")
	}
	for name, args := range map[string][]string{
		"every kind of quote, blank and sign": {
			"--response_template", "\n### Response:", "it's mine", "$HOME", "a;b", "", "*", `a"b`, "back`id`", "-n", "日本",
		},
		"what looks like shell syntax":   {"$(id)", "${x:-y}", "a && b", "|", ">out", "#x", "~", "!!", "{a,b}", "\\"},
		"control signs and broken UTF-8": {"tab\tand\rreturn", "\x01\x7f", "caf\xe9", "\xff\xfe", "a\n\nb\n"},
		"flags that look like its own":   {"--", "-e", "--help", "%s", "%%", "--name=value with blanks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value := "(scratch) cfg.yaml 'x' \"y\" $z\nnext"
			e := experiment.Experiment{
				Name: "exp_0", Workdir: t.TempDir(), Env: map[string]string{"CONFIG_FILE": value}, Unset: []string{"GONE"},
			}
			argv := append([]string{"printf", `%s\0`}, args...)
			text, err := script(e, argv)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(bash, "-s")
			cmd.Stdin = strings.NewReader(text)
			cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("bash: %v\n%s", err, text)
			}
			want := strings.Join(args, "\x00") + "\x00"
			if diff := cmp.Diff(want, string(out)); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			checkEnvironment(t, bash, e, value)
		})
	}
}

// checkEnvironment has the script print one variable and whether another is unset.
func checkEnvironment(t *testing.T, bash string, e experiment.Experiment, want string) {
	t.Helper()
	text, err := script(e, []string{"bash", "-c", `printf '%s\0%s' "$CONFIG_FILE" "${GONE-unset}"`})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "-s")
	cmd.Stdin = strings.NewReader(text)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "GONE=here"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bash: %v\n%s", err, text)
	}
	if diff := cmp.Diff(want+"\x00unset", string(out)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestAnArgumentThatNoShellCanCarryIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := script(experiment.Experiment{Workdir: "/"}, []string{"true", "a\x00b"}); err == nil {
		t.Error("a NUL byte was quoted")
	}
}
