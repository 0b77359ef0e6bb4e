package host

import (
	"io"
	"strings"
	"testing"

	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

func TestParsersTellAbsentFromZero(t *testing.T) {
	t.Parallel()
	count := func(r io.Reader) (unit.Bytes, bool, error) {
		n, ok, err := ParseOOMKills(r)
		return unit.Bytes(n), ok, err
	}
	for name, tc := range map[string]struct {
		parse func(io.Reader) (unit.Bytes, bool, error)
		text  string
		want  unit.Bytes
		ok    bool
		bad   bool
	}{
		"PSS in kB":                     {ParsePSS, "55-7f ---p 00 00:00 0   [rollup]\nRss:   900 kB\nPss:   334 kB\nPss_Anon:   1 kB\n", 334 * unit.KiB, true, false},
		"a PSS of zero is known":        {ParsePSS, "Pss:   0 kB\n", 0, true, false},
		"no PSS in the text":            {ParsePSS, "Rss:   900 kB\nPss_Dirty:  3 kB\n", 0, false, false},
		"an empty text":                 {ParsePSS, "", 0, false, false},
		"a PSS without its unit":        {ParsePSS, "Pss:   334\n", 0, false, true},
		"a PSS that is no number":       {ParsePSS, "Pss:   -1 kB\n", 0, false, true},
		"a PSS that no machine has":     {ParsePSS, "Pss:   9223372036854775807 kB\n", 0, false, true},
		"the peak of RSS":               {ParsePeakRSS, "Name:\tx\nVmHWM:\t    1752 kB\nVmRSS:\t 17 kB\n", 1752 * unit.KiB, true, false},
		"a kernel thread has no peak":   {ParsePeakRSS, "Name:\tkthreadd\nThreads:\t1\n", 0, false, false},
		"kills":                         {count, "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n", 2, true, false},
		"no kill":                       {count, "oom 0\noom_kill 0\n", 0, true, false},
		"an old kernel counts no kills": {count, "low 0\noom 3\n", 0, false, false},
		"a count that is no number":     {count, "oom_kill many\n", 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok, err := tc.parse(strings.NewReader(tc.text))
			if got != tc.want || ok != tc.ok || (err != nil) != tc.bad {
				t.Errorf("%d, %v, %v; want %d, %v, error %v", got, ok, err, tc.want, tc.ok, tc.bad)
			}
		})
	}
}

func TestParseCgroupFindsTheUnifiedHierarchy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0::/user.slice/x\n":               "/user.slice/x",
		"4:memory:/job\n0::/\n":            "/",
		"4:memory:/job\n1:cpu,cpuacct:/\n": "",
	} {
		if got, ok, err := ParseCgroup(strings.NewReader(text)); got != want || ok != (want != "") || err != nil {
			t.Errorf("%q gives %q, %v, %v", text, got, ok, err)
		}
	}
}

func TestSumIsAGapWhereAPartIsUnknown(t *testing.T) {
	t.Parallel()
	known := Proc{RSS: metric.Of(100), PSS: metric.Of(60)}
	half := Proc{RSS: metric.Of(10), PSS: metric.Missing("permission denied")}
	got := Sum([]Proc{known, half, known})
	if got.Processes != 3 || got.RSS.Number != 210 || got.PSS.Gap != "permission denied" {
		t.Errorf("sum %+v", got)
	}
	if none := Sum(nil); none.RSS.Known() || none.PSS.Known() || none.Processes != 0 {
		t.Errorf("the sum of nothing is %+v", none)
	}
}

func FuzzParsePSS(f *testing.F) {
	f.Add("55-7f ---p 00 00:00 0   [rollup]\nRss:   900 kB\nPss:   334 kB\n")
	f.Add("Pss: kB\n")
	f.Add("Pss:9223372036854775807 kB")
	f.Fuzz(func(t *testing.T, text string) {
		b, ok, err := ParsePSS(strings.NewReader(text))
		switch {
		case ok && err != nil, !ok && b != 0:
			t.Errorf("%d, %v, %v", b, ok, err)
		case ok && (b < 0 || b%unit.KiB != 0 || !strings.Contains(text, "Pss:")):
			t.Errorf("%d of %q", b, text)
		}
	})
}

func FuzzParseOOMKills(f *testing.F) {
	f.Add("low 0\noom 3\noom_kill 2\n")
	f.Add("oom_kill -1\n")
	f.Add("oom_kill 4294967296\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, ok, err := ParseOOMKills(strings.NewReader(text))
		switch {
		case ok && err != nil, !ok && n != 0:
			t.Errorf("%d, %v, %v", n, ok, err)
		case ok && (n < 0 || !strings.Contains(text, "oom_kill")):
			t.Errorf("%d of %q", n, text)
		}
	})
}
