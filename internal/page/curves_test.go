package page

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/curve"
	"tunebench/internal/table"
)

func TestASeriesIsSpelledInDifferences(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	c := curve.Curve{Name: "device 0", Points: []curve.Point{{T: -.005, V: 100 * kib}, {T: .015, V: 100*kib + 900}, {T: .0154, V: 50 * kib}, {T: 40, V: 70 * kib}}}
	want := series{Name: "device 0", X: []int64{-5, 20, 0, 39985}, Y: []int64{100, 0, -50, 20}}
	if diff := cmp.Diff(want, makeSeries(c, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThePointsOfAPageAreSharedAmongItsCurves(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int]int{1: curve.Limit, 50: curve.Limit, 500: 399, 100_000: leastPoints} {
		if got := pointsOfEach(table.Table{Rows: make([]table.Row, rows)}); got != want {
			t.Errorf("%d rows: %d points of each curve, want %d", rows, got, want)
		}
	}
}
