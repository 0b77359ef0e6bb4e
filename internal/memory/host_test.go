package memory

import (
	"strings"
	"testing"

	"tunebench/internal/metric"
)

func TestHostFindsThePeaks(t *testing.T) {
	t.Parallel()
	const head = "timestamp,processes,rss_bytes,pss_bytes\n"
	unknown := metric.Missing("not measured")
	for name, tc := range map[string]struct {
		log      string
		max      metric.Value
		pss, rss string
		samples  int
		doubt    string
	}{
		"peaks of both":                     {head + "t,2,100,70\nt,3,300,200\nt,3,200,150\n", unknown, "200", "300", 3, ""},
		"PSS is not read at the peak":       {head + "t,2,100,70\nt,3,300,\n", unknown, "70", "300", 2, "lower bound of PSS: it was last read at an RSS of 100 B, and RSS rose to 300 B"},
		"PSS is read less often":            {head + "t,2,300,70\nt,3,301,\nt,3,299,\n", unknown, "70", "301", 3, ""},
		"PSS cannot be read":                {head + "t,2,100,\nt,2,200,\n", unknown, "gap: PSS could be read in none of 2 samples", "200", 2, ""},
		"no sample":                         {head, unknown, "gap: never sampled", "gap: never sampled", 0, ""},
		"an empty log":                      {"", unknown, "gap: never sampled", "gap: never sampled", 0, ""},
		"the tree is gone at the end":       {head + "t,2,100,70\nt,0,,\n", unknown, "70", "100", 2, ""},
		"a process that is gone has none":   {head + "t,1,0,\nt,1,0,0\n", unknown, "gap: PSS was read of processes only that had ended already", "gap: RSS was read of processes only that had ended already", 2, ""},
		"the kernel knows it all the same":  {head + "t,1,0,0\n", metric.Of(4096), "gap: PSS was read of processes only", "4096", 1, "the tree was never sampled"},
		"what is no log at all":             {"\x00\xff,junk\nmore\n", unknown, "gap: none of the 2 lines of the host's log is a sample", "gap: none of the 2 lines", 0, ""},
		"a line that is too long for a row": {head + strings.Repeat("9", 1<<20) + ",1,1,1\nt,2,100,70\n", unknown, "70", "100", 1, ""},
		"a row that is cut and too long":    {head + "t,2,100,70\n" + strings.Repeat("9,", 1<<19), unknown, "70", "100", 1, ""},
		"a cut row is no data":              {head + "t,2,100,70\nt,2,900,80", unknown, "70", "100", 1, ""},
		"columns in another place":          {"pss_bytes,rss_bytes,more\n5,6,x\n", unknown, "5", "6", 1, ""},
		"the kernel saw more":               {head + "t,1,1048576,1048576\n", metric.Of(3145728), "1048576", "3145728", 1, "lower bound: the sampled peak RSS of 1.00 MiB missed the kernel's own peak of one process, 3.00 MiB, which stands"},
		"the kernel saw no more":            {head + "t,1,1000,1000\n", metric.Of(1000), "1000", "1000", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Host(strings.NewReader(tc.log), tc.max)
			same(t, "PSS", got.PeakPSS, tc.pss)
			same(t, "RSS", got.PeakRSS, tc.rss)
			if text := strings.Join(got.Doubts, "\n"); !strings.Contains(text, tc.doubt) || (tc.doubt == "") != (text == "") {
				t.Errorf("doubts %q, want %q", text, tc.doubt)
			}
			if got.Samples != tc.samples {
				t.Errorf("%d samples, want %d", got.Samples, tc.samples)
			}
		})
	}
}

func FuzzHost(f *testing.F) {
	f.Add("timestamp,processes,rss_bytes,pss_bytes\nt,2,100,70\n")
	f.Add("rss_bytes\n-1\n9223372036854775807\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := Host(strings.NewReader(text), metric.Missing("not measured"))
		if got.Samples > strings.Count(text, "\n") {
			t.Errorf("%d samples of %q", got.Samples, text)
		}
		for _, v := range []metric.Value{got.PeakPSS, got.PeakRSS} {
			if v.Known() && (v.Number < 0 || got.Samples == 0) {
				t.Errorf("peak %v of %d samples", v, got.Samples)
			}
		}
	})
}
