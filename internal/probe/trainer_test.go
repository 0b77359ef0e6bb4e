package probe_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/metric"
	"tunebench/internal/probe"
)

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
