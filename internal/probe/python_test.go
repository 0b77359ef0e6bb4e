package probe_test

import (
	"bytes"
	"context"
	"encoding/json"
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

func TestTheTrainersStagesAreReadWithoutItsTracker(t *testing.T) {
	t.Parallel()
	hidden := func(low, high string) metric.Value {
		return metric.Missing("torch's peak counter stood higher before this stage: the stage's peak is between " + low + " and " + high + " bytes")
	}
	for name, c := range map[string]struct {
		args []string
		want map[string]metric.Value
		from string
	}{
		"a stage that rose above all before it is exact": {
			[]string{"skip", "none"},
			map[string]metric.Value{
				"before_init_mem_gpu": metric.Of(500), "init_mem_gpu_alloc_delta": metric.Of(50),
				"init_mem_gpu_peaked_delta": hidden("550", "600"),
				"train_mem_gpu_alloc_delta": metric.Of(50), "train_mem_gpu_peaked_delta": metric.Of(650),
			}, "probe"},
		"a reset within the stage loses nothing": {
			[]string{"skip", "reset"},
			map[string]metric.Value{
				"before_init_mem_gpu": metric.Of(500), "init_mem_gpu_alloc_delta": metric.Of(50),
				"init_mem_gpu_peaked_delta": hidden("550", "600"),
				"train_mem_gpu_alloc_delta": metric.Of(50), "train_mem_gpu_peaked_delta": metric.Of(650),
			}, "probe"},
		"where the tracker ran its own figures are taken": {
			[]string{"track", "none"},
			map[string]metric.Value{
				"before_init_mem_gpu": metric.Of(500), "init_mem_gpu_alloc_delta": metric.Of(50),
				"init_mem_gpu_peaked_delta": metric.Of(50),
				"train_mem_gpu_alloc_delta": metric.Of(50), "train_mem_gpu_peaked_delta": metric.Of(650),
			}, "tracker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			tr.stub(t)
			p := only(t, tr.run(t, append([]string{tr.python, testdata(t, "stages.py")}, c.args...)...))
			if tr.code != 0 || p.Trainer == nil {
				t.Fatalf("code %d, record %+v, stderr %s", tr.code, p, tr.stderr)
			}
			got := map[string]metric.Value{}
			for _, m := range p.Trainer.Stages {
				got[m.Name] = m.Value
			}
			if diff := cmp.Diff(c.want, got); diff != "" || p.Trainer.Source != c.from {
				t.Errorf("stages of %s, want of %s (-want +got):\n%s", p.Trainer.Source, c.from, diff)
			}
			if len(p.Devices) != 1 || p.Devices[0].AllocatedPeak != metric.Of(1250) {
				t.Errorf("devices = %+v, want the peak of the whole run", p.Devices)
			}
		})
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

// TestEachRankOfATrainerLeavesItsRecord runs one script alone and under both launchers.
func TestEachRankOfATrainerLeavesItsRecord(t *testing.T) {
	t.Parallel()
	for _, launcher := range [][]string{
		{},
		{"-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"},
		{"-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"},
	} {
		tr := newTrial(t)
		tr.needs(t, "torch", "transformers", "accelerate")
		dir := t.TempDir()
		argv := append(append([]string{tr.python}, launcher...), testdata(t, "hugging_face.py"), dir)
		r := tr.run(t, argv...)
		if tr.code != 0 {
			t.Fatalf("%v: code %d: %s", launcher, tr.code, tr.stderr)
		}
		ranks := r.Ranks()
		if want := 1 + min(len(launcher), 1); len(ranks) != want || len(r.Notes) != 0 {
			t.Fatalf("%v: %d ranks, want %d; notes %q; %+v", launcher, len(ranks), want, r.Notes, r.Processes)
		}
		checkTrainer(t, ranks, dir)
		for i, p := range ranks {
			if tr := p.Trainer; tr == nil || tr.TrainBegin.Before(p.Started) || !tr.TrainEnd.After(tr.TrainBegin) || tr.TrainEnd.After(p.Written) {
				t.Errorf("%v: rank %d ran from %v to %v, and its training %+v", launcher, i, p.Started, p.Written, tr)
			}
			if len(launcher) > 0 && (p.Place == nil || p.Place.Rank != i || p.Place.WorldSize != 2) {
				t.Errorf("%v: rank %d has place %+v", launcher, i, p.Place)
			}
		}
		last := r.Processes[len(r.Processes)-1]
		if len(launcher) > 0 && last.Role != probe.RoleLauncher {
			t.Errorf("%v: the last process is %s, want the launcher: %v", launcher, last.Role, last.Argv)
		}
	}
}

// checkTrainer holds the records against the files that the Trainer itself wrote.
func checkTrainer(t *testing.T, ranks []probe.Process, dir string) {
	t.Helper()
	var state struct {
		Log []map[string]float64 `json:"log_history"`
	}
	readJSON(t, filepath.Join(dir, "trainer_state.json"), &state)
	var final map[string]float64
	readJSON(t, filepath.Join(dir, "train_results.json"), &final)
	if ranks[0].Trainer == nil {
		t.Fatalf("rank 0 has no Trainer: %+v", ranks[0])
	}
	var log []map[string]float64
	for _, entry := range ranks[0].Trainer.Log {
		log = append(log, numbers(entry))
	}
	if diff := cmp.Diff(state.Log, log); diff != "" {
		t.Errorf("log history (-the Trainer's +the probe's):\n%s", diff)
	}
	got := numbers(ranks[0].Trainer.Final)
	delete(got, "total_flos") // the Trainer's own printer takes it out of what is saved
	if diff := cmp.Diff(final, got); diff != "" {
		t.Errorf("final metrics (-the Trainer's +the probe's):\n%s", diff)
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func numbers(set metric.Set) map[string]float64 {
	out := map[string]float64{}
	for _, m := range set {
		if m.Value.Known() {
			out[m.Name] = m.Value.Number
		}
	}
	return out
}
