package timeline_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/curve"
	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
	"tunebench/internal/table"
	"tunebench/internal/timeline"
)

func began() time.Time { return time.Date(2026, 12, 1, 5, 9, 15, 0, time.UTC) }

const mib = 1 << 20

// run is what a test writes into an experiment's folder.
type run struct {
	devices  string        // the devices' log
	host     string        // the host's log
	stderr   string        // with progress bars
	trained  float64       // seconds that the Trainer says
	duration time.Duration // of the whole
}

// read writes the folder, gathers it and reads its timeline.
func (r run) read(t *testing.T) timeline.Timeline {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "exp_0")
	r.write(t, dir)
	return timeline.Read(gather(t, dir).Rows[0], curve.Limit)
}

func (r run) write(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rec := record.Record{
		Version: record.Version, Started: began(), Duration: r.duration, Outcome: outcome.Outcome{Status: outcome.OK},
		Experiment: experiment.Experiment{Version: 1, ID: "id", Name: "exp_0", Trial: 1, NumGPUs: 1},
		Metrics:    metric.Set{}.With("train_runtime", metric.Of(r.trained)),
		Host:       record.Host{MaxRSSOneProcess: metric.Missing("not waited for")},
	}
	if err := record.Write(dir, rec); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"gpu_memory_logs.csv": r.devices, "host_memory_logs.csv": r.host, "stderr": r.stderr} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func gather(t *testing.T, dirs ...string) table.Table {
	t.Helper()
	gathered, err := table.Gather(dirs, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return gathered
}

// deviceRows are a log of device 0: its level in MiB at each second after the beginning,
// on a clock that is in another zone.
func deviceRows(zone time.Duration, levels ...int) string {
	out := "timestamp, name, index, memory.used [MiB]\n"
	for i, level := range levels {
		at := began().Add(zone + time.Duration(i)*time.Second)
		out += fmt.Sprintf("%s, G, 0, %d MiB\n", at.Format("2006/01/02 15:04:05.000"), level)
	}
	return out
}

func hostRows(offset time.Duration, amounts ...int) string {
	out := "timestamp,processes,rss_bytes,pss_bytes\n"
	for i, n := range amounts {
		out += fmt.Sprintf("%s,1,%d,\n", began().Add(offset+time.Duration(i)*time.Second).Format(time.RFC3339Nano), n)
	}
	return out
}

func TestBothLogsAndTheMomentsStandOnOneAxis(t *testing.T) {
	t.Parallel()
	got := run{
		devices: deviceRows(9*time.Hour+500*time.Millisecond, 0, 9, 2), host: hostRows(-time.Second, 5, 6), duration: 20 * time.Second, trained: 12,
		stderr: " 50%|#  | 5/10 [00:06<00:06,  1.2s/it]\r100%|###| 10/10 [00:12<00:00,  1.2s/it]\n",
	}.read(t)
	want := timeline.Timeline{
		Devices: []curve.Curve{{Name: "device 0", Model: "G", Rows: 3, Points: []curve.Point{{T: 1.5, V: 0}, {T: 2.5, V: 9 * mib}, {T: 3.5, V: 2 * mib}}}},
		Host:    []curve.Curve{{Name: "host RSS", Rows: 2, Points: []curve.Point{{T: 0, V: 5}, {T: 1, V: 6}}}},
		Marks:   []timeline.Mark{{Name: "start", At: 1}, {Name: "end", At: 21}},
		Trained: &timeline.Band{From: 9, To: 21, Inferred: true},
		Steps:   []timeline.Step{{N: 5, At: 6}, {N: 10, At: 12}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMomentsArePlacedWhereTheClockIsKnownOnly(t *testing.T) {
	t.Parallel()
	devices, host := deviceRows(-7*time.Hour+2*time.Second, 1, 2), hostRows(0, 5, 6)
	for name, tc := range map[string]struct {
		run   run
		marks []timeline.Mark
		band  *timeline.Band
	}{
		"no log at all":                   {run{duration: 20 * time.Second, trained: 5}, nil, nil},
		"devices only":                    {run{devices: devices, duration: 20 * time.Second, trained: 5}, []timeline.Mark{{Name: "start", At: -2}, {Name: "end", At: 18}}, &timeline.Band{From: 13, To: 18, Inferred: true}},
		"a log without times":             {run{devices: "index, memory.used [MiB]\n0, 3 MiB\n", duration: 20 * time.Second, trained: 5}, nil, nil},
		"no duration":                     {run{host: host, trained: 5}, []timeline.Mark{{Name: "start"}}, nil},
		"a training longer than the run":  {run{host: host, duration: 4 * time.Second, trained: 5}, []timeline.Mark{{Name: "start"}, {Name: "end", At: 4}}, nil},
		"a training that took no time":    {run{host: host, duration: 4 * time.Second}, []timeline.Mark{{Name: "start"}, {Name: "end", At: 4}}, nil},
		"a training as long as the whole": {run{host: host, duration: 4 * time.Second, trained: 4}, []timeline.Mark{{Name: "start"}, {Name: "end", At: 4}}, &timeline.Band{From: 0, To: 4, Inferred: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.run.read(t)
			if diff := cmp.Diff(tc.marks, got.Marks); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.band, got.Trained); diff != "" {
				t.Errorf("training (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLogsOfAnotherTimeThanTheRecordsPlaceNoMoments(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]time.Duration{"a day before": -24 * time.Hour, "an hour after": time.Hour, "years before": -9 * 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run{host: hostRows(offset, 5, 6), duration: 20 * time.Second, trained: 5}.read(t)
			if len(got.Marks) > 0 || got.Trained != nil {
				t.Errorf("marks %v, training %v, want none", got.Marks, got.Trained)
			}
			if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "from the first reading") {
				t.Errorf("notes %q, want that the start is far from the first reading", got.Notes)
			}
		})
	}
}

func TestTheTrainingEndsWithTheLastRank(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		written []time.Duration
		end     float64
	}{
		"one rank":                 {[]time.Duration{15 * time.Second}, 15},
		"the last of two":          {[]time.Duration{14 * time.Second, 17 * time.Second}, 17},
		"a clock that was set off": {[]time.Duration{time.Hour}, 20},
		"a record of an older run": {[]time.Duration{-time.Hour}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "exp_0")
			run{host: hostRows(0, 5), duration: 20 * time.Second, trained: 5}.write(t, dir)
			for i, at := range tc.written {
				writeProbe(t, dir, i, began().Add(at))
			}
			got := timeline.Read(gather(t, dir).Rows[0], curve.Limit)
			if diff := cmp.Diff(&timeline.Band{From: tc.end - 5, To: tc.end, Inferred: true}, got.Trained); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATrainingThatTheProbeSawStandsWhereItWas(t *testing.T) {
	t.Parallel()
	at := func(seconds float64) int64 { return began().Add(time.Duration(seconds * 1e9)).UnixNano() }
	for name, tc := range map[string]struct {
		begin, end int64
		want       timeline.Band
	}{
		"both ends":                       {at(6), at(12.5), timeline.Band{From: 6, To: 12.5}},
		"cut short":                       {at(6), 0, timeline.Band{From: 6, To: 20}},
		"an end before its beginning":     {at(6), at(5), timeline.Band{From: 6, To: 20}},
		"an end after the run's":          {at(6), at(99), timeline.Band{From: 6, To: 20}},
		"a beginning before the run's":    {at(-3600), at(12), timeline.Band{From: 10, To: 15, Inferred: true}},
		"no beginning, of an older probe": {0, 0, timeline.Band{From: 10, To: 15, Inferred: true}},
		"a beginning after the run's end": {at(99), at(100), timeline.Band{From: 10, To: 15, Inferred: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "exp_0")
			run{host: hostRows(0, 5), duration: 20 * time.Second, trained: 5}.write(t, dir)
			writeProbe(t, dir, 0, began().Add(15*time.Second), fmt.Sprintf(`, "trainer": {"stages": {}, "train_begin_ns": %d, "train_end_ns": %d}`, tc.begin, tc.end))
			got := timeline.Read(gather(t, dir).Rows[0], curve.Limit)
			if diff := cmp.Diff(&tc.want, got.Trained); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatCannotBeReadIsANoteAndALinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	secret := t.TempDir()
	run{devices: deviceRows(0, 1, 2), host: hostRows(0, 1)}.write(t, filepath.Join(secret, "exp_7"))
	for name, tc := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"a link for a log": {func(dir string) error {
			return relink(filepath.Join(secret, "exp_7", "gpu_memory_logs.csv"), filepath.Join(dir, "gpu_memory_logs.csv"))
		}, "gpu_memory_logs.csv cannot be read"},
		"a folder for a log": {func(dir string) error { return os.Mkdir(filepath.Join(dir, "host_memory_logs.csv"), 0o755) }, "host_memory_logs.csv cannot be read"},
		"a link for a folder": {func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Symlink(filepath.Join(secret, "exp_7"), dir))
		}, "the logs cannot be read"},
		"no folder": {os.RemoveAll, "the logs cannot be read"},
		"a log that broke off": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "gpu_memory_logs.csv"), []byte(deviceRows(0, 1)+"GPU is lost\n"), 0o644)
		}, "the log ends with: GPU is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "exp_0")
			run{}.write(t, dir)
			row := gather(t, dir).Rows[0]
			if err := tc.damage(dir); err != nil {
				t.Fatal(err)
			}
			got := timeline.Read(row, curve.Limit)
			if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], tc.want) {
				t.Errorf("notes %q, want one that says %q", got.Notes, tc.want)
			}
			if len(got.Host) > 0 || len(got.Devices) > 0 && !strings.Contains(tc.want, "lost") {
				t.Errorf("curves of what is not to be read: %+v, %+v", got.Devices, got.Host)
			}
		})
	}
}

func relink(target, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(target, path)
}

func TestEachReadsEveryRowOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const rows = 20
	for i := range rows {
		run{devices: deviceRows(0, i)}.write(t, filepath.Join(dir, fmt.Sprintf("exp_%d", i)))
	}
	var calls [rows]atomic.Int64
	timeline.Each(gather(t, dir), curve.Limit, func(i int, l timeline.Timeline) {
		calls[i].Add(1)
		if got := l.Devices[0].Peak().V; got != float64(i)*mib {
			t.Errorf("row %d holds %v", i, got)
		}
	})
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Errorf("row %d was read %d times", i, n)
		}
	}
	timeline.Each(table.Table{}, curve.Limit, func(int, timeline.Timeline) { t.Error("a table without rows has one") })
}

// writeProbe leaves the record of one of several ranks.
func writeProbe(t *testing.T, dir string, rank int, written time.Time, more ...string) {
	t.Helper()
	folder := filepath.Join(dir, record.ProbeDir)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"format": 1, "complete": true, "errors": [], "pid": %d, "ppid": 1, "started_ns": %d, "written_ns": %d, "argv": ["python", "t.py"], "place": {"rank": %d, "local_rank": %d, "world_size": 2}, "torch": {"version": "2.11.0", "cuda": []}%s}`,
		10+rank, began().UnixNano(), written.UnixNano(), rank, rank, strings.Join(more, ""))
	if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("process_%d.json", rank)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
