//go:build linux

package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"

	"tunebench/internal/executor/local"
	"tunebench/internal/experiment"
	"tunebench/internal/trainer"
)

// noSuchPID is above all that the kernel gives (2^22).
const noSuchPID = 1 << 30

func TestOnlyFoldersOfKilledMeasurementsAreSweptAway(t *testing.T) {
	t.Parallel()
	gone := holder{PID: noSuchPID, Host: hostname(), Token: "T-nobody-carries-this"}
	like := func(change func(*holder)) *holder {
		h := gone
		change(&h)
		return &h
	}
	for name, tc := range map[string]struct {
		name    string // of the folder; empty: tunebench-measure-1
		trainer string // empty: not described
		holder  *holder
		locked  bool
		swept   bool
	}{
		"its process was killed":               {"", trainer.Any, &gone, false, true},
		"it ended in order but for its folder": {"", trainer.Any, like(func(h *holder) { h.Token = "" }), false, true},
		"its process lives":                    {"", trainer.Any, like(func(h *holder) { h.PID = os.Getppid() }), false, false},
		"its lock is held":                     {"", trainer.Any, &gone, true, false},
		"another host's":                       {"", trainer.Any, like(func(h *holder) { h.Host = "elsewhere" }), false, false},
		"a holder without a number":            {"", trainer.Any, like(func(h *holder) { h.PID = 0 }), false, false},
		"no lock: it may be starting":          {"", trainer.Any, nil, false, false},
		"not described":                        {"", "", &gone, false, false},
		"an experiment of a matrix":            {"", trainer.HF, &gone, false, false},
		"a name that is not ours":              {"tunebench-results", trainer.Any, &gone, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir := filepath.Join(parent, "tunebench-measure-1")
			if tc.name != "" {
				dir = filepath.Join(parent, tc.name)
			}
			abandon(t, dir, tc.trainer, tc.holder)
			if tc.locked {
				lock := flock.New(filepath.Join(dir, claimName))
				if ok, err := lock.TryLock(); !ok || err != nil {
					t.Fatal(ok, err)
				}
				defer func() { _ = lock.Unlock() }()
			}
			sweep(parent)
			if _, err := os.Stat(dir); os.IsNotExist(err) != tc.swept {
				t.Errorf("swept: %v, want %v", os.IsNotExist(err), tc.swept)
			}
		})
	}
}

// abandon makes a folder as a measurement does.
func abandon(t *testing.T, dir, by string, h *holder) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if by != "" {
		e := experiment.Experiment{Version: experiment.Version, ID: "x", Name: "x", Dir: dir, Trainer: by, Argv: []string{"true"}}
		if err := e.Save(); err != nil {
			t.Fatal(err)
		}
	}
	if h == nil {
		return
	}
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, claimName), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestALinkIsNotSweptAway(t *testing.T) {
	t.Parallel()
	parent, real := t.TempDir(), filepath.Join(t.TempDir(), "tunebench-measure-2")
	abandon(t, real, trainer.Any, &holder{PID: noSuchPID, Host: hostname()})
	link := filepath.Join(parent, "tunebench-measure-1")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	for _, path := range []string{real, link} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%v, want it to stay", err)
		}
	}
}

func TestAFolderWhoseFamilyRunsIsNotSweptAway(t *testing.T) {
	t.Parallel()
	parent, token := t.TempDir(), "T-"+t.Name()
	dir := filepath.Join(parent, "tunebench-measure-1")
	abandon(t, dir, trainer.Any, &holder{PID: noSuchPID, Host: hostname(), Token: token})
	process, err := local.Start(local.Command{
		Argv: []string{"/bin/sleep", "300"}, Dir: parent, Token: token,
		Stdout: filepath.Join(parent, "stdout"), Stderr: filepath.Join(parent, "stderr"),
	})
	if err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("%v, want it to stay while its family runs", err)
	}
	if _, gone := local.EndFamily(token, 0); !gone {
		t.Error("the family could not be ended")
	}
	<-process.Exited()
	sweep(parent)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%v, want it gone once its family is", err)
	}
}
