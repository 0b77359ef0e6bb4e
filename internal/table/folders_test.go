//go:build unix

package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/experiment"
	"tunebench/internal/memory"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
)

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderThatIsNamedTwiceIsCountedOnce(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	a, b := filepath.Join(top, "a"), filepath.Join(top, "b")
	for _, dir := range []string{a, b} {
		write(t, filepath.Join(dir, "exp_0"), ended())
		write(t, filepath.Join(dir, "exp_1"), ended())
	}
	link(t, a, filepath.Join(top, "linked"))
	link(t, filepath.Join(a, "exp_1"), filepath.Join(top, "best"))
	for name, tt := range map[string]struct {
		dirs  []string
		rows  int
		notes []string
	}{
		"two that differ":           {[]string{a, b}, 4, nil},
		"the same name":             {[]string{a, a}, 2, []string{a + " is named twice"}},
		"a name with a slash":       {[]string{a, a + "/"}, 2, []string{"same folder as " + a}},
		"a detour":                  {[]string{a, b, b + "/../a"}, 4, []string{"same folder as " + a}},
		"a link":                    {[]string{a, filepath.Join(top, "linked")}, 2, []string{"same folder as " + a}},
		"a link first":              {[]string{filepath.Join(top, "linked"), a}, 2, []string{a + " is the same folder"}},
		"an experiment of it":       {[]string{a, a + "/exp_1"}, 2, []string{a + "/exp_1 is named twice"}},
		"an experiment of it first": {[]string{a + "/exp_1", a}, 2, []string{"exp_1"}},
		"a link to one of it":       {[]string{a, filepath.Join(top, "best")}, 2, []string{"best is the same folder as " + a + "/exp_1"}},
		"three times":               {[]string{a, a, a}, 2, []string{"named twice", "named twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gather(t, tt.dirs...)
			if len(got.Rows) != tt.rows || len(got.Notes) != len(tt.notes) || len(got.Empty) > 0 {
				t.Fatalf("%d rows, notes %q, empty %q; want %d rows and %d notes", len(got.Rows), got.Notes, got.Empty, tt.rows, len(tt.notes))
			}
			for i, want := range tt.notes {
				if !strings.Contains(got.Notes[i], want) {
					t.Errorf("note %q, want %q", got.Notes[i], want)
				}
			}
		})
	}
}

func TestALinkWithinAResultsFolderIsCountedOnceAndOneOutOfItHidesNothing(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	write(t, filepath.Join(a, "exp_0"), ended())
	write(t, filepath.Join(b, "exp_0"), ended())
	link(t, "exp_0", filepath.Join(a, "exp_1"))
	link(t, filepath.Join(b, "exp_0"), filepath.Join(a, "exp_2"))
	got := gather(t, a, b)
	var dirs []string
	for _, r := range got.Rows {
		dirs = append(dirs, r.Dir+" "+string(r.Status))
	}
	want := []string{filepath.Join(a, "exp_0") + " ok", filepath.Join(a, "exp_2") + " incomplete", filepath.Join(b, "exp_0") + " ok"}
	if diff := cmp.Diff(want, dirs); diff != "" || len(got.Notes) != 1 {
		t.Errorf("(-want +got)\n%s notes %q", diff, got.Notes)
	}
}

// What stands at the place of a record and cannot be one makes a row, never a gap in the
// numbers that nobody sees.
func TestWhatIsNoRecordMakesARow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil  func(t *testing.T, dir string)
		reason string
	}{
		"a folder as record":                 {func(t *testing.T, dir string) { put(t, dir, record.FileName, "x", "") }, "not a regular file"},
		"a fifo as record":                   {func(t *testing.T, dir string) { fifo(t, filepath.Join(dir, record.FileName)) }, "not a regular file"},
		"a link out of the folder as record": {func(t *testing.T, dir string) { link(t, "/etc/hostname", filepath.Join(dir, record.FileName)) }, "escapes"},
		"a link to nowhere as record":        {func(t *testing.T, dir string) { link(t, "gone", filepath.Join(dir, record.FileName)) }, "neither"},
		"a folder as description":            {func(t *testing.T, dir string) { put(t, dir, experiment.FileName, "x", "") }, "not a regular file"},
		"a fifo as description":              {func(t *testing.T, dir string) { fifo(t, filepath.Join(dir, experiment.FileName)) }, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			exp := filepath.Join(dir, "exp_0")
			if err := os.Mkdir(exp, 0o755); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, exp)
			write(t, filepath.Join(dir, "exp_1"), ended())
			for _, given := range []string{dir, exp} {
				rows := gather(t, given).Rows
				if len(rows) == 0 || rows[0].Experiment != "exp_0" || rows[0].Results != dir {
					t.Fatalf("%s: rows %+v, want exp_0 of %s first", given, rows, dir)
				}
				if rows[0].Status != outcome.Incomplete || !strings.Contains(rows[0].Reason, tt.reason) {
					t.Errorf("%s: %s because of %q, want incomplete because of %q", given, rows[0].Status, rows[0].Reason, tt.reason)
				}
			}
		})
	}
}

func fifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("needs a file system with fifos: %v", err)
	}
}

func TestAFolderWithoutExperimentsIsNamed(t *testing.T) {
	t.Parallel()
	full, empty, others, forgotten := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(full, "exp_0"), ended())
	put(t, others, "exp_notes", record.FileName, "{}")
	put(t, forgotten, "exp_0", "mine", "")
	for name, dirs := range map[string][]string{
		"an empty folder": {empty}, "a folder of other things": {others}, "a forgotten experiment": {forgotten}, "all of them": {empty, others, forgotten},
	} {
		got := gather(t, dirs...)
		var none *NotFoundError
		if err := got.Found(); !errors.As(err, &none) || cmp.Diff(dirs, none.Dirs) != "" {
			t.Errorf("%s: %v, want an error for %q", name, err, dirs)
		}
		for _, dir := range dirs {
			if text := strings.Join(got.Notes, "\n"); !strings.Contains(text, dir+": no experiment was found (looked for experiment.json and results.json") {
				t.Errorf("%s: notes %q do not tell of %s", name, text, dir)
			}
		}
		beside := gather(t, append([]string{full}, dirs...)...)
		if err := beside.Found(); err != nil || len(beside.Rows) != 1 || cmp.Diff(dirs, beside.Empty) != "" {
			t.Errorf("%s beside a full one: %v, %d rows, empty %q", name, err, len(beside.Rows), beside.Empty)
		}
	}
}

func TestRowsKnowTheirResultsFolder(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	write(t, filepath.Join(a, "exp_0"), ended())
	write(t, filepath.Join(b, "exp_0"), ended())
	link(t, filepath.Join(t.TempDir(), "gone"), filepath.Join(a, "exp_1"))
	g := NewGatherer(Options{})
	for range 2 { // the second time from memory
		got, err := g.Gather([]string{a + "/", filepath.Join(b, "exp_0")})
		if err != nil {
			t.Fatal(err)
		}
		var folders []string
		for _, r := range got.Rows {
			folders = append(folders, r.Results)
		}
		if diff := cmp.Diff([]string{a + "/", a + "/", b}, folders); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// TestManyFoldersKeepTheirOrder gathers more folders than are read at the same time, of
// very different sizes, and again after a change.
func TestManyFoldersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const many = 60
	for i := range many {
		exp := filepath.Join(dir, fmt.Sprintf("exp_%d", i))
		write(t, exp, ended())
		log := header + "2025/03/04 10:00:01.101, NVIDIA L4, 0, 0 MiB\n"
		put(t, exp, deviceLog, log+strings.Repeat(fmt.Sprintf("2025/03/04 10:00:02.101, NVIDIA L4, 0, %d MiB\n", i), 1+(many-i)*50))
	}
	g := NewGatherer(Options{})
	check := func(changed int, want string) {
		t.Helper()
		got, err := g.Gather([]string{dir})
		if err != nil || len(got.Rows) != many {
			t.Fatalf("%d rows, %v", len(got.Rows), err)
		}
		for i, row := range got.Rows {
			expected := fmt.Sprint(i)
			if i == changed {
				expected = want
			}
			if v := row.Number(memory.NvidiaReserved); v.String() != expected || row.Experiment != fmt.Sprintf("exp_%d", i) {
				t.Errorf("row %d is %s with %s MiB, want %s", i, row.Experiment, v, expected)
			}
		}
	}
	check(-1, "")
	exp := filepath.Join(dir, "exp_7")
	put(t, exp, deviceLog, header+"2025/03/04 10:00:01.101, NVIDIA L4, 0, 0 MiB\n2025/03/04 10:00:02.101, NVIDIA L4, 0, 1007 MiB\n")
	later := ended()
	later.Duration += time.Second
	write(t, exp, later)
	check(7, "1007")
}
