package curve

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	deviceHeader = "timestamp, name, index, memory.used [MiB]\n"
	hostHeader   = "timestamp,processes,rss_bytes,pss_bytes\n"
	mib          = 1 << 20
)

func deviceRow(at time.Time, index, used int) string {
	return fmt.Sprintf("%s, Card, %d, %d MiB\n", at.Format("2006/01/02 15:04:05.000"), index, used)
}

func noon() time.Time { return time.Date(2025, 3, 4, 12, 0, 0, 0, time.UTC) }

func TestDevicesReadsACurveForEachDevice(t *testing.T) {
	t.Parallel()
	log := deviceHeader +
		"2025/03/04 12:00:00.500, NVIDIA L4, 1, 7 MiB\n" +
		"2025/03/04 12:00:00.500, Other, card, 0, 3 MiB\n" +
		"2025/03/04 12:00:02.000, NVIDIA L4, 1, [N/A]\n" +
		"2025/03/04 12:00:03.750, NVIDIA L4, 1, 9 MiB\n" +
		"2025/03/04 11:59:00.000, NVIDIA L4, 1, 2 MiB\n" +
		"2025/03/04 12:00:09.000, NVIDIA L4, 1, 99"
	got, first, err := Devices(strings.NewReader(log), Limit)
	if err != nil {
		t.Fatal(err)
	}
	want := []Curve{
		{Name: "device 0", Model: "Other, card", Rows: 1, Points: []Point{{0, 3 * mib}}},
		{Name: "device 1", Model: "NVIDIA L4", Rows: 3, Points: []Point{{0, 7 * mib}, {3.25, 9 * mib}, {3.25, 2 * mib}},
			Doubt: "1 of 4 readings of device 1 are no numbers: [N/A]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := time.Date(2025, 3, 4, 12, 0, 0, 5e8, time.UTC); !first.Equal(want) {
		t.Errorf("first row at %v, want %v", first, want)
	}
}

func TestWhatIsMissingOfALogIsSaid(t *testing.T) {
	t.Parallel()
	row := deviceRow(noon(), 0, 3)
	for name, tc := range map[string]struct {
		log  io.Reader
		want string
	}{
		"nothing":              {strings.NewReader(deviceHeader + row), ""},
		"a device that fell":   {strings.NewReader(deviceHeader + row + "GPU is lost\n"), "the log ends with: GPU is lost"},
		"a disk that broke":    {io.MultiReader(strings.NewReader(deviceHeader+row), iotest.ErrReader(errors.New("disk gone"))), "the log could not be read to its end: disk gone"},
		"times":                {strings.NewReader("index, memory.used [MiB]\n0, 3 MiB\n0, 4 MiB\n"), "the log has rows without a time: they are put a second apart"},
		"devices of a kilorow": {strings.NewReader(deviceHeader + manyDevices()), "the log names 1000 devices, of which 256 are kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, _ := Devices(tc.log, Limit)
			if len(got) == 0 || got[0].Doubt != tc.want {
				t.Errorf("curves %+v, want the first to say %q", got, tc.want)
			}
		})
	}
}

func manyDevices() string {
	var rows strings.Builder
	for i := range 1000 {
		rows.WriteString(deviceRow(noon(), i, 1))
	}
	return rows.String()
}

func TestRowsWithoutTimesAreASecondApart(t *testing.T) {
	t.Parallel()
	got, _, err := Devices(strings.NewReader("index, memory.used [MiB]\n0, 3 MiB\n0, 4 MiB\n0, 5 MiB\n"), Limit)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d curves, %v", len(got), err)
	}
	if diff := cmp.Diff([]Point{{0, 3 * mib}, {1, 4 * mib}, {2, 5 * mib}}, got[0].Points); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostReadsBothCounts(t *testing.T) {
	t.Parallel()
	both := []Curve{
		{Name: "host PSS", Rows: 1, Points: []Point{{1.5, 70}}},
		{Name: "host RSS", Rows: 2, Points: []Point{{0, 100}, {1.5, 90}}},
	}
	for name, tc := range map[string]struct {
		log  string
		want []Curve
	}{
		"a cell that is not known is no point": {hostHeader + "2025-03-04T12:00:00.000Z,2,100,\n2025-03-04T12:00:01.500Z,2,90,70\n", both},
		"half a row at the end is no data":     {hostHeader + "2025-03-04T12:00:00.000Z,2,100,\n2025-03-04T12:00:01.500Z,2,90,70\n2025-03-04T12:00:02.000Z,2,80,6", both},
		"columns are found by name":            {"pss_bytes,timestamp,rss_bytes\n,2025-03-04T12:00:00Z,100\n70,2025-03-04T12:00:01.5Z,90\n", both},
		"zones are heeded":                     {hostHeader + "2025-03-04T13:00:00+01:00,2,100,\n2025-03-04T12:00:01.500Z,2,90,70\n", both},
		"other lines are passed by":            {"hello\n" + hostHeader + "x,y\n,,,\n2025-03-04T12:00:00.000Z,2,100,-4\n" + strings.Repeat("9", 1<<14) + "\n2025-03-04T12:00:01.500Z,2,90,70\n", both},
		"no header, no data":                   {"2025-03-04T12:00:00.000Z,2,100,\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, first, err := Host(strings.NewReader(tc.log), Limit)
			if err != nil || tc.want != nil && !first.Equal(noon()) {
				t.Errorf("first row at %v, error %v", first, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestThePeakIsTheFirstOfTheHighest(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		points []Point
		want   Point
	}{
		"one point":              {[]Point{{3, 7}}, Point{3, 7}},
		"a level that is held":   {[]Point{{0, 1}, {2, 9}, {3, 9}, {4, 2}}, Point{2, 9}},
		"a level that came back": {[]Point{{0, 1}, {2, 9}, {3, 4}, {4, 9}}, Point{2, 9}},
		"nothing held":           {[]Point{{0, 0}, {1, 0}}, Point{0, 0}},
	} {
		if got := (Curve{Points: tc.points}).Peak(); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestApartLeavesOutTheZone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		local time.Time
		want  time.Duration
	}{
		"no zone":                  {noon(), 0},
		"two hours east, later":    {noon().Add(2*time.Hour + 3*time.Second), 3 * time.Second},
		"Nepal, earlier":           {noon().Add(5*time.Hour + 45*time.Minute - time.Second), -time.Second},
		"west":                     {noon().Add(-8*time.Hour + 20*time.Millisecond), 20 * time.Millisecond},
		"a log without a time":     {time.Time{}, 0},
		"seven minutes are a fact": {noon().Add(7 * time.Minute), 7 * time.Minute},
	} {
		if got := Apart(tc.local, noon()); got != tc.want {
			t.Errorf("%s: %v apart, want %v", name, got, tc.want)
		}
	}
}

func TestThinningKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 60).Draw(t, "limit")
		values := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 600).Draw(t, "values")
		thin := newThinner(limit)
		var in []Point
		for i, v := range values {
			p := Point{T: float64(i / 3), V: float64(v)} // some moments are of several points
			in = append(in, p)
			thin.add(p)
		}
		got := thin.points()
		if len(got) > max(limit, minPoints) || thin.rows != len(in) {
			t.Fatalf("%d points of %d rows, the limit is %d", len(got), thin.rows, limit)
		}
		if len(in) <= max(limit, minPoints) {
			if diff := cmp.Diff(in, got); diff != "" {
				t.Fatalf("there was room for all (-in +got):\n%s", diff)
			}
		}
		if got[0] != in[0] || got[len(got)-1] != in[len(in)-1] {
			t.Fatalf("from %v to %v, want from %v to %v", got[0], got[len(got)-1], in[0], in[len(in)-1])
		}
		if lowest(got) != lowest(in) || highest(got) != highest(in) {
			t.Fatalf("from %v to %v, want from %v to %v", lowest(got), highest(got), lowest(in), highest(in))
		}
		if !within(in, got) {
			t.Fatalf("%v is not some of %v in their order", got, in)
		}
	})
}

// TestASpikeOfOneRowIsNeverLost puts a spike of one row at each place in turn.
func TestASpikeOfOneRowIsNeverLost(t *testing.T) {
	t.Parallel()
	for at := range 1000 {
		thin := newThinner(40)
		for i := range 1000 {
			v := 10.0
			if i == at {
				v = float64(11 - 2*(at%2)) // up, then down
			}
			thin.add(Point{T: float64(i), V: v})
		}
		found := false
		for _, p := range thin.points() {
			found = found || p.T == float64(at) && p.V != 10
		}
		if !found {
			t.Errorf("the spike in row %d is lost", at)
		}
	}
}

func lowest(points []Point) float64 {
	v := points[0].V
	for _, p := range points {
		v = min(v, p.V)
	}
	return v
}

func highest(points []Point) float64 {
	v := points[0].V
	for _, p := range points {
		v = max(v, p.V)
	}
	return v
}

// within reports whether part is whole with some of its points left out.
func within(whole, part []Point) bool {
	for _, p := range whole {
		if len(part) > 0 && part[0] == p {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// checkCurves holds curves to what is true of any log.
func checkCurves(t *testing.T, curves []Curve, first time.Time, limit, lines int) {
	t.Helper()
	rows := 0
	for _, c := range curves {
		rows = max(rows, c.Rows)
		if len(c.Points) == 0 || len(c.Points) > max(limit, minPoints) || len(c.Points) > c.Rows {
			t.Errorf("%s: %d points of %d rows, the limit is %d", c.Name, len(c.Points), c.Rows, limit)
		}
		last := Point{}
		for _, p := range c.Points {
			if p.T < last.T || p.V < 0 {
				t.Errorf("%s: %v follows %v", c.Name, p, last)
			}
			last = p
		}
		if first.IsZero() && c.Doubt == "" {
			t.Errorf("%s: no time and no word on it", c.Name)
		}
	}
	if rows > lines {
		t.Errorf("%d rows of %d lines", rows, lines)
	}
}

func FuzzDevices(f *testing.F) {
	f.Add(deviceHeader+deviceRow(noon(), 0, 3)+deviceRow(noon(), 1, 4)+deviceRow(noon().Add(-1), 0, 5), 8)
	f.Add("index, memory.used\n0, 1\n0, 2\n1, 3\n", 0)
	f.Add(deviceHeader+strings.Repeat(deviceRow(noon(), 2, 3), 30)+"GPU is lost\n", 9)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit %= 100
		curves, first, err := Devices(strings.NewReader(text), limit)
		if err != nil {
			t.Fatal(err)
		}
		checkCurves(t, curves, first, limit, strings.Count(text, "\n"))
	})
}

func FuzzHost(f *testing.F) {
	f.Add(hostHeader+"2025-03-04T12:00:00.000Z,2,100,50\n2025-03-04T12:00:01.500Z,2,90,\n", 8)
	f.Add("pss_bytes,timestamp,rss_bytes\n,2025-03-04T12:00:00Z,100\n", -3)
	f.Add(hostHeader+strings.Repeat("2025-03-04T12:00:00.000+23:59,2,7,9223372036854775807\n", 20), 10)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit %= 100
		curves, first, err := Host(strings.NewReader(text), limit)
		if err != nil {
			t.Fatal(err)
		}
		checkCurves(t, curves, first, limit, strings.Count(text, "\n"))
	})
}

// BenchmarkDevices shows that what a curve costs does not depend on how long its log is.
func BenchmarkDevices(b *testing.B) {
	var log strings.Builder
	log.WriteString(deviceHeader)
	for i := range 200_000 {
		log.WriteString(deviceRow(noon().Add(time.Duration(i)*100*time.Millisecond), i%2, i*7919%80_000))
	}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if curves, _, err := Devices(strings.NewReader(log.String()), Limit); err != nil || len(curves) != 2 {
			b.Fatalf("%d curves, %v", len(curves), err)
		}
	}
}

func BenchmarkHost(b *testing.B) {
	var log strings.Builder
	log.WriteString(hostHeader)
	for i := range 200_000 {
		at := noon().Add(time.Duration(i) * 100 * time.Millisecond)
		fmt.Fprintf(&log, "%s,3,%d,%d\n", at.Format("2006-01-02T15:04:05.000Z"), 1<<30+i*4096, 1<<29+i*2048)
	}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if curves, _, err := Host(strings.NewReader(log.String()), Limit); err != nil || len(curves) != 2 {
			b.Fatalf("%d curves, %v", len(curves), err)
		}
	}
}
