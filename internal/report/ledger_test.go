package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tunebench/internal/device"
	"tunebench/internal/experiment"
	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
	"tunebench/internal/table"
	"tunebench/internal/view"
)

func mebi(n float64) metric.Value { return metric.Of(n * (1 << 20)) }

func holding(pid int, n float64) device.ProcessUse {
	return device.ProcessUse{PID: pid, Kind: "compute", Used: mebi(n)}
}

// began is when every invented experiment began.
func began() time.Time { return time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC) }

func watchedDevice(index int, base, peak, mean float64, at ...device.ProcessUse) device.Watched {
	return device.Watched{
		Device: device.Device{Index: index, UUID: fmt.Sprintf("GPU-%04d", index), Name: "Example A1-80GB"},
		Source: device.FromNVMLv2, Total: mebi(81920), Reserved: mebi(600),
		Baseline: device.Moment{Used: mebi(base), Time: began()},
		Peak:     device.Moment{Used: mebi(peak), Time: began().Add(5 * time.Second), Processes: at},
		Mean:     mebi(mean), Samples: 601, EnergyStart: metric.Of(1e6), EnergyEnd: metric.Of(13e6),
	}
}

// invented is an experiment on these devices.
func invented(name string, status outcome.Status, gpus int, family []int, devices ...device.Watched) record.Record {
	code := 0
	if status != outcome.OK {
		code = 1
	}
	s := &device.Summary{
		Driver: "999.1", Interval: 100 * time.Millisecond, Achieved: 100020 * time.Microsecond, Samples: 601, Lost: 2,
		LargestGap: 310 * time.Millisecond, GapAt: began().Add(3 * time.Second), Started: began(), Ended: began().Add(time.Minute), Devices: devices,
	}
	r := record.Record{
		Version: record.Version, Tunebench: "0.2",
		Experiment: experiment.Experiment{ID: "id-" + name, Name: name, Scenario: "lora", Trial: 1, Trainer: "hf", NumGPUs: gpus,
			Settings: []experiment.Setting{
				{Name: "model_name_or_path", Values: []string{"example-org/Sparrow-7B"}}, {Name: "peft_method", Values: []string{"lora"}},
				{Name: "per_device_train_batch_size", Values: []string{"4"}}}},
		Outcome: outcome.Outcome{Status: status, Ending: outcome.Ending{ExitCode: &code}},
		Started: began(), Duration: time.Minute, FamilyPIDs: family,
		Watch: &record.Watch{Source: "nvml", Interval: 100 * time.Millisecond, Summary: s},
		Probe: &record.Probe{}, Host: record.Host{MaxRSSOneProcess: mebi(3000)},
	}
	for _, d := range devices {
		r.Watch.Devices = append(r.Watch.Devices, d.Device)
	}
	if status == outcome.OK {
		r.Metrics = metric.Set{{Name: "train_loss", Value: metric.Of(1.25)}, {Name: "train_tokens_per_second", Value: metric.Of(3200)}}
		r.MetricsFrom = "stdout"
	}
	return r
}

// probed is what the probe of one rank leaves.
func probed(rank, world, pid, device int, allocated, reserved float64, more string) string {
	return fmt.Sprintf(`{"format": 1, "complete": true, "pid": %d, "ppid": 1, "namespace_pids": [%[1]d], "started_ns": %d, "written_ns": %d,
		"argv": ["python", "train.py"], "place": {"rank": %d, "local_rank": %[4]d, "world_size": %d},
		"torch": {"version": "9.9", "cuda_version": "99.0", "driver": "999.1", "allocator": {"backend": "native", "settings": ""},
		"cuda": [{"index": 0, "uuid": "GPU-%04d", "name": "Example A1-80GB", "allocated_peak": %.0f, "reserved_peak": %.0f}]}%s}`,
		pid, began().UnixNano()+int64(rank), began().Add(time.Minute).UnixNano(), rank, world, device,
		allocated*(1<<20), reserved*(1<<20), more)
}

// measured is a results folder of experiments with a sampler's figures and probe records.
func measured(t *testing.T) table.Table {
	t.Helper()
	dir := t.TempDir()
	put := func(r record.Record, probes ...string) {
		exp := filepath.Join(dir, r.Experiment.Name)
		if err := os.MkdirAll(filepath.Join(exp, record.ProbeDir), 0o755); err != nil {
			t.Fatal(err)
		}
		for i, text := range probes {
			path := filepath.Join(exp, record.ProbeDir, fmt.Sprintf("process_%d.json", i))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := record.Write(exp, r); err != nil {
			t.Fatal(err)
		}
	}
	put(invented("exp_0", outcome.OK, 1, []int{7}, watchedDevice(0, 0, 21875, 18000, holding(7, 21866))),
		probed(0, 1, 7, 0, 19210, 21108, `, "trainer": {"trainers": 1, "source": "probe", "stages": {"before_init_mem_gpu": 1048576, "init_mem_gpu_alloc_delta": 0,
		"init_mem_gpu_peaked_delta": 0, "train_mem_gpu_alloc_delta": 1048576, "train_mem_gpu_peaked_delta": 2097152},
		"final": {"train_loss": 1.2512345, "train_samples_per_second": 6.5}, "log_history": []}`))
	put(invented("exp_1", outcome.OK, 2, []int{7, 8}, watchedDevice(0, 4, 20004, 16004, holding(7, 20000)), watchedDevice(1, 4, 24104, 17004, holding(8, 22000), holding(99, 2100))),
		probed(0, 2, 7, 0, 18000, 19300, ""), probed(1, 2, 8, 1, 20000, 21300, ""))
	put(invented("exp_2", outcome.OK, 1, []int{7}, watchedDevice(0, 0, 21875, 18000)), probed(0, 1, 7, 0, 19210, 21108, ""))
	put(invented("exp_3", outcome.OOM, 1, []int{7, 8}, watchedDevice(0, 0, 79000, 40000, holding(7, 39000), holding(8, 39900))),
		probed(0, 2, 7, 0, 37000, 38300, `, "exception": {"type": "torch.OutOfMemoryError", "message": "CUDA out of memory.\nMore", "where": "train.py:9"}`),
		probed(1, 2, 8, 0, 38000, 39200, ""))
	put(invented("exp_4", outcome.OK, 1, []int{7}, watchedDevice(0, 0, 8000, 4000, holding(7, 7990))), probed(0, 1, 7, 0, 12000, 12288, ""))
	g, err := table.Gather([]string{dir}, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTheTablesOfMeasuredExperimentsAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	g := measured(t)
	golden(t, "measured.md.golden", Markdown(g, Options{}))
	golden(t, "measured_raw.csv.golden", text(t, func(w io.Writer) error { return RawSummary(w, g) }))
	golden(t, "measured_benchmarks.csv.golden", text(t, func(w io.Writer) error { return Benchmarks(w, g, Options{}) }))
	for _, width := range []int{80, 120} {
		var out bytes.Buffer
		if err := Terminal(&out, g, width, Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("measured_%d.golden", width), out.Bytes())
	}
}

func TestOneMeasurementFitsInto80Columns(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, row := range measured(t).Rows {
		if err := Measured(&out, row, 80); err != nil {
			t.Fatal(err)
		}
		out.WriteString("----\n")
	}
	golden(t, "measured_one.golden", out.Bytes())
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d runes are too many: %s", n, line)
		}
	}
}

func TestWithoutADeviceTheHostIsLeft(t *testing.T) {
	t.Parallel()
	row := table.Row{Status: outcome.NoMetrics, Cells: []table.Cell{
		{Name: "exit_code", Number: true, Value: metric.Of(7)},
		{Name: "duration_seconds", Number: true, Value: metric.Of(0.0125)},
		{Name: memory.HostPeakRSS, Kind: table.Result, Number: true, Value: mebi(2)},
		{Name: memory.HostPeakPSS, Kind: table.Result, Number: true, Value: metric.Missing("why not")},
	}}
	var out bytes.Buffer
	if err := Measured(&out, row, 80); err != nil {
		t.Fatal(err)
	}
	want := "exit status 7 after 13ms\nhost memory at its peak: - (PSS), 2.00 MiB (RSS)\n\n- host memory: why not\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestTheMarksOfFiguresAreExplained(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mark memory.Mark
		want string
	}{
		"a doubtful one":     {memory.Doubtful, "~ doubtful"},
		"a contaminated one": {memory.Contaminated, "! contaminated"},
		"a sure one":         {memory.Sure, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := marks([]line{{of: view.Memory{Mark: tc.mark}}})
			if !strings.HasPrefix(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestALowerBoundOfTorchStandsBehindItsMark(t *testing.T) {
	t.Parallel()
	killed := memory.Share{Label: "rank 0 (pid 7)", Allocated: mebi(900), Mark: memory.Doubtful}
	whole := memory.Share{Label: "rank 1 (pid 8)", Allocated: mebi(1000)}
	unknown := memory.Share{Label: "rank 2 (pid 9)", Allocated: metric.Missing("torch did not say"), Mark: memory.Doubtful}
	lines := ledgerLines(memory.Ledger{
		Used: mebi(3510), Allocated: mebi(1900), AllocatedMark: memory.Doubtful, Shares: []memory.Share{killed, whole, unknown},
	})
	var got []string
	for _, l := range lines {
		got = append(got, l.holder+" "+l.cells[2])
	}
	want := "device 0 ~1900, rank 0 (pid 7) ~900, rank 1 (pid 8) 1000, rank 2 (pid 9) -"
	if text := strings.Join(got, ", "); text != want || lines[0].cells[0] != "3510" {
		t.Errorf("allocated: %s, used %s; want %s", text, lines[0].cells[0], want)
	}
}
