package memory

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"tunebench/internal/metric"
)

// TestFiguresMeetThePublishedTable sets the three memory columns of a results folder
// beside the table that another reporter made of it.
func TestFiguresMeetThePublishedTable(t *testing.T) {
	t.Parallel()
	folder := "../../../shared/peer"
	table, err := os.Open(filepath.Join(folder, "benchmarks.csv"))
	if err != nil {
		t.Skipf("needs %s (results and benchmarks.csv of 24 experiments): %v", folder, err)
	}
	defer table.Close()
	rows, err := csv.NewReader(table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	records := peerRecords(t, folder)
	for _, row := range rows[1:] {
		cells := map[string]string{}
		for i, name := range rows[0] {
			cells[name] = row[i]
		}
		dir, m := findPeer(t, records, cells)
		log, err := os.Open(filepath.Join(dir, "gpu_memory_logs.csv"))
		if err != nil {
			t.Fatal(err)
		}
		nvidia := Nvidia(log, NvidiaOptions{})
		log.Close()
		alloc, peak, _ := Torch(m, StagesSeed)
		for name, got := range map[string]metric.Value{NvidiaReserved: nvidia.Reserved, TorchAllocated: alloc, TorchPeak: peak} {
			if want, err := strconv.ParseFloat(cells[name], 64); err != nil || !got.Known() || got.Number != want {
				t.Errorf("%s: %s is %v (%s), want %s", dir, name, got, got.Gap, cells[name])
			}
		}
	}
}

func peerRecords(t *testing.T, folder string) map[string]metric.Set {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "results", "exp_*", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]metric.Set{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(data, &keys); err != nil {
			t.Fatal(err)
		}
		var m metric.Set
		for name, v := range keys {
			if number, ok := v.(float64); ok {
				m = m.With(name, metric.Of(number))
			}
		}
		out[filepath.Dir(file)] = m
	}
	return out
}

// findPeer finds the experiment of a row by what training measured.
func findPeer(t *testing.T, records map[string]metric.Set, cells map[string]string) (string, metric.Set) {
	t.Helper()
	var dir string
	for d, m := range records {
		matches := true
		for _, name := range []string{"train_runtime", "train_loss", "train_tokens_per_second"} {
			v, _ := m.Get(name)
			want, err := strconv.ParseFloat(cells[name], 64)
			matches = matches && err == nil && v.Known() && v.Number == want
		}
		if matches && dir != "" {
			t.Fatalf("%s and %s both fit a row", dir, d)
		}
		if matches {
			dir = d
		}
	}
	if dir == "" {
		t.Fatalf("no experiment fits the row %v", cells)
	}
	return dir, records[dir]
}
