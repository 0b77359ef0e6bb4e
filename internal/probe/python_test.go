package probe_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/metric"
	"tunebench/internal/probe"
)

const pythonVariable = "TUNEBENCH_TEST_PYTHON"

// trial is one run of a Python program with the probe in it.
type trial struct {
	python    string
	site, out string
	extra     []string // variables
	stdout    string
	stderr    string
	code      int
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	python := os.Getenv(pythonVariable)
	if python == "" {
		t.Skip("needs a Python of version 3.8 or later: set " + pythonVariable)
	}
	tr := &trial{python: python, site: t.TempDir(), out: t.TempDir()}
	if err := probe.Install(tr.site); err != nil {
		t.Fatal(err)
	}
	return tr
}

func (tr *trial) needs(t *testing.T, modules ...string) {
	t.Helper()
	for _, m := range modules {
		if err := exec.Command(tr.python, "-c", "import importlib.util as u; assert u.find_spec('"+m+"')").Run(); err != nil {
			t.Skipf("needs %s in the Python of %s", m, pythonVariable)
		}
	}
}

// run starts the command with the probe, and reads what was left.
func (tr *trial) run(t *testing.T, argv ...string) probe.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "OMP_NUM_THREADS=1", "CUDA_VISIBLE_DEVICES=")
	cmd.Env = append(cmd.Env, tr.extra...)
	for key, value := range probe.Env(tr.site, tr.out, cmd.Env) {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	tr.stdout, tr.stderr, tr.code = stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	r, err := probe.Read(os.DirFS(tr.out))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Processes {
		if len(p.Errors) > 0 {
			t.Errorf("the probe failed in %v: %v", p.Argv, p.Errors)
		}
	}
	return r
}

func (tr *trial) stub(t *testing.T) {
	t.Helper()
	tr.extra = append(tr.extra, "PYTHONPATH="+testdata(t, "stub"), "PYTHONDONTWRITEBYTECODE=1")
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func only(t *testing.T, r probe.Report) probe.Process {
	t.Helper()
	if len(r.Processes) != 1 {
		t.Fatalf("%d processes left a record, want 1; notes: %q", len(r.Processes), r.Notes)
	}
	return r.Processes[0]
}

func TestAPlainScriptLeavesWhoItWas(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	p := only(t, tr.run(t, tr.python, "-c", "import sys; print(len([m for m in sys.modules if m in ('json', 're', 'torch')])); sys.exit(7)"))
	if tr.code != 7 || tr.stdout != "0\n" || tr.stderr != "" {
		t.Errorf("code %d, stdout %q, stderr %q; want 7, no module more, and silence", tr.code, tr.stdout, tr.stderr)
	}
	if !p.Complete || p.Exit != "7" || p.HasTorch || p.Role != probe.RoleOther || p.Exception != nil || len(p.Devices) != 0 {
		t.Errorf("record = %+v, want a whole one that exits with 7 and has no torch", p)
	}
}

func TestAnExceptionIsKeptAndPrintedAsWithoutTheProbe(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	script := filepath.Join(t.TempDir(), "fails.py")
	if err := os.WriteFile(script, []byte("import sys\nsys.excepthook = lambda *a: print('own hook')\ndef f():\n    raise ValueError('a\\nb \\u00e9')\nf()\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := only(t, tr.run(t, tr.python, script))
	want := &probe.Exception{Type: "ValueError", Message: "a\nb é", Where: script + ":4"}
	if diff := cmp.Diff(want, p.Exception); diff != "" {
		t.Errorf("exception (-want +got):\n%s", diff)
	}
	if tr.code != 1 || tr.stdout != "own hook\n" {
		t.Errorf("code %d, stdout %q; the program's own hook must run", tr.code, tr.stdout)
	}
}

func TestAKilledProcessLeavesWhatWasKnown(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.extra = []string{"RANK=1", "WORLD_SIZE=2"}
	tr.stub(t)
	r := tr.run(t, tr.python, "-c", "import torch, os, signal; os.kill(os.getpid(), signal.SIGTERM)")
	p := only(t, r)
	if p.Complete || p.Role != probe.RoleRank || p.Place.Rank != 1 || p.Exception != nil {
		t.Errorf("record = %+v, want an incomplete one of rank 1", p)
	}
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "did not reach its exit") || r.Notes[1] != "no record of rank [0]" {
		t.Errorf("notes = %q, want the incomplete rank and the missing one", r.Notes)
	}
}

func TestASitecustomizeThatTheProbeHidesRunsAsWithoutIt(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"print('mine', __name__)", "raise ValueError('mine')", "import no_such_module"} {
		tr := newTrial(t)
		own := t.TempDir()
		if err := os.WriteFile(filepath.Join(own, "sitecustomize.py"), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		program := "import sys; print('sitecustomize' in sys.modules, [p for p in sys.path if 'Sitecustomize' in p] == [" + quoted(own) + "])"
		bare := exec.Command(tr.python, "-c", program)
		bare.Env = append(os.Environ(), "PYTHONPATH="+own)
		var stdout, stderr bytes.Buffer
		bare.Stdout, bare.Stderr = &stdout, &stderr
		_ = bare.Run() // the exit code is compared below
		tr.extra = []string{"PYTHONPATH=" + own}
		tr.run(t, tr.python, "-c", program)
		want := []any{stdout.String(), stderr.String(), bare.ProcessState.ExitCode()}
		if diff := cmp.Diff(want, []any{tr.stdout, tr.stderr, tr.code}); diff != "" {
			t.Errorf("%s: against the run without the probe (-want +got):\n%s", body, diff)
		}
	}
}

func quoted(s string) string { return "'" + s + "'" }

func TestASitecustomizeOfTheEnvironmentRuns(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command(tr.python, "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Skipf("needs the venv module: %v: %s", err, out)
	}
	libs, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
	if err != nil || len(libs) != 1 {
		t.Fatalf("site-packages of the environment: %v, %v", libs, err)
	}
	if err := os.WriteFile(filepath.Join(libs[0], "sitecustomize.py"), []byte("print('of the venv')"), 0o644); err != nil {
		t.Fatal(err)
	}
	only(t, tr.run(t, filepath.Join(venv, "bin", "python"), "-c", "pass"))
	if tr.stdout != "of the venv\n" {
		t.Errorf("stdout = %q, want the environment's sitecustomize to speak", tr.stdout)
	}
}

func TestAnIsolatedInterpreterIsNoticed(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"-I", "-E", "-S"} {
		tr := newTrial(t)
		r := tr.run(t, tr.python, option, "-c", "print(1)")
		if len(r.Processes) != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "no process left a record") {
			t.Errorf("%s: report = %+v, want no process and a note", option, r)
		}
		if probe.Ignored([]string{tr.python, option, "-c", "print(1)"}) == "" {
			t.Errorf("%s: Ignored sees no reason", option)
		}
	}
}

func TestPeaksSurviveResetsByTheProgram(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.stub(t)
	p := only(t, tr.run(t, tr.python, testdata(t, "resets.py")))
	want := []probe.Device{{
		Index: 0, UUID: "GPU-00000000-0000-0000-0000-000000000000", Name: "Stub 80GB", Total: metric.Of(80 << 30),
		Allocated: metric.Of(300), AllocatedPeak: metric.Of(700), Reserved: metric.Of(700), ReservedPeak: metric.Of(700),
		Retries: metric.Of(4), OOMs: metric.Of(0), Resets: 2,
	}}
	if diff := cmp.Diff(want, p.Devices); diff != "" {
		t.Errorf("devices (-want +got):\n%s\n%s", diff, tr.stderr)
	}
}

func TestAnOutOfMemoryErrorLeavesCountersAndItsWholeText(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.stub(t)
	tr.extra = append(tr.extra, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
	p := only(t, tr.run(t, tr.python, testdata(t, "oom.py")))
	want := &probe.Exception{
		Type:    "torch.OutOfMemoryError",
		Message: "CUDA out of memory. Tried to allocate 2.00 GiB.\nGPU 1 has a total capacity of \"80\" GiB é",
		Where:   testdata(t, "oom.py") + ":7",
	}
	if diff := cmp.Diff(want, p.Exception); diff != "" {
		t.Errorf("exception (-want +got):\n%s", diff)
	}
	if len(p.Devices) != 1 || p.Devices[0].Index != 1 || p.Devices[0].AllocatedPeak != metric.Of(1<<30) || p.Devices[0].OOMs != metric.Of(1) {
		t.Errorf("devices = %+v, want device 1 with its peak and one error", p.Devices)
	}
	if diff := cmp.Diff(probe.Allocator{Backend: "native", Settings: "expandable_segments:True"}, p.Allocator); diff != "" {
		t.Errorf("allocator (-want +got):\n%s", diff)
	}
}

func TestCUDAIsNeverStartedByTheProbe(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.stub(t)
	p := only(t, tr.run(t, tr.python, "-c", "import torch, transformers; transformers.Trainer(True, int).train(int); torch.cuda.reset_peak_memory_stats()"))
	if !p.Complete || !p.HasTorch || len(p.Devices) != 0 || p.Trainer == nil || len(p.Trainer.Stages) != 0 {
		t.Errorf("record = %+v, want torch and a Trainer without devices or stages; stderr: %s", p, tr.stderr)
	}
}

func TestAPlainTorchScriptOnTheCPUHasNoDevices(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.needs(t, "torch")
	r := tr.run(t, tr.python, testdata(t, "plain_torch.py"))
	p := only(t, r)
	if p.Role != probe.RoleRank || !p.HasTorch || len(p.Devices) != 0 || len(r.Notes) != 0 {
		t.Errorf("record = %+v, notes %q; want a rank without devices", p, r.Notes)
	}
	if !slices.ContainsFunc(p.Versions, func(v probe.Version) bool { return v.Name == "torch" && v.Version != "" }) {
		t.Errorf("versions = %v, want torch among them", p.Versions)
	}
}
