package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tunebench/internal/device/host"
	"tunebench/internal/record"
)

func TestInterpretersThatIgnoreTheProbeAreNoticedAsTheyRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		seen []string // the command of one process, sample by sample
		want string   // in the only note; empty: none
	}{
		"at its first sight":             {[]string{"/venv/bin/python -E train.py"}, "/venv/bin/python is started with -E"},
		"a process that becomes one":     {[]string{"sh run.sh", "python3 -I train.py"}, "python3 is started with -I"},
		"a process that becomes it late": {[]string{"sh x", "sh x", "sh x", "sh x", "sh x", "python -S y", "python -S y", "python -S y"}, "with -S"},
		"once, however often":            {[]string{"python -E x", "python -E x"}, "-E"},
		"a shell":                        {[]string{"sh -c python"}, ""},
		"one with the probe":             {[]string{"python train.py -E"}, ""},
		"one that has ended":             {[]string{""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := 0
			p := newPythons(func(int) []string { return strings.Fields(tc.seen[at]) })
			for at = range tc.seen {
				p.look([]int{7})
			}
			if got := strings.Join(p.notes, "\n"); !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") || len(p.notes) > 1 {
				t.Errorf("notes %q, want one with %q", p.notes, tc.want)
			}
		})
	}
}

// TestAShellIsNotTakenForThePythonThatItStarts runs a shell that starts another one, which
// bears Python's name and waits for its input.
func TestAShellIsNotTakenForThePythonThatItStarts(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux's /proc")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs sh")
	}
	python := filepath.Join(t.TempDir(), "python")
	if err := os.Symlink(sh, python); err != nil {
		t.Fatal(err)
	}
	shell := exec.Command(sh, "-c", python+" -E -c 'read line'; exit 0")
	input, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = input.Close() // which ends both
		_ = shell.Wait()
	}()
	all, alone := newPythons(host.Argv), newPythons(host.Argv)
	for deadline := time.Now().Add(20 * time.Second); len(all.notes) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		tree, err := host.Tree(shell.Process.Pid, host.TreeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all.look(host.Sum(tree).PIDs)
		alone.look([]int{shell.Process.Pid})
	}
	if len(all.notes) != 1 || !strings.HasPrefix(all.notes[0], python+" is started with -E") {
		t.Errorf("notes %q, want one of the interpreter", all.notes)
	}
	if len(alone.notes) != 0 {
		t.Errorf("notes %q of the shell alone, want none", alone.notes)
	}
}

func TestWhatTheProbeMissedIsKeptOnceAndOnlyWhereItWasOn(t *testing.T) {
	t.Parallel()
	p := &record.Probe{Notes: []string{"python is started with -E"}}
	noteIgnored(p, []string{"python is started with -E", "python is started with -I"})
	noteIgnored(p, nil)
	if want := []string{"python is started with -E", "python is started with -I"}; !slices.Equal(p.Notes, want) {
		t.Errorf("notes %q, want %q", p.Notes, want)
	}
	noteIgnored(nil, []string{"python is started with -E"}) // the probe was off: nothing to keep it in
}
