package table

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/experiment"
	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
)

const header = "timestamp, name, index, memory.used [MiB]\n"

func put(t *testing.T, parts ...string) {
	t.Helper()
	path := filepath.Join(parts[:len(parts)-1]...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(parts[len(parts)-1]), 0o600); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir string, r record.Record) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := record.Write(dir, r); err != nil {
		t.Fatal(err)
	}
}

func ended() record.Record {
	zero := 0
	return record.Record{
		Tunebench: "0.1",
		Experiment: experiment.Experiment{ID: "x", Name: "exp_0", Scenario: "lora", Trial: 2, Trainer: "fms", NumGPUs: 1,
			Settings:  []experiment.Setting{{Name: "target_modules", Values: []string{"q", "v"}, List: true}, {Name: "status", Values: []string{"mine"}}},
			Framework: &experiment.Content{Name: "fast", Path: "/cfg/f.yaml"}},
		Outcome:  outcome.Outcome{Status: outcome.OK, Reason: "left over", Ending: outcome.Ending{ExitCode: &zero}, Notes: []string{"a doubt"}},
		Metrics:  metric.Set{{Name: "train_loss", Value: metric.Of(1.5)}, {Name: "scheduler", Value: metric.Value{Gap: "not a number", Text: "cosine"}}},
		Duration: 90 * time.Second,
	}
}

func gather(t *testing.T, dirs ...string) Table {
	t.Helper()
	got, err := Gather(dirs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestARowHoldsAllThatIsKnownOfAnExperiment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exp := filepath.Join(dir, "exp_0")
	write(t, exp, ended())
	put(t, exp, deviceLog, header+"2025/03/04 10:00:01.101, NVIDIA L4, 0, 3 MiB\n2025/03/04 10:00:02.101, NVIDIA L4, 0, 1003 MiB\n")
	put(t, exp, hostLog, "timestamp,rss_bytes,pss_bytes\n1,200,100\n2,400,300\n")
	row := gather(t, dir).Rows[0]
	want := map[string]string{
		"experiment": "exp_0", "scenario": "lora", "status": "ok", "exit_code": "0", "signal": "", "duration_seconds": "90",
		"error_messages": "", "framework_config": "fast", "num_gpus": "1", "trial": "2", "trainer": "fms", "launcher": "",
		"mem_nvidia_mem_reserved": "1000", "gpu_device_name": "NVIDIA L4",
		"mem_torch_mem_alloc_in_bytes": "", "mem_peak_torch_mem_alloc_in_bytes": "",
		"mem_host_peak_pss_in_bytes": "300", "mem_host_peak_rss_in_bytes": "400",
		"train_loss": "1.5", "scheduler": "cosine", "train_tokens_per_second": "", "target_modules": "q v",
	}
	got := make(map[string]string)
	for _, c := range row.Cells {
		if c.Name != "notes" {
			got[c.Name] = c.String()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if row.Reason != "" || row.Status != outcome.OK {
		t.Errorf("status %q because of %q, want ok because of nothing", row.Status, row.Reason)
	}
	for _, part := range []string{"a doubt", "train_tokens_per_second", "train_mem_gpu_alloc_delta"} {
		if !strings.Contains(row.Text("notes"), part) {
			t.Errorf("the notes %q do not tell of %s", row.Text("notes"), part)
		}
	}
}

func TestRowsAreInTheOrderOfFoldersAndNumbers(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), filepath.Join(t.TempDir(), "my results")
	for _, name := range []string{"exp_10", "exp_9", "exp_0", "exp_x", "other"} {
		write(t, filepath.Join(a, name), ended())
	}
	write(t, filepath.Join(b, "exp_2"), ended())
	put(t, a, "exp_3", "a file that is no folder")
	var got []string
	for _, r := range gather(t, b, filepath.Join(a, "exp_9"), a).Rows {
		got = append(got, r.Dir)
	}
	want := []string{filepath.Join(b, "exp_2"), filepath.Join(a, "exp_9"), filepath.Join(a, "exp_0"), filepath.Join(a, "exp_10")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// B34: what is damaged is listed as incomplete and costs no other row.
func TestADamagedFolderCostsItsOwnRowOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, content string
		status        outcome.Status
		reason        string
	}{
		"an empty record":               {record.FileName, ``, outcome.Incomplete, "empty"},
		"a cut record":                  {record.FileName, `{"num_gpus": 1, "train_lo`, outcome.Incomplete, "cut off"},
		"a list":                        {record.FileName, `[]`, outcome.Incomplete, "not a JSON object"},
		"an empty object":               {record.FileName, `{}`, outcome.Incomplete, "not finished"},
		"no metrics":                    {record.FileName, `{"num_gpus": 1}`, outcome.Incomplete, "not finished"},
		"a description without record":  {experiment.FileName, `{"num_gpus": 1}`, outcome.Running, "no results.json yet"},
		"a cut description":             {experiment.FileName, `{"num_gp`, outcome.Incomplete, "experiment.json cannot be read"},
		"neither of them":               {"stdout", `hello`, outcome.Incomplete, "neither"},
		"an error of the first harness": {record.FileName, `{"error_messages": "CUDA out of memory"}`, outcome.OOM, "CUDA out of memory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "exp_0", tt.file, tt.content)
			write(t, filepath.Join(dir, "exp_1"), ended())
			rows := gather(t, dir).Rows
			if len(rows) != 2 || rows[1].Status != outcome.OK {
				t.Fatalf("rows %+v, want two with the second ok", rows)
			}
			if rows[0].Status != tt.status || !strings.Contains(rows[0].Reason, tt.reason) {
				t.Errorf("%s: %s, want %s with %q", rows[0].Status, rows[0].Reason, tt.status, tt.reason)
			}
			if rows[0].Text("status") != string(tt.status) || rows[0].Text("experiment") != "exp_0" {
				t.Errorf("the cells say %s of %s", rows[0].Text("status"), rows[0].Text("experiment"))
			}
		})
	}
}

func TestADamagedRecordStillHasTheSettingsOfItsDescription(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "exp_0", record.FileName, `{"cut`)
	put(t, dir, "exp_0", experiment.FileName, `{"settings": [{"name": "r", "values": ["16"]}], "scenario": "lora"}`)
	row := gather(t, dir).Rows[0]
	if row.Text("r") != "16" || row.Text("scenario") != "lora" || row.Status != outcome.Incomplete {
		t.Errorf("row %+v, want r 16 of lora, incomplete", row)
	}
}

func TestTheFrameworksShortName(t *testing.T) {
	t.Parallel()
	script := `{"acceleration_framework_config_keypairs": ["gptq", "configs/gptq.yaml", "bnb", "./configs/bnb.yaml", "odd"]}`
	tests := map[string]struct{ script, file, want, note string }{
		"is looked up by its file":           {script, `"configs/gptq.yaml"`, "gptq", ""},
		"is found under another spelling":    {script, `"configs/../configs/bnb.yaml"`, "bnb", ""},
		"is none without a file":             {script, `""`, "none", ""},
		"is the file's own where not listed": {script, `"configs/new.yaml"`, "new", "does not list it"},
		"is the file's own without a script": {``, `"configs/gptq.yaml"`, "gptq", "cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, scriptFile, tt.script)
			put(t, dir, "exp_0", record.FileName, `{"num_gpus": 1, "train_runtime": 1, "acceleration_framework_config_file": `+tt.file+`}`)
			row := gather(t, dir).Rows[0]
			if got := row.Text("framework_config"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if notes := strings.Join(row.Notes, "\n"); !strings.Contains(notes, tt.note) || tt.note == "" && strings.Contains(notes, "short name") {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
		})
	}
}

// R3: trouble in a log leaves the metrics and the other rows alone.
func TestTroubleInALogIsAGapWithItsReason(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ log, want, reason string }{
		"one reading that is none": {header + "2025/03/04 10:00:01.101, NVIDIA A10G, 0, 3 MiB\n2025/03/04 10:00:02.104, NVIDIA A10G, 0, [N/A]\n2025/03/04 10:00:03.108, NVIDIA A10G, 0, 20483 MiB\n", "20480", ""},
		"an error instead of CSV":  {"Failed to initialize NVML: Driver/library version mismatch\n", "", "Failed to initialize NVML"},
		"an empty log":             {"", "", "empty"},
		"a log of zero bytes":      {"\x00\x00\x00\n", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "exp_0"), ended())
			put(t, dir, "exp_0", deviceLog, tt.log)
			row := gather(t, dir).Rows[0]
			v := row.Number(memory.NvidiaReserved)
			if v.String() != tt.want || v.Known() == (tt.want == "") || !strings.Contains(v.Gap, tt.reason) {
				t.Errorf("got %q (%s), want %q (%s)", v, v.Gap, tt.want, tt.reason)
			}
			if row.Text("train_loss") != "1.5" {
				t.Error("the metrics are gone")
			}
		})
	}
}

func TestLinksOutOfAFolderAreNotFollowed(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, ended())
	put(t, outside, deviceLog, header+"2025/03/04 10:00:01.101, NVIDIA L4, 0, 3 MiB\n2025/03/04 10:00:02.101, NVIDIA L4, 0, 1003 MiB\n")
	write(t, filepath.Join(dir, "exp_1"), ended())
	put(t, dir, "exp_2", "stdout", "")
	for link, target := range map[string]string{
		"exp_0":                    outside,
		"exp_1/" + deviceLog:       filepath.Join(outside, deviceLog),
		"exp_2/" + record.FileName: filepath.Join(outside, record.FileName),
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	rows := gather(t, dir).Rows
	if len(rows) != 3 {
		t.Fatalf("%d rows, want 3", len(rows))
	}
	if rows[0].Status != outcome.Incomplete || rows[2].Status != outcome.Incomplete {
		t.Errorf("a link was followed: %s and %s", rows[0].Status, rows[2].Status)
	}
	if v := rows[1].Number(memory.NvidiaReserved); v.Known() || !strings.Contains(v.Gap, deviceLog) {
		t.Errorf("memory %v (%s), want a gap that names %s", v, v.Gap, deviceLog)
	}
}

func TestAMissingResultsFolderIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := Gather([]string{filepath.Join(t.TempDir(), "gone")}, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want one of a folder that is not there", err)
	}
}

func TestAGathererReadsFinishedFoldersOnceOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "exp_0"), ended())
	stopped := ended()
	stopped.Outcome.Status = outcome.Interrupted
	write(t, filepath.Join(dir, "exp_1"), stopped)
	g := NewGatherer(Options{})
	if _, err := g.Gather([]string{dir}); err != nil {
		t.Fatal(err)
	}
	log := header + "2025/03/04 10:00:01.101, NVIDIA L4, 0, 3 MiB\n2025/03/04 10:00:02.101, NVIDIA L4, 0, 1003 MiB\n"
	put(t, dir, "exp_0", deviceLog, log)
	put(t, dir, "exp_1", deviceLog, log)
	again, err := g.Gather([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if v := again.Rows[0].Number(memory.NvidiaReserved); v.Known() {
		t.Error("a finished folder was read again")
	}
	if v := again.Rows[1].Number(memory.NvidiaReserved); v.String() != "1000" {
		t.Errorf("an interrupted folder gives %q, want 1000", v)
	}
	write(t, filepath.Join(dir, "exp_0"), ended())
	third, err := g.Gather([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if v := third.Rows[0].Number(memory.NvidiaReserved); v.String() != "1000" {
		t.Errorf("a new record gives %q, want 1000", v)
	}
}

func TestStagesOfTheTrainersMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "exp_0", record.FileName, `{"num_gpus": 1, "train_runtime": 1, "before_init_mem_gpu": 36000000000,
		"init_mem_gpu_alloc_delta": -10000000000, "init_mem_gpu_peaked_delta": 0,
		"train_mem_gpu_alloc_delta": -7000000000, "train_mem_gpu_peaked_delta": 2000000000}`)
	tests := map[memory.Stages][2]float64{
		"":                 {26e9, 26e9},
		memory.StagesSeed:  {26e9, 26e9},
		memory.StagesTrain: {19e9, 21e9},
		memory.StagesAll:   {36e9, 36e9},
	}
	for stages, want := range tests {
		g, err := Gather([]string{dir}, Options{Stages: stages})
		if err != nil {
			t.Fatal(err)
		}
		row := g.Rows[0]
		got := [2]float64{row.Number(memory.TorchAllocated).Number, row.Number(memory.TorchPeak).Number}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stages %q (-want +got)\n%s", stages, diff)
		}
		if _, ok := row.Cell(memory.HostPeakPSS); ok {
			t.Error("the first harness has no host memory, but there is a cell for it")
		}
	}
}

func TestColumnsLeadWithOursAndGoOnByName(t *testing.T) {
	t.Parallel()
	table := Table{Rows: []Row{
		{Cells: []Cell{{Name: "z"}, {Name: "status"}, {Name: "b"}}},
		{Cells: []Cell{{Name: "a"}, {Name: "z"}}},
	}}
	want := append(FirstColumns(), "a", "b", "z")
	if diff := cmp.Diff(want, table.Columns()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
