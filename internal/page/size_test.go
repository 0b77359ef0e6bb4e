package page_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tunebench/internal/outcome"
	"tunebench/internal/page"
)

// pageGoal is the most that a page of 500 experiments may take, in bytes.
const pageGoal = 15e6

// TestAPageOf500ExperimentsIsOfAFewMegabytes fills each curve with as many points as it may
// have, none like the one before, and each experiment with a log's end as long as it may be.
func TestAPageOf500ExperimentsIsOfAFewMegabytes(t *testing.T) {
	t.Parallel()
	for name, devices := range map[string]int{"one device": 1, "eight devices": 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			const experiments = 500
			run{model: "some/model", method: "lora", batch: "4", status: outcome.Error, reason: "broken", stderr: strings.Repeat("a line of an error with \"quotes\" and more\n", 200)}.write(t, dir, 0)
			put(t, filepath.Join(dir, "exp_0"), "gpu_memory_logs.csv", restlessDevices(devices, 1000))
			put(t, filepath.Join(dir, "exp_0"), "host_memory_logs.csv", restlessHost(1000))
			for i := 1; i < experiments; i++ {
				again(t, filepath.Join(dir, "exp_0"), filepath.Join(dir, fmt.Sprintf("exp_%d", i)))
			}
			var out bytes.Buffer
			if err := page.Write(&out, gather(t, dir), page.Options{}); err != nil {
				t.Fatal(err)
			}
			if got := len(rows(t, out.String())); got != experiments {
				t.Errorf("%d rows, want %d", got, experiments)
			}
			if out.Len() > pageGoal || out.Len() < pageGoal/4 {
				t.Errorf("the page is of %.1f MB, want at most %.0f, and some, since its curves are full", float64(out.Len())/1e6, pageGoal/1e6)
			}
		})
	}
}

// again makes a folder of the same files.
func again(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"results.json", "gpu_memory_logs.csv", "host_memory_logs.csv", "stderr"} {
		if err := os.Link(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// restlessDevices is a log with that many rows of each device, up and down over all of it.
func restlessDevices(devices, rows int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var out strings.Builder
	out.WriteString("timestamp, name, index, memory.used [MiB]\n")
	at := started()
	for range rows {
		for d := range devices {
			fmt.Fprintf(&out, "%s, NVIDIA H200, %d, %d MiB\n", at.Format("2006/01/02 15:04:05.000"), d, random.IntN(140_000))
		}
		at = at.Add(time.Duration(1000+random.IntN(90_000)) * time.Millisecond)
	}
	return out.String()
}

func restlessHost(rows int) string {
	random := rand.New(rand.NewPCG(3, 4))
	var out strings.Builder
	out.WriteString("timestamp,processes,rss_bytes,pss_bytes\n")
	at := started()
	for range rows {
		fmt.Fprintf(&out, "%s,9,%d,%d\n", at.Format("2006-01-02T15:04:05.000Z"), random.IntN(1<<37), random.IntN(1<<37))
		at = at.Add(time.Duration(1000+random.IntN(90_000)) * time.Millisecond)
	}
	return out.String()
}
