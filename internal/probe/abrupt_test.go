package probe_test

import (
	"strings"
	"testing"

	"tunebench/internal/metric"
	"tunebench/internal/probe"
)

func TestAProcessThatEndsWithoutPythonsLeaveLeavesItsCounters(t *testing.T) {
	t.Parallel()
	for how, complete := range map[string]bool{"_exit": true, "SIGTERM": false, "SIGKILL": false, "SIGABRT": false} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			tr.stub(t)
			r := tr.run(t, tr.python, testdata(t, "abrupt.py"), how)
			p := only(t, r)
			if p.Complete != complete || len(p.Devices) != 1 || p.Devices[0].AllocatedPeak != metric.Of(700) {
				t.Errorf("record = %+v, want complete %v and the peak of 700; stderr %s", p, complete, tr.stderr)
			}
			if complete && (tr.code != 3 || p.Exit != "3") {
				t.Errorf("code %d, and %q in the record, want 3", tr.code, p.Exit)
			}
			if noted := strings.Contains(strings.Join(r.Notes, "\n"), "did not reach its exit"); noted == complete {
				t.Errorf("notes %q of a record that is complete: %v", r.Notes, complete)
			}
		})
	}
}

func TestARealTorchThatEndsWithoutPythonsLeaveLeavesARecord(t *testing.T) {
	t.Parallel()
	for how, program := range map[string]string{
		"_exit":   "os._exit(3)",
		"SIGTERM": "time.sleep(1); os.kill(os.getpid(), signal.SIGTERM)",
		"SIGKILL": "time.sleep(3); os.kill(os.getpid(), signal.SIGKILL)",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			tr.needs(t, "torch")
			p := only(t, tr.run(t, tr.python, "-c", "import os, signal, time, torch; torch.ones(2).sum(); "+program))
			if !p.HasTorch || p.Role != probe.RoleRank || p.Complete != (how == "_exit") {
				t.Errorf("record = %+v, want one with torch, whole only after os._exit", p)
			}
		})
	}
}

func TestOnlyAForkThatStartsCUDALeavesARecord(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	tr.stub(t)
	r := tr.run(t, tr.python, testdata(t, "forks.py"))
	if len(r.Processes) != 2 {
		t.Fatalf("%d records, want the parent's and the rank's; stderr %s", len(r.Processes), tr.stderr)
	}
	for _, p := range r.Processes {
		if !p.Complete || p.Forked != (len(p.Devices) == 1) {
			t.Errorf("record = %+v, want a complete one, with a device in the fork alone", p)
		}
	}
}

func TestTheRefreshedRecordNeedsNoModuleAndNoThreadBeforeCUDA(t *testing.T) {
	t.Parallel()
	const threads = "len(os.listdir('/proc/self/task'))"
	for name, c := range map[string]struct{ program, want string }{
		"no module more": {"print([m for m in ('threading', 'functools', 'json', 'signal') if m in sys.modules])", "[]\n"},
		"no thread before CUDA is started": {
			"print(" + threads + "); torch.cuda.start(); print(" + threads + "); torch.cuda.start(); print(" + threads + ")", "1\n2\n2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			tr.stub(t)
			only(t, tr.run(t, tr.python, "-c", "import os, sys, torch; "+c.program))
			if tr.stdout != c.want {
				t.Errorf("stdout %q, want %q; stderr %s", tr.stdout, c.want, tr.stderr)
			}
		})
	}
}

func TestTheTimesOfTrainingAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		program     string
		begun, done bool
	}{
		"a training":                  {"transformers.Trainer(True, int).train(int)", true, true},
		"a training that was ended":   {"transformers.Trainer(True, int).train(lambda: os._exit(1))", true, false},
		"a training that was killed":  {"transformers.Trainer(True, int).train(lambda: os.kill(os.getpid(), 9))", true, false},
		"a Trainer that never trains": {"transformers.Trainer(True, int)", false, false},
		"the last of two trainings":   {"transformers.Trainer(True, int).train(int); transformers.Trainer(True, int).train(lambda: os._exit(1))", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			tr.stub(t)
			p := only(t, tr.run(t, tr.python, "-c", "import os, transformers; "+c.program))
			if p.Trainer == nil {
				t.Fatalf("no Trainer in %+v; stderr %s", p, tr.stderr)
			}
			begin, end := p.Trainer.TrainBegin, p.Trainer.TrainEnd
			if begin.IsZero() == c.begun || end.IsZero() == c.done {
				t.Errorf("training from %v to %v, want begun %v and ended %v", begin, end, c.begun, c.done)
			}
			if c.begun && begin.Before(p.Started) || c.done && (end.Before(begin) || end.After(p.Written)) {
				t.Errorf("training from %v to %v in a process of %v to %v", begin, end, p.Started, p.Written)
			}
		})
	}
}
