package table

import (
	"os"
	"path/filepath"
	"testing"

	"tunebench/internal/experiment"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
)

// FuzzGather holds that whatever the files of an experiment contain makes one row, with a
// status, a reason where it is not ok, and no name twice.
func FuzzGather(f *testing.F) {
	const log = header + "2025/03/04 10:00:01.101, NVIDIA L4, 0, 3 MiB\n2025/03/04 10:00:02.101, NVIDIA L4, 0, 1003 MiB\n"
	for _, seed := range [][4]string{
		{`{"num_gpus": 1, "train_runtime": 1, "acceleration_framework_config_file": "a.yaml"}`, ``, `{"acceleration_framework_config_keypairs": ["a", "a.yaml", "odd"]}`, log},
		{`{"tunebench": {"version": 1, "outcome": {"status": "ok"}, "probe": {}, "watch": {"devices": [{"index": 0}]}}}`, `{"env": {"HF_TOKEN": "x"}}`, `[]`, log},
		{``, `{"num_gpus": 2, "settings": [{"name": "status", "values": ["x"]}]}`, `{`, header},
		{`{"experiment": NaN}`, `null`, `null`, "\x00"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, results, description, script, log string) {
		dir := t.TempDir()
		exp := filepath.Join(dir, "exp_0")
		if err := os.Mkdir(exp, 0o755); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{
			filepath.Join(exp, record.FileName): results, filepath.Join(exp, experiment.FileName): description,
			filepath.Join(dir, scriptFile): script, filepath.Join(exp, deviceLog): log, filepath.Join(exp, hostLog): log,
		} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Gather([]string{dir}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if results+description == "" && len(got.Rows) == 0 {
			return
		}
		if len(got.Rows) != 1 {
			t.Fatalf("%d rows, want 1", len(got.Rows))
		}
		row := got.Rows[0]
		if row.Status == "" || row.Status != outcome.OK && row.Reason == "" {
			t.Errorf("status %q because of %q", row.Status, row.Reason)
		}
		names := make(map[string]bool)
		for _, c := range row.Cells {
			if names[c.Name] {
				t.Errorf("two cells named %q", c.Name)
			}
			names[c.Name] = true
		}
	})
}
