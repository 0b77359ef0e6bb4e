package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeProc is one process of a made-up /proc.
type fakeProc struct {
	pid, parent, group int
	started            int
	pages              int    // resident; negative: no statm
	pss                string // the content of smaps_rollup; empty: no such file
	environ            string
	state              string
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func makeProc(t *testing.T, procs ...fakeProc) string {
	t.Helper()
	root := t.TempDir()
	for _, p := range procs {
		dir := filepath.Join(root, strconv.Itoa(p.pid))
		if p.state == "" {
			p.state = "S"
		}
		write(t, filepath.Join(dir, "stat"), fmt.Sprintf("%d (a (b) c) %s %d %d 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 %d 1000 10"+
			strings.Repeat(" 0", 28)+"\n", p.pid, p.state, p.parent, p.group, p.started))
		write(t, filepath.Join(dir, "status"), "Name:\tabc\nVmHWM:\t 40 kB\n")
		if p.pages >= 0 {
			write(t, filepath.Join(dir, "statm"), fmt.Sprintf("100 %d 5 1 0 50 0\n", p.pages))
		}
		if p.pss != "" {
			write(t, filepath.Join(dir, "smaps_rollup"), p.pss)
		}
		write(t, filepath.Join(dir, "environ"), p.environ)
	}
	return root
}

func pids(procs []Proc) []int {
	var out []int
	for _, p := range procs {
		out = append(out, p.PID)
	}
	return out
}

func TestTreeHoldsTheFamily(t *testing.T) {
	t.Parallel()
	const mark = "A=1\x00TUNEBENCH_FAMILY=tok\x00"
	root := makeProc(t,
		fakeProc{pid: 1, environ: "", started: 1},
		fakeProc{pid: 40, parent: 1, group: 40, started: 5, environ: mark}, // older than the root
		fakeProc{pid: 100, parent: 1, group: 100, started: 10},
		fakeProc{pid: 101, parent: 100, group: 100, started: 11},
		fakeProc{pid: 90, parent: 101, group: 90, started: 12},                                               // a lower number than its parent
		fakeProc{pid: 102, parent: 1, group: 100, started: 13},                                               // orphaned, still of the group
		fakeProc{pid: 103, parent: 1, group: 103, started: 14, environ: mark},                                // orphaned, left the group
		fakeProc{pid: 104, parent: 1, group: 104, started: 15, environ: "TUNEBENCH_FAMILY=token\x00"},        // another run
		fakeProc{pid: 105, parent: 100, group: 100, started: 16, state: "Z"},                                 // has ended
		fakeProc{pid: 106, parent: 1, group: 106, started: 17, environ: "X=TUNEBENCH_FAMILY=tok\x00B=2\x00"}, // only looks like it
	)
	write(t, filepath.Join(root, "107", "stat"), "107 (cut)")
	for name, tc := range map[string]struct {
		pid  int
		opts TreeOptions
		want []int
	}{
		"descendants and the group":             {100, TreeOptions{}, []int{90, 100, 101, 102}},
		"with those that carry the mark":        {100, TreeOptions{Token: "tok"}, []int{90, 100, 101, 102, 103}},
		"without those that are left out":       {100, TreeOptions{Token: "tok", Without: []int{103, 90}}, []int{100, 101, 102}},
		"a root that has ended leaves the mark": {999, TreeOptions{Token: "tok"}, []int{40, 103}},
		"a root that has ended and no mark":     {999, TreeOptions{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tree(root, tc.pid, tc.opts)
			if diff := cmp.Diff(tc.want, pids(got)); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestTreeReadsMemory(t *testing.T) {
	t.Parallel()
	root := makeProc(t,
		fakeProc{pid: 7, pages: 10, pss: "x [rollup]\nPss:  8 kB\n"},
		fakeProc{pid: 8, parent: 7, pages: 20},
		fakeProc{pid: 9, parent: 7, pages: -1, pss: "Rss: 1 kB\n"},
	)
	write(t, filepath.Join(root, "9", "statm"), "100\n") // cut
	got, err := tree(root, 7, TreeOptions{PSS: true})
	if err != nil || len(got) != 3 {
		t.Fatalf("%d processes, %v", len(got), err)
	}
	page := float64(os.Getpagesize())
	if p := got[0]; p.RSS.Number != 10*page || p.PSS.Number != 8192 || p.PeakRSS.Number != 40960 || p.Name != "a (b) c" {
		t.Errorf("process %+v", p)
	}
	if p := got[1]; p.RSS.Number != 20*page || p.PSS.Known() || !strings.Contains(p.PSS.Gap, "no such file") {
		t.Errorf("without smaps_rollup: %+v", p)
	}
	if p := got[2]; p.RSS.Known() || p.PSS.Known() || !strings.Contains(p.PSS.Gap, "no such field") {
		t.Errorf("with cut files: %+v", p)
	}
	cheap, _ := tree(root, 7, TreeOptions{})
	if cheap[0].PSS.Known() || !strings.Contains(cheap[0].PSS.Gap, "not read with this sample") {
		t.Errorf("PSS was not asked for and is %+v", cheap[0].PSS)
	}
}

func TestFamilyPIDsFindsTheMark(t *testing.T) {
	t.Parallel()
	root := makeProc(t,
		fakeProc{pid: 5, environ: "TUNEBENCH_FAMILY=a\x00"},
		fakeProc{pid: 6, environ: "PATH=/bin\x00TUNEBENCH_FAMILY=a\x00"},
		fakeProc{pid: 7, environ: "TUNEBENCH_FAMILY=ab\x00"},
		fakeProc{pid: 8, environ: "TUNEBENCH_FAMILY=a\x00", state: "Z"},
		fakeProc{pid: 9},
	)
	got, err := familyPIDs(root, "a", 5)
	if diff := cmp.Diff([]int{6}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if _, err := familyPIDs(root, "", 5); err == nil {
		t.Error("an empty token was looked for")
	}
}

func TestTheRealTreeOfThisProcess(t *testing.T) {
	t.Parallel()
	r, err := Source{Root: os.Getpid()}.Read(t.Context(), true)
	if err != nil || r.Processes < 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !r.RSS.Known() || r.RSS.Number < 1<<20 || r.RSS.Number > 1<<40 {
		t.Errorf("RSS %+v", r.RSS)
	}
	if r.PSS.Known() && r.PSS.Number > 2*r.RSS.Number {
		t.Errorf("PSS %+v is far above RSS %+v", r.PSS, r.RSS)
	}
}

func TestCgroupKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cgroup"), "0::/job\n")
	write(t, filepath.Join(dir, "v1"), "4:memory:/job\n")
	write(t, filepath.Join(dir, "bare"), "0::/none\n")
	write(t, filepath.Join(dir, "fs", "job", "memory.events"), "oom 1\noom_kill 3\n")
	if n, err := oomKills(filepath.Join(dir, "cgroup"), filepath.Join(dir, "fs")); n != 3 || err != nil {
		t.Errorf("%d kills, %v", n, err)
	}
	for _, file := range []string{"v1", "bare", "missing"} {
		if n, err := oomKills(filepath.Join(dir, file), filepath.Join(dir, "fs")); err == nil {
			t.Errorf("%s gives %d kills and no error", file, n)
		}
	}
}
