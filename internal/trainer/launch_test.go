package trainer_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tunebench/internal/experiment"
	"tunebench/internal/trainer"
)

// TestLaunchersHandOnTheTrainersArguments starts a script that prints its arguments with the real
// launchers. The names are the beginnings of options that the launchers have themselves.
func TestLaunchersHandOnTheTrainersArguments(t *testing.T) {
	t.Parallel()
	interpreter := python(t)
	const source = "import sys\nprint('given', *sys.argv[1:])\n"
	var settings []experiment.Setting
	var want []string
	for _, name := range []string{"r", "max", "nod", "num_processes", "module"} {
		settings = append(settings, experiment.Setting{Name: name, Values: []string{"8"}})
		want = append(want, "--"+name, "8")
	}
	for _, launcher := range []string{trainer.Accelerate, trainer.Torchrun} {
		for _, form := range []string{"printer.py", "-m printer"} {
			t.Run(launcher+" "+form, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				script := filepath.Join(dir, "printer.py")
				if err := os.WriteFile(script, []byte(source), 0o600); err != nil {
					t.Fatal(err)
				}
				port, err := strconv.Atoi(freePort(t))
				if err != nil {
					t.Fatal(err)
				}
				argv, _, err := trainer.Command(trainer.Start{Trainer: interpreter + " " + strings.Replace(form, "printer.py", script, 1),
					Launcher: launcher, NumGPUs: 1, Port: port, Args: settings})
				if err != nil {
					t.Fatal(err)
				}
				var e ended
				e.run(t, []string{"PYTHONPATH=" + dir}, argv)
				if e.code != 0 || !strings.Contains(e.stdout, "given "+strings.Join(want, " ")+"\n") {
					t.Errorf("exit status %d, stdout %q, want 0 and %q\n%s", e.code, e.stdout, want, e.stderr)
				}
			})
		}
	}
}
