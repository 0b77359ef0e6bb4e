package table

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
)

// rankRecord is what the probe of one rank leaves; more are further keys.
func rankRecord(rank, pid int, reserved int64, more string) string {
	return fmt.Sprintf(`{"format": 1, "complete": true, "pid": %d, "ppid": 1, "namespace_pids": [%[1]d], "started_ns": %d, "written_ns": 2000000000,
		"place": {"rank": %d, "local_rank": %[3]d, "world_size": 2}, "versions": {"transformers": "5.1"},
		"torch": {"version": "9.9", "cuda_version": "99.0", "driver": "999.1", "allocator": {"backend": "native", "settings": ""},
		"cuda": [{"index": 0, "uuid": "GPU-a", "name": "X", "allocated_peak": %[4]d, "reserved_peak": %[4]d}]}%[5]s}`,
		pid, 1000000000+rank, rank, reserved, more)
}

const trainerKeys = `, "trainer": {"trainers": 1, "source": "probe",
	"stages": {"before_init_mem_gpu": 500, "init_mem_gpu_alloc_delta": 0, "init_mem_gpu_peaked_delta": 0, "train_mem_gpu_alloc_delta": 100, "train_mem_gpu_peaked_delta": 50},
	"final": {"train_loss": 1.2345678, "train_runtime": 60.123}, "log_history": []}`

// watchedRecord is an experiment that NVML's sampler watched.
func watchedRecord(from string) record.Record {
	r := ended()
	mib := func(n float64) metric.Value { return metric.Of(n * (1 << 20)) }
	r.Metrics, r.MetricsFrom = metric.Set{{Name: "train_loss", Value: metric.Of(1.235)}}, from
	r.FamilyPIDs, r.Probe, r.Started = []int{7, 8}, &record.Probe{}, time.Unix(1, 0)
	r.Watch = &record.Watch{Source: "nvml", Devices: []device.Device{{Index: 0, UUID: "GPU-a"}}, Summary: &device.Summary{
		Driver: "999.2", Samples: 100, Interval: time.Second, Devices: []device.Watched{{
			Device: device.Device{Index: 0, UUID: "GPU-a", Name: "X"}, Source: device.FromNVMLv2, Samples: 100, Mean: mib(50),
			Baseline:    device.Moment{Used: mib(4)},
			Peak:        device.Moment{Used: mib(104), Processes: []device.ProcessUse{{PID: 7, Used: mib(99)}}},
			EnergyStart: metric.Of(1000), EnergyEnd: metric.Of(3000),
		}},
	}}
	return r
}

func probedRow(t *testing.T, r record.Record, files map[string]string) Row {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "exp_0"), r)
	for name, content := range files {
		put(t, dir, "exp_0", name, content)
	}
	return gather(t, dir).Rows[0]
}

func TestCellsOfTheProbe(t *testing.T) {
	t.Parallel()
	two := map[string]string{
		"probe/process_1.json": rankRecord(0, 7, 60<<20, trainerKeys), "probe/process_2.json": rankRecord(1, 8, 70<<20, ""),
	}
	tracked := watchedRecord("hf/all_results.json")
	for i, name := range []string{"before_init_mem_gpu", "init_mem_gpu_alloc_delta", "init_mem_gpu_peaked_delta", "train_mem_gpu_alloc_delta", "train_mem_gpu_peaked_delta"} {
		tracked.Metrics = tracked.Metrics.With(name, metric.Of(float64(i)))
	}
	died := watchedRecord("stdout")
	died.Outcome.Status, died.Metrics, died.MetricsFrom = outcome.OOM, nil, ""
	oom := map[string]string{"probe/process_1.json": rankRecord(0, 7, 60<<20, `, "exception": {"type": "OutOfMemoryError", "message": "no\nmore"}`)}
	for name, tc := range map[string]struct {
		r     record.Record
		files map[string]string
		want  map[string]string
	}{
		"exact values win over a printed line": {watchedRecord("stdout"), two, map[string]string{"train_loss": "1.2345678", "train_runtime": "60.123"}},
		"a file's values stay":                 {watchedRecord("hf/all_results.json"), two, map[string]string{"train_loss": "1.235", "train_runtime": "60.123"}},
		"stages without a tracker": {watchedRecord("stdout"), two, map[string]string{
			memory.TorchAllocated: "600", memory.TorchPeak: "650", memory.TorchSource: "probe"}},
		"the tracker's own stages": {tracked, two, map[string]string{memory.TorchAllocated: "4", memory.TorchPeak: "8", memory.TorchSource: "tracker"}},
		"the worst rank":           {watchedRecord("stdout"), two, map[string]string{memory.TorchReserved: "73400320", memory.TorchWorstRank: "1"}},
		"versions":                 {watchedRecord("stdout"), two, map[string]string{"version_torch": "9.9", "version_cuda": "99.0", "version_driver": "999.1", "version_transformers": "5.1"}},
		"an out-of-memory run":     {died, oom, map[string]string{memory.TorchReserved: "62914560", memory.TorchPeak: "", memory.NvidiaReserved: "100"}},
		"the devices": {watchedRecord("stdout"), nil, map[string]string{
			memory.NvidiaReserved: "100", memory.NvidiaMax: "104857600", memory.NvidiaMaxOn: "0", memory.NvidiaMean: "48234496",
			memory.NvidiaSource: "nvml-v2", memory.Energy: "2", memory.TorchReserved: "", memory.TorchWorstRank: "", "version_driver": "999.2"}},
		"a damaged record": {watchedRecord("stdout"), map[string]string{"probe/process_1.json": "{"}, map[string]string{"train_loss": "1.235", memory.TorchReserved: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := probedRow(t, tc.r, tc.files)
			for cell, want := range tc.want {
				if got := row.Text(cell); got != want {
					t.Errorf("%s is %q (%s), want %q", cell, got, row.Number(cell).Gap, want)
				}
				if _, ok := row.Cell(cell); !ok {
					t.Errorf("there is no %s", cell)
				}
			}
		})
	}
}

func TestTheWorstRankIsOfThoseKnown(t *testing.T) {
	t.Parallel()
	zero, one := rankRecord(0, 7, 60<<20, ""), rankRecord(1, 8, 70<<20, "")
	killed := func(s string) string { return strings.Replace(s, `"complete": true`, `"complete": false`, 1) }
	for name, tc := range map[string]struct {
		records []string
		note    string // empty: none
	}{
		"all are known":          {[]string{zero, one}, ""},
		"the other was killed":   {[]string{killed(zero), one}, "rank 1 is the worst of those known: rank 0 (pid 7) did not reach its exit"},
		"the worst was killed":   {[]string{zero, killed(one)}, "rank 1 is the worst of those known: rank 1 (pid 8) did not reach its exit"},
		"the other left nothing": {[]string{one}, "rank 1 is the worst of those known: no record of rank [0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for i, text := range tc.records {
				files[fmt.Sprintf("probe/process_%d.json", i)] = text
			}
			row := probedRow(t, watchedRecord("stdout"), files)
			if got := row.Text(memory.TorchWorstRank); got != "1" || row.Text(memory.TorchReserved) != "73400320" {
				t.Errorf("rank %q with %q", got, row.Text(memory.TorchReserved))
			}
			if notes := row.Text("notes"); !strings.Contains(notes, tc.note) || (tc.note == "") == strings.Contains(notes, "those known") {
				t.Errorf("notes %q, want %q", notes, tc.note)
			}
			if (row.TorchMark == memory.Doubtful) != (tc.note != "") {
				t.Errorf("mark %d", row.TorchMark)
			}
		})
	}
}

func TestTheLedgerOfARow(t *testing.T) {
	t.Parallel()
	row := probedRow(t, watchedRecord("stdout"), map[string]string{"probe/process_1.json": rankRecord(0, 7, 60<<20, "")})
	if len(row.Ledger) != 1 {
		t.Fatalf("%d ledgers, want 1", len(row.Ledger))
	}
	l := row.Ledger[0]
	for what, v := range map[string][2]float64{"context": {l.Context.Number, 39}, "unexplained": {l.Unexplained.Number, 1}, "allocated": {l.Allocated.Number, 60}} {
		if v[0] != v[1]*(1<<20) {
			t.Errorf("%s is %v bytes, want %v MiB", what, v[0], v[1])
		}
	}
}

func TestForeignProcessesOfTheLogMarkTheRow(t *testing.T) {
	t.Parallel()
	log := "timestamp,index,uuid,pid,used_bytes,gap\na,0,GPU-a,,,\nb,0,GPU-a,7,100,\nb,0,GPU-a,99,2202009600,\n"
	row := probedRow(t, watchedRecord("stdout"), map[string]string{processLog: log})
	if row.Memory.Mark != memory.Contaminated || !strings.Contains(row.Text("notes"), "process 99 is not the experiment's and held up to 2100 MiB") {
		t.Errorf("mark %d, notes %q", row.Memory.Mark, row.Text("notes"))
	}
}

func TestASamplerThatDiedLeavesItsLog(t *testing.T) {
	t.Parallel()
	r := watchedRecord("stdout")
	r.Watch.Summary.Exit = "no answer for 10 s"
	log := header + "2025/03/04 10:00:01.101, X, 0, 4 MiB\n2025/03/04 10:00:02.101, X, 0, 84 MiB\n"
	row := probedRow(t, r, map[string]string{deviceLog: log})
	if got := row.Text(memory.NvidiaReserved); got != "80" || row.Memory.Mark != memory.Doubtful {
		t.Errorf("reserved %q with mark %d, want 80 of the log, doubtful", got, row.Memory.Mark)
	}
	if notes := row.Text("notes"); !strings.Contains(notes, "no answer for 10 s") || strings.Contains(notes, "count differently") {
		t.Errorf("notes %q", notes)
	}
}

func TestALinkInPlaceOfTheProbesFolderIsNotFollowed(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	put(t, outside, "process_1.json", rankRecord(0, 7, 60<<20, ""))
	inside := filepath.Join(dir, "exp_0", "other")
	put(t, inside, "process_1.json", rankRecord(0, 7, 60<<20, ""))
	for _, target := range []string{outside, "other"} {
		write(t, filepath.Join(dir, "exp_0"), watchedRecord("stdout"))
		link := filepath.Join(dir, "exp_0", record.ProbeDir)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		row := gather(t, dir).Rows[0]
		if v := row.Number(memory.TorchReserved); v.Known() || !strings.Contains(v.Gap, "not a folder") {
			t.Errorf("%s: %v (%s), want a gap", target, v, v.Gap)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALaunchersExceptionStandsWhereNoChildSaysWhy(t *testing.T) {
	t.Parallel()
	raised := func(kind, message string) string {
		return fmt.Sprintf(`, "exception": {"type": %q, "message": %q, "where": "x.py:1"}`, kind, message)
	}
	const rule = "\n====\nrank.py FAILED\n----"
	launcher := func(more string) string {
		return fmt.Sprintf(`{"format": 1, "complete": true, "pid": 5, "ppid": 1, "started_ns": 1, "written_ns": 2%s}`, more)
	}
	child := raised("torch.distributed.elastic.multiprocessing.errors.ChildFailedError", rule)
	memoryError := raised("torch.OutOfMemoryError", "CUDA out of memory.\nmore")
	for name, tc := range map[string]struct {
		files []string
		want  string
	}{
		"a rank says why":           {[]string{launcher(child), rankRecord(1, 8, 1, memoryError)}, "rank 1 (pid 8): torch.OutOfMemoryError: CUDA out of memory."},
		"nobody else says anything": {[]string{launcher(child), rankRecord(0, 7, 1, "")}, "process 5: torch.distributed.elastic.multiprocessing.errors.ChildFailedError: rank.py FAILED"},
		"accelerate's":              {[]string{launcher(raised("subprocess.CalledProcessError", "Command 'x' returned 1")), rankRecord(1, 8, 1, memoryError)}, "rank 1 (pid 8): torch.OutOfMemoryError: CUDA out of memory."},
		"a message of rules alone":  {[]string{launcher(raised("RuntimeError", "====\n----"))}, "process 5: RuntimeError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for i, text := range tc.files {
				files[fmt.Sprintf("probe/process_%d.json", i)] = text
			}
			if got := strings.Join(probedRow(t, watchedRecord("stdout"), files).Exceptions, "|"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAPeakBelowTorchsOwnIsMarkedInFoldersOfTheFirstHarnessToo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		last int // MiB of the log's last reading
		want memory.Mark
	}{
		"it grew by less than torch held": {84, memory.Doubtful},
		"it never grew":                   {4, memory.Doubtful},
		"it grew by more":                 {404, memory.Sure},
	} {
		dir := t.TempDir()
		put(t, dir, "exp_0", record.FileName, `{"num_gpus": 1, "train_runtime": 1, "before_init_mem_gpu": 0, "init_mem_gpu_alloc_delta": 0, "init_mem_gpu_peaked_delta": 0,
			"train_mem_gpu_alloc_delta": 104857600, "train_mem_gpu_peaked_delta": 104857600}`)
		put(t, dir, "exp_0", deviceLog, header+"2025/03/04 10:00:01.101, X, 0, 4 MiB\n"+fmt.Sprintf("2025/03/04 10:00:02.101, X, 0, %d MiB\n", tc.last))
		if got := gather(t, dir).Rows[0].Memory.Mark; got != tc.want {
			t.Errorf("%s: mark %q, want %q", name, got, tc.want)
		}
	}
}

func TestTheFirstHarnessHasNoneOfOurColumns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "exp_0", record.FileName, `{"num_gpus": 1, "train_runtime": 1}`)
	put(t, dir, "exp_0", deviceLog, header+"2025/03/04 10:00:01.101, X, 0, 4 MiB\n2025/03/04 10:00:02.101, X, 0, 84 MiB\n")
	row := gather(t, dir).Rows[0]
	for _, name := range []string{memory.NvidiaMax, memory.NvidiaMean, memory.NvidiaSource, memory.TorchSource, memory.TorchReserved, memory.Energy} {
		if _, ok := row.Cell(name); ok {
			t.Errorf("there is a cell %s", name)
		}
	}
}

func TestWhatIsKnownBesideALogReachesItsFigures(t *testing.T) {
	t.Parallel()
	two := header + "2025/03/04 10:00:01.101, X, 0, 4 MiB\n2025/03/04 10:00:02.101, X, 0, 84 MiB\n"
	smi := func(run time.Duration) record.Record {
		r := watchedRecord("stdout")
		r.Watch = &record.Watch{Source: memory.LogSource, Interval: time.Second}
		r.Duration = run
		return r
	}
	dead := watchedRecord("stdout")
	dead.Watch.Summary.Exit = "no answer for 10 s"
	for name, tc := range map[string]struct {
		r    record.Record
		log  string
		want string
		note string
	}{
		"a log that ends early":              {smi(time.Minute), two, "80", "has no row for 59s of the run"},
		"a log that spans its run":           {smi(time.Second), two, "80", ""},
		"the samples of a sampler that died": {dead, header + "2025/03/04 10:00:01.101, X, 0, 4 MiB\n", "0", "no answer for 10 s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := probedRow(t, tc.r, map[string]string{deviceLog: tc.log})
			if got := row.Text(memory.NvidiaReserved); got != tc.want || !strings.Contains(row.Text("notes"), tc.note) {
				t.Errorf("reserved %q (%s) with notes %q, want %q with %q", got, row.Number(memory.NvidiaReserved).Gap, row.Text("notes"), tc.want, tc.note)
			}
			if doubtful := row.Memory.Mark == memory.Doubtful; doubtful != (tc.note != "") {
				t.Errorf("mark %d with %q", row.Memory.Mark, row.Text("notes"))
			}
		})
	}
}
