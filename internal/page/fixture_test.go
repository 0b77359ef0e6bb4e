package page_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/page"
	"tunebench/internal/record"
	"tunebench/internal/table"
)

// run is one experiment of a test's results folder.
type run struct {
	model, method, batch string
	status               outcome.Status
	speed                float64
	peak                 int // MiB
	samples              int
	stderr               string
	reason               string
	device               string
	watched              bool // by NVML, with the probe inside
}

// started is when every run of the tests began.
func started() time.Time { return time.Date(2026, 12, 1, 5, 9, 15, 0, time.UTC) }

// write makes exp_n below dir.
func (r run) write(t *testing.T, dir string, n int) {
	t.Helper()
	name := fmt.Sprintf("exp_%d", n)
	folder := filepath.Join(dir, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	code := 0
	rec := record.Record{
		Version: record.Version, Tunebench: "test", Hostname: "bench-1", Started: started(), Duration: 20 * time.Second,
		Experiment: experiment.Experiment{
			Version: 1, ID: "id-" + name, Name: name, Scenario: "fixture", Trial: 1, Trainer: "hf", NumGPUs: 1,
			Settings: []experiment.Setting{
				{Name: "model_name_or_path", Values: []string{r.model}}, {Name: "peft_method", Values: []string{r.method}},
				{Name: "per_device_train_batch_size", Values: []string{r.batch}},
			},
		},
		Outcome: outcome.Outcome{Status: r.status, Reason: r.reason, Ending: outcome.Ending{ExitCode: &code}},
		Host:    record.Host{MaxRSSOneProcess: metric.Missing("not waited for")},
	}
	if r.status == outcome.OK {
		rec.Metrics = metric.Set{}.With("train_loss", metric.Of(1.5)).With("train_runtime", metric.Of(12)).With("train_tokens_per_second", metric.Of(r.speed))
	}
	if r.watched {
		r.watch(t, folder, &rec)
	}
	if err := record.Write(folder, rec); err != nil {
		t.Fatal(err)
	}
	put(t, folder, "gpu_memory_logs.csv", r.deviceLog())
	put(t, folder, "host_memory_logs.csv", r.hostLog())
	put(t, folder, "stderr", r.stderr)
}

// watch adds what NVML's sampler and the probe saw: the trainer, process 42, and a process
// of somebody else, beside it on the device at the peak.
func (r run) watch(t *testing.T, folder string, rec *record.Record) {
	t.Helper()
	mebi := func(n int) metric.Value { return metric.Of(float64(n << 20)) }
	d := device.Watched{
		Device: device.Device{Index: 0, UUID: "GPU-0", Name: "NVIDIA H200"}, Source: device.FromNVMLv2, Total: mebi(143_771), Reserved: mebi(615),
		Baseline: device.Moment{Used: mebi(600), Time: started()}, Mean: mebi(r.peak / 2), Samples: 200,
		Peak: device.Moment{Used: mebi(r.peak), Time: started().Add(10 * time.Second), Processes: []device.ProcessUse{
			{PID: 42, Kind: "compute", Used: mebi(r.peak - 2600)}, {PID: 99, Kind: "compute", Used: mebi(1500)},
		}},
	}
	rec.FamilyPIDs, rec.Probe = []int{42}, &record.Probe{}
	rec.Watch = &record.Watch{Source: "nvml", Interval: 100 * time.Millisecond, Devices: []device.Device{d.Device}, Summary: &device.Summary{
		Interval: 100 * time.Millisecond, Achieved: 100 * time.Millisecond, Samples: 200, Started: started(), Ended: started().Add(20 * time.Second), Devices: []device.Watched{d},
	}}
	if err := os.Mkdir(filepath.Join(folder, record.ProbeDir), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(folder, record.ProbeDir), "process_42.json", fmt.Sprintf(`{"format": 1, "complete": true, "pid": 42, "ppid": 1, "namespace_pids": [42], "started_ns": %d, "written_ns": %d,
		"argv": ["python", "train.py"], "torch": {"version": "2.11.0", "cuda_version": "13.0", "driver": "999.1", "allocator": {"backend": "native", "settings": ""},
		"cuda": [{"index": 0, "uuid": "GPU-0", "name": "NVIDIA H200", "allocated_peak": %d, "reserved_peak": %d}]}}`,
		started().UnixNano(), started().Add(19*time.Second).UnixNano(), (r.peak-6000)<<20, (r.peak-3600)<<20))
}

func put(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// deviceLog rises to the peak in the middle and falls back, in the local time of Tokyo.
func (r run) deviceLog() string {
	var out strings.Builder
	out.WriteString("timestamp, name, index, memory.used [MiB]\n")
	model := r.device
	if model == "" {
		model = "NVIDIA H200"
	}
	for i := range r.samples {
		at := started().Add(9*time.Hour + time.Duration(i)*20*time.Second/time.Duration(r.samples))
		used := r.peak
		switch {
		case i == 0:
			used = 0
		case i < r.samples/2:
			used = r.peak / 2
		case i > r.samples/2:
			used = r.peak * 3 / 4
		}
		fmt.Fprintf(&out, "%s, %s, 0, %d MiB\n", at.Format("2006/01/02 15:04:05.000"), model, used)
	}
	return out.String()
}

func (r run) hostLog() string {
	var out strings.Builder
	out.WriteString("timestamp,processes,rss_bytes,pss_bytes\n")
	for i := range 20 {
		at := started().Add(time.Duration(i) * time.Second)
		fmt.Fprintf(&out, "%s,1,%d,%d\n", at.Format(time.RFC3339), 2<<30, 1<<30)
	}
	return out.String()
}

// hostile is text that breaks out of HTML wherever it is let.
const hostile = "</script><img src=x onerror=\"document.title='owned'\">\u2028'\"`${1}<!--"

// matrix is a results folder with three good runs, one without memory and one hostile one.
func matrix(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), `r"><img src=x onerror=alert(1)>`)
	bar := " 50%|#####     | 5/10 [00:06<00:06,  1.2s/it]\r100%|##########| 10/10 [00:12<00:00,  1.2s/it]\n"
	for i, r := range []run{
		{model: "model-a", method: "lora", batch: "4", status: outcome.OK, speed: 1000, peak: 8192, samples: 200, stderr: bar},
		{model: "model-a", method: "lora", batch: "16", status: outcome.OK, speed: 2500, peak: 16384, samples: 200, stderr: bar},
		{model: "model-b", method: "full", batch: "8", status: outcome.OK, speed: 900, peak: 30000, samples: 200, stderr: bar, watched: true},
		{model: "model-b", method: "full", batch: "64", status: outcome.OOM, peak: 80000, samples: 200, reason: "CUDA out of memory", stderr: "Traceback\ntorch.OutOfMemoryError: CUDA out of memory\n"},
		{model: hostile, method: hostile, batch: hostile, status: outcome.Error, reason: hostile, stderr: hostile + "\x1b[31m\u202e\n" + hostile, device: hostile, samples: 5, peak: 4},
	} {
		r.write(t, dir, i)
	}
	return dir
}

func gather(t *testing.T, dirs ...string) table.Table {
	t.Helper()
	gathered, err := table.Gather(dirs, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return gathered
}

// written is the page of results folders.
func written(t *testing.T, dirs ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out, gather(t, dirs...), page.Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
