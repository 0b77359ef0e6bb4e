//go:build linux

package cli_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tunebench/internal/outcome"
	"tunebench/internal/record"
)

// crashTrainer has a worker in a session of its own, writes down each start and each
// end, and takes about a third of a second.
const crashTrainer = `name=$(echo "$*" | sed -E 's/.*--who ([a-z]).*/\1/')
echo "start $name" >> "$CRASH_LOG"
setsid sleep 300 &
for i in 1 2 3; do sleep 0.1; echo "{'loss': 1.5, 'epoch': 0.$i}"; done
echo "end $name" >> "$CRASH_LOG"
echo "{'train_runtime': 0.3, 'train_loss': 1.5, 'epoch': 1.0}"
`

const crashScenarios = `scenarios:
  - {name: a, arguments: {who: a}}
  - {name: b, arguments: {who: b}}
  - {name: c, arguments: {who: c}}
`

// TestCrashLosesNothing kills tunebench with SIGKILL at random moments of a small matrix
// and goes on with --resume: no finished record is lost or run twice, no file is left
// half-written, no process is left. TUNEBENCH_CRASH_KILLS sets the number of kills.
func TestCrashLosesNothing(t *testing.T) {
	t.Parallel()
	kills := 20
	if text := os.Getenv("TUNEBENCH_CRASH_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("TUNEBENCH_CRASH_KILLS: %v", err)
		}
		kills = n
	}
	random := rand.New(rand.NewPCG(1, uint64(kills)))
	for done := 0; done < kills; {
		done += crashOneMatrix(t, random, kills-done)
	}
}

// crashOneMatrix runs one matrix to its end with at most that many kills on the way.
func crashOneMatrix(t *testing.T, random *rand.Rand, most int) (kills int) {
	t.Helper()
	c := newCrash(t)
	for kills < most {
		before, starts := c.finished(), c.starts()
		killed := c.runAndKill(time.Duration(random.IntN(1100)) * time.Millisecond)
		c.nothingIsLeft()
		for _, name := range before {
			if !slices.Contains(c.finished(), name) {
				t.Fatalf("the record of %s was lost by a kill", name)
			}
			if was, is := starts[name], c.starts()[name]; was != is {
				t.Fatalf("%s has a record and was started again", name)
			}
		}
		if !killed {
			break
		}
		kills++
	}
	c.runToTheEnd()
	c.checkRows()
	return kills
}

type crash struct {
	t                *testing.T
	dir, out, marker string
}

func newCrash(t *testing.T) *crash {
	t.Helper()
	dir := t.TempDir()
	c := &crash{t: t, dir: dir, out: filepath.Join(dir, "out"), marker: "CRASH_LOG=" + filepath.Join(dir, "crash.log")}
	for name, text := range map[string]string{"trainer.sh": crashTrainer, "scenarios.yaml": crashScenarios} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// command is a tunebench of its own: the test binary under that name.
func (c *crash) command() *exec.Cmd {
	c.t.Helper()
	bin := filepath.Join(c.dir, "tunebench")
	if _, err := os.Lstat(bin); err != nil {
		self, err := os.Executable()
		if err != nil {
			c.t.Fatal(err)
		}
		if err := os.Link(self, bin); err != nil {
			data, err := os.ReadFile(self)
			if err != nil {
				c.t.Fatal(err)
			}
			if err := os.WriteFile(bin, data, 0o700); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(bin, "run", "scenarios.yaml", "--trainer", "bash trainer.sh", "--memory", "none",
		"--min-free", "0", "--num-gpus", "0", "-o", "out", "--resume")
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.marker)
	return cmd
}

// runAndKill reports whether the run was killed before it ended.
func (c *crash) runAndKill(after time.Duration) bool {
	c.t.Helper()
	cmd := c.command()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		c.t.Fatalf("run: %v\n%s", err, stderr.String())
	}
	return err != nil
}

// nothingIsLeft waits until no process of this matrix lives: the guard ends them.
func (c *crash) nothingIsLeft() {
	c.t.Helper()
	var left []int
	for range 300 {
		var err error
		if left, err = marked(c.marker); err != nil {
			c.t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("processes %v are left after a kill", left)
}

// finished returns the folders that hold a whole record; a record that cannot be read
// fails the test, since records are replaced and never half-written.
func (c *crash) finished() []string {
	c.t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.out, "exp_*", record.FileName))
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		rec, err := record.Read(filepath.Dir(path))
		if err != nil {
			c.t.Fatalf("a record is not whole: %v", err)
		}
		if rec.Outcome.Status == outcome.OK {
			names = append(names, rec.Experiment.Scenario)
		}
	}
	return names
}

func (c *crash) runToTheEnd() {
	c.t.Helper()
	out, err := c.command().CombinedOutput()
	if err != nil {
		c.t.Fatalf("the last run: %v\n%s", err, out)
	}
}

// starts counts how often each scenario was started, by the trainers' own log.
func (c *crash) starts() map[string]int {
	c.t.Helper()
	counts := map[string]int{}
	data, err := os.ReadFile(filepath.Join(c.dir, "crash.log"))
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "start "); ok {
			counts[name]++
		}
	}
	return counts
}

// checkRows looks for each scenario once in the summary, and ok.
func (c *crash) checkRows() {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.out, "raw_summary.csv"))
	if err != nil {
		c.t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		c.t.Fatal(err)
	}
	seen := map[string]int{}
	for _, row := range rows[1:] {
		seen[fmt.Sprintf("%s %s", row[1], row[2])]++
	}
	for _, want := range []string{"a ok", "b ok", "c ok"} {
		if seen[want] != 1 || len(seen) != 3 {
			c.t.Fatalf("rows = %v, want each of a, b, c once and ok", seen)
		}
	}
}

// marked returns the living processes whose environment holds the entry.
func marked(entry string) ([]int, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(data), "\x00"), entry) {
			continue // it has ended, or is another's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
