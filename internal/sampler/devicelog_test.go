package sampler

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogsAreGoneOnIn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, want string // of the memory log; - : there is none
	}{
		"a log with whole rows":    {memoryHeader + "row 1\n", memoryHeader + "row 1\nrow 2\n"},
		"a row that was cut off":   {memoryHeader + "row 1\nro", memoryHeader + "row 1\nro\nrow 2\n"},
		"a log without a line yet": {"", memoryHeader + "row 2\n"},
		"no log":                   {"-", memoryHeader + "row 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, MemoryFile)
			if tc.before != "-" {
				if err := os.WriteFile(file, []byte(tc.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			logs, closeLogs, err := ReopenDeviceLogs(dir)
			if err != nil {
				t.Fatal(err)
			}
			log := newDeviceLog(logs)
			log.logs[0].rows = append(log.logs[0].rows, "row 2\n"...)
			if problems := log.flush(); len(problems) > 0 {
				t.Error(problems)
			}
			if err := closeLogs(); err != nil {
				t.Error(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for i, other := range []string{ProcessFile, StateFile} {
				if got, err := os.ReadFile(filepath.Join(dir, other)); err != nil || string(got) != logHeaders()[i+1] {
					t.Errorf("%s holds %q, %v; want its first line", other, got, err)
				}
			}
		})
	}
}
