package probe_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/metric"
	"tunebench/internal/probe"
)

// left is one process's record, with more keys where the test needs them.
func left(pid, ppid int, argv, more string) string {
	list, err := json.Marshal(strings.Fields(argv))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"format": 1, "complete": true, "errors": [], "pid": %d, "ppid": %d, "started_ns": %d, "written_ns": %d, "argv": %s%s}`,
		pid, ppid, 1_000_000*pid, 1_000_000*pid+5_000_000, list, more)
}

func rank(n, world int) string {
	return fmt.Sprintf(`, "place": {"rank": %d, "local_rank": %d, "world_size": %d}`, n, n, world)
}

const torch = `, "torch": {"version": "2.11.0", "cuda": []}`

func read(t *testing.T, records ...string) probe.Report {
	t.Helper()
	dir := fstest.MapFS{"other.json": {Data: []byte("{")}, ".process_1_1.json.draft": {Data: []byte("{")}}
	for i, r := range records {
		dir[fmt.Sprintf("process_%d.json", i)] = &fstest.MapFile{Data: []byte(r)}
	}
	report, err := probe.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func roles(r probe.Report) []string {
	var out []string
	for _, p := range r.Processes {
		out = append(out, fmt.Sprintf("%d %s", p.PID, p.Role))
	}
	return out
}

func TestProcessesAreToldApartByWhatTheyDid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		records []string
		want    []string
	}{
		"a launcher has torch but no rank": {
			[]string{
				left(30, 10, "python train.py", rank(1, 2)+torch), left(20, 10, "python train.py", rank(0, 2)+torch),
				left(10, 1, "python /venv/bin/torchrun train.py", torch)},
			[]string{"20 rank", "30 rank", "10 launcher"}},
		"helpers inherit the rank of the process that started them": {
			[]string{left(20, 10, "python train.py", rank(0, 1)+torch), left(21, 20, "python compile_worker", rank(0, 1)+torch)},
			[]string{"20 rank", "21 worker"}},
		"without ranks the outermost process with torch trains": {
			[]string{
				left(10, 1, "python -m accelerate.commands.launch train.py", torch), left(20, 10, "python train.py", torch),
				left(21, 20, "python -c spawn_main()", torch)},
			[]string{"20 rank", "10 launcher", "21 worker"}},
		"a script that starts ranks itself is their launcher": {
			[]string{left(10, 1, "python spawn.py", torch), left(11, 10, "python -c x", rank(0, 2)+torch), left(12, 10, "python -c x", rank(1, 2)+torch)},
			[]string{"11 rank", "12 rank", "10 launcher"}},
		"an argument named like a launcher makes none": {
			[]string{left(10, 1, "python train.py deepspeed", torch)}, []string{"10 rank"}},
		"a plain script has no part in it": {
			[]string{left(10, 1, "python setup.py", "")}, []string{"10 other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, roles(read(t, c.records...))); diff != "" {
				t.Errorf("roles (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAProcessThatBecameAnotherProgramIsNotARankTwice(t *testing.T) {
	t.Parallel()
	first := strings.Replace(left(20, 10, "python wrapper.py", rank(0, 1)+torch), `"complete": true`, `"complete": false`, 1)
	second := strings.Replace(left(20, 10, "python train.py", rank(0, 1)+torch), `"started_ns": 20000000`, `"started_ns": 21000000`, 1)
	r := read(t, first, second)
	if ranks := r.Ranks(); len(ranks) != 1 || ranks[0].Argv[1] != "train.py" || len(r.Notes) != 0 {
		t.Errorf("ranks = %+v, notes %q; want the program that came last alone", ranks, r.Notes)
	}
}

func TestADamagedFileCostsThatFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut":               left(11, 1, "x", "")[:60],
		"empty":             "",
		"of another format": strings.Replace(left(11, 1, "x", ""), `"format": 1`, `"format": 2`, 1),
		"of no process":     `{"format": 1}`,
		"of another shape":  `[1]`,
		"a huge number":     left(11, 1, "x", `, "host_peak_bytes": 1e999`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := read(t, left(10, 1, "python train.py", torch), text)
			if len(r.Processes) != 1 || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "process_1.json: ") {
				t.Errorf("%d processes, notes %q; want one, and the other file named", len(r.Processes), r.Notes)
			}
		})
	}
}

func TestAFolderWithoutRecordsSaysSo(t *testing.T) {
	t.Parallel()
	r := read(t)
	if len(r.Processes) != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "no process left a record") {
		t.Errorf("report = %+v, want a note", r)
	}
}

func TestRanksThatLeftNothingAreCounted(t *testing.T) {
	t.Parallel()
	r := read(t, left(20, 10, "x", rank(2, 4)+torch), left(10, 1, "x", rank(0, 4)+torch))
	if diff := cmp.Diff([]string{"no record of rank [1 3]"}, r.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestTheTrainersFiguresKeepTheirOrderAndTheirGaps(t *testing.T) {
	t.Parallel()
	r := read(t, left(10, 1, "x", torch+`, "trainer": {"trainers": 1, "source": "probe",
		"stages": {"before_init_mem_gpu": 14537991168, "init_mem_gpu_peaked_delta": {"gap": "the counter stood higher"}},
		"final": {"train_runtime": 6.6971, "train_loss": "nan"},
		"log_history": [{"loss": 11.203125, "step": 1, "note": "warm", "x": null}]}`))
	want := &probe.Trainer{
		Count: 1, Source: "probe",
		Stages: metric.Set{
			{Name: "before_init_mem_gpu", Value: metric.Of(14537991168)},
			{Name: "init_mem_gpu_peaked_delta", Value: metric.Missing("the counter stood higher")},
		},
		Final: metric.Set{
			{Name: "train_runtime", Value: metric.Of(6.6971)},
			{Name: "train_loss", Value: metric.Value{Gap: "not finite: nan", Text: "nan"}},
		},
		Log: []metric.Set{{
			{Name: "loss", Value: metric.Of(11.203125)}, {Name: "step", Value: metric.Of(1)},
			{Name: "note", Value: metric.Value{Gap: "not a number", Text: "warm"}}, {Name: "x", Value: metric.Missing("")},
		}},
	}
	if diff := cmp.Diff(want, r.Trainer()); diff != "" {
		t.Errorf("trainer (-want +got):\n%s", diff)
	}
}

func onDevice(uuid, peak string) string {
	return fmt.Sprintf(`, "torch": {"cuda": [{"index": 0, "uuid": %q, "name": "H200", "allocated_peak": %s, "reserved_peak": %s}]}`, uuid, peak, peak)
}

func TestWhatTorchDidNotSayIsAGap(t *testing.T) {
	t.Parallel()
	d := read(t, left(20, 10, "x", rank(0, 1)+onDevice("GPU-a", "100"))).Processes[0].Devices[0]
	if d.AllocatedPeak != metric.Of(100) {
		t.Errorf("allocated peak = %v, want 100", d.AllocatedPeak)
	}
	for name, v := range map[string]metric.Value{"allocated": d.Allocated, "retries": d.Retries, "total": d.Total} {
		if v.Known() || v.Gap == "" {
			t.Errorf("%s = %+v, want a gap: the record has none", name, v)
		}
	}
}

func TestRanksOfWhichNotAllIsKnownAreNamed(t *testing.T) {
	t.Parallel()
	killed := func(record string) string {
		return strings.Replace(record, `"complete": true`, `"complete": false`, 1)
	}
	zero, one := left(20, 10, "x", rank(0, 2)+onDevice("GPU-a", "100")), left(21, 10, "x", rank(1, 2)+onDevice("GPU-a", "300"))
	for name, tc := range map[string]struct {
		records, want []string
	}{
		"both are whole":             {[]string{zero, one}, nil},
		"one was killed":             {[]string{killed(zero), one}, []string{"rank 0 (pid 20) did not reach its exit"}},
		"one left nothing":           {[]string{one}, []string{"no record of rank [0]"}},
		"one was killed early":       {[]string{zero, killed(left(21, 10, "x", rank(1, 2)+torch))}, []string{"rank 1 (pid 21) did not reach its exit"}},
		"torch did not say":          {[]string{zero, left(21, 10, "x", rank(1, 2)+onDevice("GPU-a", "{\"gap\": \"no\"}"))}, []string{"rank 1 (pid 21): no"}},
		"a helper that was killed":   {[]string{zero, one, killed(left(22, 20, "x", rank(0, 2)+torch))}, nil},
		"a program that was not one": {[]string{zero, one, killed(left(9, 1, "sh", ""))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, read(t, tc.records...).Unsure()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTimesOfTrainingAreZeroWhereTheyAreNotKnown(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 5).UTC()
	for name, tc := range map[string]struct {
		keys       string
		begin, end time.Time
	}{
		"both":             {`"train_begin_ns": 1700000000000000005, "train_end_ns": 1700000000000000005`, at, at},
		"one that runs on": {`"train_begin_ns": 1700000000000000005`, at, time.Time{}},
		"an older record":  {`"trainers": 1`, time.Time{}, time.Time{}},
		"none is 0":        {`"train_begin_ns": 0, "train_end_ns": -1`, time.Time{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := read(t, left(10, 1, "x", torch+`, "trainer": {`+tc.keys+`}`)).Processes[0].Trainer
			if !p.TrainBegin.Equal(tc.begin) || !p.TrainEnd.Equal(tc.end) {
				t.Errorf("from %v to %v, want %v and %v", p.TrainBegin, p.TrainEnd, tc.begin, tc.end)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(left(10, 1, "python train.py", rank(0, 2)+onDevice("GPU-a", "100")))
	f.Add(left(10, 10, "torchrun", torch+`, "trainer": {"stages": {"a": 1e308, "a": "inf"}, "log_history": [{}, {"b": [1]}]}`))
	f.Add(left(10, 1, "x", `, "exit": "text", "exception": {"type": "E", "message": "m", "where": "f:1"}, "place": {"rank": -1, "world_size": 99999999}`))
	f.Add(`{"format": 1, "pid": 1, "started_ns": 1, "torch": {"cuda": [{"total": null}]}}`)
	f.Add("{")
	f.Fuzz(func(t *testing.T, text string) {
		r := read(t, text, left(99, 1, "python", ""))
		if len(r.Processes) == 1 && len(r.Notes) == 0 {
			t.Error("a file was dropped without a note")
		}
		for _, p := range r.Processes {
			if p.PID <= 0 || p.Role == "" || p.File == "" {
				t.Errorf("accepted %+v without a process, a role or a file", p)
			}
			for _, v := range values(p) {
				if v.Known() && (math.IsNaN(v.Number) || math.IsInf(v.Number, 0)) {
					t.Errorf("figure %+v is not finite", v)
				}
			}
		}
		if ranks := r.Ranks(); len(ranks) == 1 && !ranks[0].Complete && len(r.Unsure()) == 0 {
			t.Errorf("nothing is unsure of %+v", ranks[0])
		}
	})
}

func values(p probe.Process) []metric.Value {
	out := []metric.Value{p.HostPeak}
	for _, d := range p.Devices {
		out = append(out, d.Total, d.Allocated, d.AllocatedPeak, d.Reserved, d.ReservedPeak, d.Retries, d.OOMs)
	}
	if p.Trainer == nil {
		return out
	}
	for _, set := range append(p.Trainer.Log, p.Trainer.Stages, p.Trainer.Final) {
		for _, m := range set {
			out = append(out, m.Value)
		}
	}
	return out
}
