package page

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tunebench/internal/table"
)

// TestThinningKeepsWhatAReaderLooksFor holds the thinner to its promise on any series: few
// points, all of them of the series and in its order, the ends and the extremes among them.
func TestThinningKeepsWhatAReaderLooksFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 60).Draw(t, "limit")
		values := rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 3000).Draw(t, "values")
		thin := newThinner(limit)
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for i, v := range values {
			thin.add(point{ms: int64(i), kib: v})
			low, high = min(low, v), max(high, v)
		}
		got := thin.points()
		if len(got) > max(limit, 8) {
			t.Fatalf("%d points, at most %d", len(got), max(limit, 8))
		}
		if got[0].ms != 0 || got[len(got)-1].ms != int64(len(values)-1) {
			t.Fatalf("from %d to %d of %d", got[0].ms, got[len(got)-1].ms, len(values))
		}
		gotLow, gotHigh := int64(math.MaxInt64), int64(math.MinInt64)
		for i, p := range got {
			if values[p.ms] != p.kib || i > 0 && p.ms <= got[i-1].ms {
				t.Fatalf("point %d is %+v", i, p)
			}
			gotLow, gotHigh = min(gotLow, p.kib), max(gotHigh, p.kib)
		}
		if gotLow != low || gotHigh != high {
			t.Fatalf("from %d to %d, want %d to %d", gotLow, gotHigh, low, high)
		}
	})
}

func TestAShortSeriesIsNotThinned(t *testing.T) {
	t.Parallel()
	thin := newThinner(100)
	for i := range int64(20) {
		thin.add(point{ms: i, kib: i % 3})
	}
	if got := len(thin.points()); got != 20 {
		t.Errorf("%d points of 20", got)
	}
}

func TestASeriesIsSpelledInDifferences(t *testing.T) {
	t.Parallel()
	got := newSeries("device 0", false, []point{{5, 100}, {15, 100}, {12, 50}, {40, 70}})
	want := series{Name: "device 0", X: []int64{5, 10, 0, 25}, Y: []int64{100, 0, -50, 20}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series with a clock that was set back (-want +got):\n%s", diff)
	}
}

func TestThePointsOfAPageAreSharedAmongItsSeries(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int]int{1: maxPoints, 50: maxPoints, 500: 399, 100_000: leastPoints} {
		if got := pointsOfEach(table.Table{Rows: make([]table.Row, rows)}); got != want {
			t.Errorf("%d rows: %d points of each series, want %d", rows, got, want)
		}
	}
}

func FuzzHostLog(f *testing.F) {
	for _, seed := range []string{
		"timestamp,processes,rss_bytes,pss_bytes\n2026-12-01T05:09:15.012Z,1,8429568,6476800\n2026-12-01T05:09:15.113Z,1,21733376,\n",
		"rss_bytes,timestamp\n5,2026-12-01T05:09:15Z\n", "rss_bytes\n5\n", "timestamp,rss_bytes\n2026-12-01T05:09:15Z,-5\n", strings.Repeat("x", 70_000) + "\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := newHost(20)
		if err := h.read(strings.NewReader(text)); err != nil {
			t.Fatalf("reading from memory: %v", err)
		}
		for _, s := range h.series() {
			if len(s.X) != len(s.Y) || len(s.X) == 0 || len(s.X) > 20 {
				t.Errorf("%s has %d times and %d values", s.Name, len(s.X), len(s.Y))
			}
			if len(s.X) > 1 && slices.Min(s.X[1:]) < 0 {
				t.Errorf("%s goes back in time: %v", s.Name, s.X)
			}
			sum := int64(0)
			for _, d := range s.Y {
				if sum += d; sum < 0 {
					t.Errorf("%s falls below 0: %v", s.Name, s.Y)
				}
			}
		}
	})
}
