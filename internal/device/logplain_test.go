package device

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bothWays reads a log as ReadLog does and once more without the short way of plain rows.
func bothWays(t interface{ Errorf(string, ...any) }, text string) {
	read := func(slow bool) (readings []Reading, notes LogNotes) {
		notes, err := readLog(strings.NewReader(text), logReader{
			slow: slow, each: func(r Reading) { readings = append(readings, r) },
		})
		if err != nil {
			t.Errorf("read %q: %v", text, err)
		}
		return readings, notes
	}
	readings, notes := read(false)
	slowReadings, slowNotes := read(true)
	if diff := cmp.Diff(slowReadings, readings); diff != "" {
		t.Errorf("readings of %q (-slow +plain):\n%s", text, diff)
	}
	if diff := cmp.Diff(slowNotes, notes); diff != "" {
		t.Errorf("notes of %q (-slow +plain):\n%s", text, diff)
	}
	for i := range readings {
		if readings[i].Time != slowReadings[i].Time {
			t.Errorf("reading %d: time %#v, read the slow way %#v", i, readings[i].Time, slowReadings[i].Time)
		}
	}
}

func TestPlainRowsAreReadAsAllRowsAre(t *testing.T) {
	t.Parallel()
	const first = "2025/03/04 10:00:01.101, NVIDIA L4, 0, 3 MiB\n"
	for name, rows := range map[string]string{
		"a second past the minute":       "2025/03/04 10:00:60.101, NVIDIA L4, 0, 4 MiB\n",
		"a minute past the hour":         "2025/03/04 10:60:01.101, NVIDIA L4, 0, 4 MiB\n",
		"a day that no month has":        "2025/02/30 10:00:01.101, NVIDIA L4, 0, 4 MiB\n",
		"a day that only leap years do":  "2024/02/29 23:59:59.999, NVIDIA L4, 0, 4 MiB\n2024/03/01 00:00:00.000, NVIDIA L4, 0, 4 MiB\n",
		"an hour of one digit":           "2025/03/04  9:00:01.101, NVIDIA L4, 0, 4 MiB\n",
		"a longer fraction":              "2025/03/04 10:00:01.101202, NVIDIA L4, 0, 4 MiB\n",
		"no fraction":                    "2025/03/04 10:00:01, NVIDIA L4, 0, 4 MiB\n",
		"another name of the device":     "2025/03/04 10:00:01.101, NVIDIA L40, 0, 4 MiB\n",
		"a name that is a cell":          "2025/03/04 10:00:01.101, 0, 4 MiB\n",
		"a name with commas and numbers": "2025/03/04 10:00:01.101, X, 1, 2 MiB, 7, 5 MiB\n2025/03/04 10:00:01.101, X, 1, 2 MiB, 7, 6 MiB\n",
		"a name that is a header":        "2025/03/04 10:00:01.101, index, memory.used, 0, 4 MiB\n1, 2, 3, 4, 5\n",
		"an empty name":                  "2025/03/04 10:00:01.101, , 2, 4 MiB\n2025/03/04 10:00:01.101, , 2, 4 MiB\n",
		"a device not seen before":       "2025/03/04 10:00:01.101, NVIDIA L4, 1, 4 MiB\n2025/03/04 10:00:01.101, NVIDIA L4, 1, 4 MiB\n",
		"leading zeros":                  "2025/03/04 10:00:01.101, NVIDIA L4, 000, 0004 MiB\n",
		"a number of many digits":        "2025/03/04 10:00:01.101, NVIDIA L4, 0, 9999999999 MiB\n",
		"a number with a sign":           "2025/03/04 10:00:01.101, NVIDIA L4, +0, +4 MiB\n",
		"no number":                      "2025/03/04 10:00:01.101, NVIDIA L4, 0,  MiB\n",
		"another unit":                   "2025/03/04 10:00:01.101, NVIDIA L4, 0, 4 GiB\n",
		"a gap":                          "2025/03/04 10:00:01.101, NVIDIA L4, 0, [N/A]\n",
		"spaces around":                  " 2025/03/04 10:00:01.101 ,  NVIDIA L4 ,  0,  4 MiB \r\n",
		"a last row without its end":     "2025/03/04 10:00:01.101, NVIDIA L4, 0, 4 MiB",
		"another header between":         "index, timestamp, name, memory.used [GiB]\n0, 2025/03/04 10:00:01.101, NVIDIA L4, 4 GiB\n" + first,
		"a header in another unit":       "timestamp, name, index, memory.used [B]\n" + first,
		"an error between":               "Unable to determine the device handle for GPU 0000:41:00.0\n" + first,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, header+first+rows)
			bothWays(t, header+first+rows+first)
		})
	}
}

func TestLogsAreReadTheSameBothWays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, from ...string) string { return rapid.SampledFrom(from).Draw(t, name) }
		text := header
		for range rapid.IntRange(0, 20).Draw(t, "rows") {
			at := time.Date(2025, 3, 4, 23, 58, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, 3e11).Draw(t, "ns")))
			text += fmt.Sprintf("%s%s%s%s%d%s%d%s%s", at.Format(pick("stamp", "2006/01/02 15:04:05.000", "2006/01/02 15:04:05.00", timeLayout)),
				pick("comma", ", ", ", ", ","), pick("name", "NVIDIA L4", "A, B", "A, B ", ""), pick("comma", ", ", ", ", ",  "),
				rapid.IntRange(-1, 3).Draw(t, "index"), pick("comma", ", ", ", ", ","),
				rapid.Int64().Draw(t, "amount")>>rapid.IntRange(0, 63).Draw(t, "shift"),
				pick("unit", " MiB", " MiB", " KiB", "", " XB"), pick("end", "\n", "\n", "\r\n", "\n"+header))
		}
		bothWays(t, text)
	})
}

//nolint:paralleltest // what other tests allocate meanwhile would be counted
func TestPlainRowsCostNoMemoryEach(t *testing.T) {
	const row = "2025/03/04 10:00:01.101, NVIDIA L4, 0, 21501 MiB\n"
	reads := func(rows int) float64 {
		text := header + strings.Repeat(row, rows)
		return testing.AllocsPerRun(5, func() {
			if _, err := ReadLog(strings.NewReader(text), func(Reading) {}); err != nil {
				t.Fatal(err)
			}
		})
	}
	const buffer = 2 // the lent buffer with its reader, where it was collected meanwhile
	if few, many := reads(10), reads(10_000); many > few+buffer {
		t.Errorf("%v allocations for 10 rows and %v for 10,000, want no more", few, many)
	}
}

func FuzzPlainRows(f *testing.F) {
	for _, seed := range []string{
		"2025/03/04 10:00:01.101, X, 0, 100 MiB\n2025/03/04 10:00:01.201, X, 0, 100 MiB\n",
		"2025/03/04 10:00:01.101, A, B, 0, 100 MiB\n2025/03/04  9:00:01.101, A, B, 0, 1 MiB\n",
		"2025/03/04 10:00:01.101, , 0, 1 MiB\n2025/03/04 10:00:61.101, , 0, 1 MiB\n", header,
		"2025/03/04 10:00:01.101, A, 0, 1 MiB\n2025/03/04 10:00:01.101, A, 0, 2, 5 MiB\n2025/03/04 10:00:01.101, A, 0, 2, 6 MiB\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rows string) {
		const first = "2025/03/04 10:00:01.101, X, 0, 3 MiB\n2025/03/04 10:00:01.101, A, B, 1, 3 MiB\n"
		bothWays(t, header+first+rows)
		bothWays(t, header+rows)
	})
}

func BenchmarkReadLog(b *testing.B) {
	var text strings.Builder
	text.WriteString(header)
	at := time.Date(2025, 3, 4, 10, 0, 0, 0, time.UTC)
	for i := range 100_000 {
		fmt.Fprintf(&text, "%s, NVIDIA A100-SXM4-80GB, %d, %d MiB\n", at.Format("2006/01/02 15:04:05.000"), i%2, 300+i*7919%40000)
		at = at.Add(500 * time.Millisecond)
	}
	for _, way := range []struct {
		name string
		slow bool
	}{{"plain", false}, {"slow", true}} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				n := 0
				if _, err := readLog(strings.NewReader(text.String()), logReader{slow: way.slow, each: func(Reading) { n++ }}); err != nil || n != 100_000 {
					b.Fatalf("%d readings, %v", n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/row")
		})
	}
}
