package page_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tunebench/internal/page"
	"tunebench/internal/table"
)

// The goal of the benchmark, as a ratio to cat of the same files.
const catGoal = 10

// benchRounds is how often the two sides of the ratio take turns; medians are compared.
const benchRounds = 3

// BenchmarkPageAgainstCat gathers 500 experiments with 10 million readings of their devices
// and host, and writes their page. The yardstick is cat of the same files into a pipe.
func BenchmarkPageAgainstCat(b *testing.B) {
	dir := b.TempDir()
	const experiments, readings = 500, 10_000_000
	inputs := writeMany(b, dir, experiments, readings/experiments)
	var cat, written []time.Duration
	var size int64
	for b.Loop() {
		for range benchRounds {
			began := time.Now()
			if out, err := exec.Command("sh", "-c", "cat "+dir+"/exp_*/* | cat >/dev/null").CombinedOutput(); err != nil {
				b.Fatalf("cat: %v: %s", err, out)
			}
			cat = append(cat, time.Since(began))
			began = time.Now()
			size = writePage(b, dir)
			written = append(written, time.Since(began))
		}
	}
	b.ReportMetric(float64(middle(written))/float64(middle(cat)), "x-cat")
	b.ReportMetric(catGoal, "x-cat-goal")
	b.ReportMetric(float64(size)/1e6, "MB")
	b.ReportMetric(pageGoal/1e6, "MB-goal")
	b.ReportMetric(float64(inputs)/1e6, "input-MB")
	b.ReportMetric(float64(middle(cat).Milliseconds()), "cat-ms")
	b.ReportMetric(float64(middle(written).Milliseconds()), "page-ms")
	b.ReportMetric(0, "ns/op") // of both sides together; it says nothing
}

func middle(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// writePage makes the page as the command does, from the folder to the file.
func writePage(b *testing.B, dir string) int64 {
	b.Helper()
	gathered, err := table.Gather([]string{dir}, table.Options{})
	if err != nil {
		b.Fatal(err)
	}
	file, err := os.Create(filepath.Join(b.TempDir(), page.FileName))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if err := page.Write(file, gathered, page.Options{}); err != nil {
		b.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// writeMany makes experiments of two devices, with a reading of the host for each four of
// the devices, and returns the bytes of their files.
func writeMany(b *testing.B, dir string, experiments, readings int) (bytes int64) {
	b.Helper()
	host := readings / 5
	var devices, hosts strings.Builder
	devices.WriteString("timestamp, name, index, memory.used [MiB]\n")
	for i := range readings - host {
		at := started().Add(time.Duration(i/2) * 100 * time.Millisecond)
		fmt.Fprintf(&devices, "%s, NVIDIA H200, %d, %d MiB\n", at.Format("2006/01/02 15:04:05.000"), i%2, 300+i*7919%140_000)
	}
	hosts.WriteString("timestamp,processes,rss_bytes,pss_bytes\n")
	for i := range host {
		at := started().Add(time.Duration(i) * 200 * time.Millisecond)
		fmt.Fprintf(&hosts, "%s,3,%d,%d\n", at.Format("2006-01-02T15:04:05.000Z"), 1<<33+i*4096, 1<<32+i*7919%1000*4096)
	}
	for i := range experiments {
		folder := filepath.Join(dir, fmt.Sprintf("exp_%d", i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		for name, text := range map[string]string{
			"gpu_memory_logs.csv": devices.String(), "host_memory_logs.csv": hosts.String(),
			"results.json": fmt.Sprintf(`{"num_gpus": 2, "model_name_or_path": "model-%d", "peft_method": "lora", "per_device_train_batch_size": "%d", "train_loss": 1.5, "train_runtime": 100, "train_tokens_per_second": %d}`, i/8, 1<<(i%8), 1000+i),
		} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}
