package report

import (
	"bytes"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"tunebench/internal/outcome"
	"tunebench/internal/table"
)

// TestTheFirstHarnesssTableComesOutOfItsResults compares our benchmarks.csv with the
// one that was made of the same folders by another program, cell by cell.
func TestTheFirstHarnesssTableComesOutOfItsResults(t *testing.T) {
	t.Parallel()
	peer := filepath.Join("..", "..", "..", "shared", "peer")
	data, err := os.ReadFile(filepath.Join(peer, "benchmarks.csv"))
	if err != nil {
		t.Skipf("needs the results of the first harness in %s: %v", peer, err)
	}
	gathered, err := table.Gather([]string{filepath.Join(peer, "results")}, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ours := text(t, func(w io.Writer) error { return Benchmarks(w, gathered, Options{}) })
	want, got := readCSV(t, data), readCSV(t, ours)
	if len(want) != 22 || len(got) != len(want) {
		t.Fatalf("%d lines, want %d (and a reference of 22)", len(got), len(want))
	}
	for i := range want {
		for k := range want[0] {
			if k >= len(got[i]) || !equalCell(want[i][k], got[i][k]) {
				t.Errorf("line %d, column %s: got %q, want %q", i+1, want[0][k], got[i], want[i][k])
			}
		}
	}
	if len(got[0]) != len(want[0]) {
		t.Errorf("columns %q, want %q", got[0], want[0])
	}
	failed := 0
	for _, r := range gathered.Rows {
		if r.Status == outcome.OOM {
			failed++
		}
	}
	if failed != 3 || len(gathered.Rows) != 24 {
		t.Errorf("%d of %d rows are out of memory, want 3 of 24", failed, len(gathered.Rows))
	}
}

func readCSV(t *testing.T, data []byte) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func equalCell(want, got string) bool {
	a, errA := strconv.ParseFloat(want, 64)
	b, errB := strconv.ParseFloat(got, 64)
	if errA == nil && errB == nil {
		return a == b
	}
	return want == got
}
