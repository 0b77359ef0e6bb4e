package record

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tunebench/internal/device"
	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/unit"
)

func full() Record {
	two, asked := 2, 512*unit.MiB
	return Record{
		Version:   Version,
		Tunebench: "0.1",
		Experiment: experiment.Experiment{
			Version: 1, ID: "a1b2", Name: "exp_3", Scenario: "lora", Trial: 1, NumGPUs: 2,
			Settings: []experiment.Setting{
				{Name: "learning_rate", Values: []string{"2e-5"}},
				{Name: "target_modules", Values: []string{"q_proj", "v_proj"}, List: true},
				{Name: "response_template", Values: []string{"\n### Response:"}},
			},
			Framework: &experiment.Content{Name: "bnb", Path: "/cfg/bnb.yaml", SHA256: "00ff"},
			Env:       map[string]string{"A": "b"},
			Limits:    experiment.Limits{Timeout: time.Minute},
		},
		Argv: []string{"python", "-m", "x"},
		Outcome: outcome.Outcome{
			Status: outcome.OOM, Reason: "device 0 is full", ErrorMessages: "OutOfMemoryError: <full> & more",
			Ending:      outcome.Ending{ExitCode: &two},
			OutOfMemory: &outcome.OutOfMemory{Requested: &asked},
		},
		Metrics: metric.Set{
			{Name: "train_loss", Value: metric.Of(1.5)},
			{Name: "train_runtime", Value: metric.Missing("not printed")},
		},
		Started:  time.Date(2025, 3, 4, 10, 0, 0, 5, time.UTC),
		Duration: 1500 * time.Millisecond,
		Watch: &Watch{
			Source: "nvidia-smi", Interval: time.Second,
			Devices:  []device.Device{{Index: 0, Name: "NVIDIA L4"}},
			Baseline: []Baseline{{Index: 0, Used: metric.Of(4 << 20)}, {Index: 1, Used: metric.Missing("[N/A]")}},
		},
		Host:  Host{Interval: time.Second, Samples: 2, MaxRSSOneProcess: metric.Of(99)},
		Notes: []string{"a doubt"},
	}
}

func flatOf(t *testing.T, r Record) map[string]any {
	t.Helper()
	data, err := Format(r)
	if err != nil {
		t.Fatal(err)
	}
	var flat map[string]any
	if err := json.Unmarshal(data, &flat); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, data)
	}
	return flat
}

func TestWhatWasWrittenReadsBackEqual(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "my results")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, full()); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full(), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWriteReplacesTheFileAndLeavesNothingBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := full()
	for _, status := range []outcome.Status{outcome.Interrupted, outcome.OK} {
		r.Outcome.Status = status
		if err := Write(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != FileName {
		t.Errorf("the folder holds %v, want only %s", entries, FileName)
	}
	if got, err := Read(dir); err != nil || got.Outcome.Status != outcome.OK {
		t.Errorf("read %q, %v; want the second record", got.Outcome.Status, err)
	}
}

func TestWriteIntoAMissingFolderNamesIt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	if err := Write(dir, full()); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want one that names %s", err, dir)
	}
}

func TestFlatKeysAreThoseOfTheFirstHarness(t *testing.T) {
	t.Parallel()
	got := flatOf(t, full())
	delete(got, "tunebench")
	want := map[string]any{
		"experiment": "exp_3", "scenario": "lora", "status": "oom", "exit_code": 2.0, "signal": nil,
		"duration_seconds": 1.5, "num_gpus": 2.0,
		"acceleration_framework_config_file": "/cfg/bnb.yaml",
		"error_messages":                     []any{"OutOfMemoryError: <full> & more"},
		"learning_rate":                      "2e-5", "target_modules": "q_proj v_proj",
		"response_template": "\n### Response:",
		"train_loss":        1.5, "train_runtime": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAFailureWithoutTextStillHasErrorMessages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		give outcome.Outcome
		want any
	}{
		"the reason stands in":           {outcome.Outcome{Status: outcome.Killed, Reason: "SIGKILL"}, []any{"SIGKILL"}},
		"else the status does":           {outcome.Outcome{Status: outcome.NoMetrics}, []any{"no_metrics"}},
		"a run that ended ok has no key": {outcome.Outcome{Status: outcome.OK, ErrorMessages: "old"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := full()
			r.Outcome = tt.give
			if diff := cmp.Diff(tt.want, flatOf(t, r)["error_messages"]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestASettingCannotOverwriteAReservedKey(t *testing.T) {
	t.Parallel()
	reserved := []string{"experiment", "scenario", "status", "exit_code", "signal", "duration_seconds",
		"num_gpus", "acceleration_framework_config_file", "error_messages", "tunebench"}
	r := full()
	r.Outcome = outcome.Outcome{Status: outcome.OK}
	r.Experiment.Framework = nil
	want := flatOf(t, r)
	delete(want, "tunebench")
	for _, name := range reserved {
		r.Experiment.Settings = append(r.Experiment.Settings, experiment.Setting{Name: name, Values: []string{"mine"}})
		r.Metrics = append(r.Metrics, metric.Metric{Name: name, Value: metric.Of(77)})
	}
	got := flatOf(t, r)
	delete(got, "tunebench")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	data, err := Format(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("the structured part lost something (-want +got)\n%s", diff)
	}
}

func TestMetricsThatAreNoFiniteNumber(t *testing.T) {
	t.Parallel()
	gap := func(reason, text string) metric.Value { return metric.Value{Gap: reason, Text: text} }
	tests := map[string]struct {
		give metric.Value
		want any
	}{
		"a NaN is null":                     {metric.Of(math.NaN()), nil},
		"an infinity is null":               {metric.Of(math.Inf(-1)), nil},
		"nan as printed is null":            {gap("not finite: NaN", "nan"), nil},
		"None is null":                      {gap("None was printed", "None"), nil},
		"a gap without a spelling is null":  {metric.Missing("not printed"), nil},
		"a boolean is its text":             {gap("not a number", "True"), "True"},
		"another text is its text":          {gap("not a number", "cosine"), "cosine"},
		"a tensor of nan is null":           {gap("not finite: NaN", "tensor(nan)"), nil},
		"a number is a number":              {metric.Of(0.1), 0.1},
		"a number keeps its last digit too": {metric.Of(1.7907396100357036), 1.7907396100357036},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := full()
			r.Metrics = metric.Set{{Name: "x", Value: tt.give}}
			if diff := cmp.Diff(tt.want, flatOf(t, r)["x"]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNotFiniteNumbersOfHostAndWatchBecomeGaps(t *testing.T) {
	t.Parallel()
	r := full()
	r.Host.MaxRSSOneProcess = metric.Of(math.NaN())
	r.Watch.Baseline[0].Used = metric.Of(math.Inf(1))
	data, err := Format(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if got.Host.MaxRSSOneProcess.Known() || got.Watch.Baseline[0].Used.Known() {
		t.Errorf("got %v and %v, want two gaps", got.Host.MaxRSSOneProcess, got.Watch.Baseline[0].Used)
	}
}

// B30: the trainer's output need not be UTF-8; the record is.
func TestBytesThatAreNotUTF8AreReplaced(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\xff\xfe caf\xe9", "cut \xe2\x96", "lone \xed\xa0\x80 surrogate"} {
		r := full()
		r.Outcome.ErrorMessages = text
		r.Experiment.Settings = append(r.Experiment.Settings, experiment.Setting{Name: text, Values: []string{text}})
		data, err := Format(r)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(data) || !utf8.Valid(data) {
			t.Errorf("%q: the record is not valid JSON in UTF-8", text)
		}
		got, err := Parse(data)
		if err != nil || !strings.Contains(got.Outcome.ErrorMessages, "\uFFFD") {
			t.Errorf("%q: read back as %q, %v", text, got.Outcome.ErrorMessages, err)
		}
	}
}

// B34: none of these counts as done, and each is told apart from other errors.
func TestADamagedRecordIsAnErrorThatNamesTheFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ give, reason string }{
		"nothing":                       {"", "empty"},
		"only blanks":                   {" \n", "empty"},
		"only zero bytes":               {"\x00\x00\x00", "not JSON"},
		"cut in a key":                  {`{"num_gpus": 1, "train_lo`, "cut off"},
		"cut in a value":                {`{"num_gpus": 1, "train_runtime": 7`, "cut off"},
		"cut after a comma":             {`{"num_gpus": 1,`, "cut off"},
		"a list":                        {`[]`, "not a JSON object"},
		"null":                          {`null`, "not a JSON object"},
		"an empty object":               {`{}`, "not finished"},
		"no metrics":                    {`{"num_gpus": 1}`, "not finished"},
		"settings only":                 {`{"num_gpus": 1, "r": "16"}`, "not finished"},
		"two objects":                   {`{"train_loss": 1} {"train_loss": 2}`, "after the end"},
		"structured part of another":    {`{"tunebench": 5}`, "under the key tunebench"},
		"structured part without parts": {`{"tunebench": {}}`, "no version"},
		"a newer version":               {`{"tunebench": {"version": 99}}`, "newer"},
		"a status that is no word":      {`{"tunebench": {"version": 1, "outcome": {"status": "fine"}}}`, `"fine"`},
		"a status of no ending":         {`{"tunebench": {"version": 1, "outcome": {"status": "running"}}}`, `"running"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, FileName)
			if err := os.WriteFile(path, []byte(tt.give), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(dir)
			var damage *Damage
			if !errors.As(err, &damage) {
				t.Fatalf("error %v, want a Damage", err)
			}
			if damage.File != path || !strings.Contains(damage.Reason, tt.reason) {
				t.Errorf("damage %+v, want file %s and a reason with %q", damage, path, tt.reason)
			}
			if Done(dir, "") {
				t.Error("counts as done")
			}
		})
	}
}

func TestWhatIsNoFileOfTheFolderIsNotRead(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := Write(outside, full()); err != nil {
		t.Fatal(err)
	}
	absent, folder, link := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, FileName), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, FileName), filepath.Join(link, FileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(absent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent record: %v, want fs.ErrNotExist", err)
	}
	var damage *Damage
	if _, err := Read(folder); !errors.As(err, &damage) {
		t.Errorf("a folder in its place: %v, want a Damage", err)
	}
	if r, err := Read(link); err == nil {
		t.Errorf("a link out of the folder was followed to %s", r.Experiment.Name)
	}
}

func TestDoneWantsAWholeFinalRecordOfThatIdentity(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status outcome.Status
		id     string
		want   bool
	}{
		"ok":                           {outcome.OK, "a1b2", true},
		"a failure is a result":        {outcome.OOM, "a1b2", true},
		"no metrics is a result":       {outcome.NoMetrics, "a1b2", true},
		"interrupted is run again":     {outcome.Interrupted, "a1b2", false},
		"another identity":             {outcome.OK, "ffff", false},
		"an empty identity":            {outcome.OK, "", false},
		"a word that says no ending":   {outcome.Running, "a1b2", false},
		"a word that nobody ever used": {"fine", "a1b2", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := full()
			r.Outcome.Status = tt.status
			if err := Write(dir, r); err != nil {
				t.Fatal(err)
			}
			if got := Done(dir, tt.id); got != tt.want {
				t.Errorf("Done is %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheFirstHarnesssRecordIsRead(t *testing.T) {
	t.Parallel()
	one := func(name, value string) experiment.Setting {
		return experiment.Setting{Name: name, Values: []string{value}}
	}
	tests := map[string]struct {
		give   string
		status outcome.Status
		want   Record
	}{
		"texts are settings and numbers metrics": {
			`{"r": "16", "num_gpus": 2, "train_runtime": 7.25, "acceleration_framework_config_file": "c/b.yaml"}`, outcome.OK,
			Record{
				Experiment: experiment.Experiment{NumGPUs: 2, Settings: []experiment.Setting{one("r", "16")}, Framework: &experiment.Content{Path: "c/b.yaml"}},
				Metrics:    metric.Set{{Name: "train_runtime", Value: metric.Of(7.25)}},
			}},
		"words that Python writes for numbers become gaps": {
			`{"t": "NaN \" Infinity", "train_runtime": 1, "train_loss": NaN, "a": -Infinity, "b": Infinity, "c": null, "d": true, "e": 1e999}`, outcome.OK,
			Record{
				Experiment: experiment.Experiment{Settings: []experiment.Setting{one("t", `NaN " Infinity`)}},
				Metrics: metric.Set{
					{Name: "train_runtime", Value: metric.Of(1)},
					{Name: "train_loss", Value: metric.Value{Gap: "not finite: NaN", Text: "NaN"}},
					{Name: "a", Value: metric.Value{Gap: "not finite: -Infinity", Text: "-Infinity"}},
					{Name: "b", Value: metric.Value{Gap: "not finite: Infinity", Text: "Infinity"}},
					{Name: "c", Value: metric.Missing("null in the file")},
					{Name: "d", Value: metric.Value{Gap: "not a number", Text: "true"}},
					{Name: "e", Value: metric.Value{Gap: "not finite: +Inf", Text: "1e999"}},
				},
			}},
		"an error that tells of memory is oom": {
			`{"error_messages": ["Traceback\n  x\ntorch.OutOfMemoryError: CUDA out of memory. Tried\n"], "num_gpus": 1}`, outcome.OOM,
			Record{
				Experiment: experiment.Experiment{NumGPUs: 1},
				Outcome: outcome.Outcome{Reason: "torch.OutOfMemoryError: CUDA out of memory. Tried",
					ErrorMessages: "Traceback\n  x\ntorch.OutOfMemoryError: CUDA out of memory. Tried\n"},
			}},
		"another error is an error, metrics or not": {
			`{"error_messages": "ValueError: no", "train_loss": 2}`, outcome.Error,
			Record{
				Outcome: outcome.Outcome{Reason: "ValueError: no", ErrorMessages: "ValueError: no"},
				Metrics: metric.Set{{Name: "train_loss", Value: metric.Of(2)}},
			}},
		"a list of texts is one setting and of two equal keys the last stays": {
			"\ufeff" + `{"m": ["q", "v"], "r": "1", "train_runtime": 1, "r": "2", "num_gpus": "2"}`, outcome.OK,
			Record{
				Experiment: experiment.Experiment{NumGPUs: 2, Settings: []experiment.Setting{
					{Name: "m", Values: []string{"q", "v"}, List: true}, one("r", "2"),
				}},
				Metrics: metric.Set{{Name: "train_runtime", Value: metric.Of(1)}},
			}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse([]byte(tt.give))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Version, tt.want.Outcome.Status = Version, tt.status
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Host{}, "MaxRSSOneProcess")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestADamagedRecordGivesTheSettingsThatItHolds(t *testing.T) {
	t.Parallel()
	got, err := Parse([]byte(`{"model_name_or_path": "m", "num_gpus": 2}`))
	if err == nil {
		t.Fatal("no error")
	}
	s, _ := got.Experiment.Setting("model_name_or_path")
	if got.Outcome.Status != outcome.Incomplete || got.Experiment.NumGPUs != 2 || !cmp.Equal(s.Values, []string{"m"}) {
		t.Errorf("got %+v, want the model, two GPUs and the status incomplete", got)
	}
}

func FuzzParse(f *testing.F) {
	ours, err := Format(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ours)
	for _, seed := range []string{
		"{\"error_messages\": [\"no \xec UTF-8\", {}]}", "{\"a\": {\"\xff\": 1}, \"b\": [\"\xc3\", 2]}", "{\"num_gpus\": \"\xf0\x9f\", \"\xfe\": true}",
		`{"r": "16", "num_gpus": 2, "train_runtime": 7.25, "train_loss": NaN, "x": -Infinity}`,
		`{"error_messages": ["CUDA out of memory"], "a": [1, {"b": null}], "c": true, "\ud800": "\ud800"}`,
		`{"train_loss": 1e999, "train_loss": -0.0, "status": "x", "tunebench ": {}}`,
		`{"tunebench": {"version": 1, "outcome": {"status": "ok"}, "metrics": [{"name": "a", "value": {"gap": ""}}]}}`,
		`{"num_gpus": 1, "train_lo`, `[]`, `{}`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := Parse(data)
		if err != nil {
			return
		}
		text, err := Format(first)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Fatalf("not valid JSON in UTF-8:\n%s", text)
		}
		second, err := Parse(text)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, text)
		}
		if diff := cmp.Diff(first, second, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-first +second)\n%s\n%s", diff, text)
		}
	})
}

func TestTheReasonOfAnOlderFailureIsTheExceptionAndNotTheLastLine(t *testing.T) {
	t.Parallel()
	const full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 31.25 GiB."
	for name, tc := range map[string]struct {
		text   string
		status outcome.Status
		reason string
	}{
		"a bar behind it":            {"Traceback (most recent call last):\n  File \"x\"\n" + full + "\n  0%|          | 0/10 [00:09<?, ?it/s]", outcome.OOM, full},
		"its launcher's words after": {"Traceback (most recent call last):\n  File \"x\"\n" + full + "\nE0321 torch/distributed/elastic] failed (exitcode: 1) local_rank: 0", outcome.OOM, full},
		"the host's memory":          {"Traceback (most recent call last):\n  File \"x\"\nMemoryError\n", outcome.HostMemory, "MemoryError"},
		"refused arguments":          {"usage: fit.py [-h]\nfit.py: error: unrecognized arguments: --x", outcome.Usage, "fit.py: error: unrecognized arguments: --x"},
		"no exception at all":        {"it did not work", outcome.Error, "it did not work"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := json.Marshal(map[string]any{"num_gpus": 1, "error_messages": tc.text})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Parse(data)
			if err != nil || got.Outcome.Status != tc.status || got.Outcome.Reason != tc.reason {
				t.Errorf("%s, %q, %v; want %s, %q", got.Outcome.Status, got.Outcome.Reason, err, tc.status, tc.reason)
			}
		})
	}
}
