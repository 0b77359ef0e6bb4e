package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/plot"
	"tunebench/internal/record"
	"tunebench/internal/table"
	"tunebench/internal/view"
)

func began() time.Time { return time.Date(2026, 12, 1, 5, 9, 15, 0, time.UTC) }

// run is one experiment of a test's results folder.
type run struct {
	model, method, batch, device, reason string
	status                               outcome.Status
	peak                                 int // MiB
}

func (r run) write(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rec := record.Record{
		Version: record.Version, Started: began(), Duration: 20 * time.Second, Outcome: outcome.Outcome{Status: r.status, Reason: r.reason},
		Experiment: experiment.Experiment{Version: 1, ID: "id", Name: "exp_0", Trial: 1, NumGPUs: 1, Settings: []experiment.Setting{
			{Name: "model_name_or_path", Values: []string{r.model}}, {Name: "peft_method", Values: []string{r.method}},
			{Name: "per_device_train_batch_size", Values: []string{r.batch}},
		}},
		Host: record.Host{MaxRSSOneProcess: metric.Missing("not waited for")},
	}
	if r.status == outcome.OK {
		rec.Metrics = metric.Set{}.With("train_runtime", metric.Of(12)).With("train_tokens_per_second", metric.Of(1000))
	}
	if err := record.Write(dir, rec); err != nil {
		t.Fatal(err)
	}
	devices, host := "timestamp, name, index, memory.used [MiB]\n", "timestamp,processes,rss_bytes,pss_bytes\n"
	for i, level := range []int{0, r.peak / 2, r.peak, r.peak / 3} {
		at := began().Add(time.Duration(i) * 5 * time.Second)
		devices += fmt.Sprintf("%s, %s, 0, %d MiB\n", at.Format("2006/01/02 15:04:05.000"), r.device, level)
		host += fmt.Sprintf("%s,1,%d,%d\n", at.Format(time.RFC3339), 2<<30, 1<<30)
	}
	for name, text := range map[string]string{"gpu_memory_logs.csv": devices, "host_memory_logs.csv": host} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func gather(t *testing.T, dirs ...string) table.Table {
	t.Helper()
	gathered, err := table.Gather(dirs, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return gathered
}

// two are results of one model: a good run and one that ran out of memory.
func two(t *testing.T) table.Table {
	t.Helper()
	dir := t.TempDir()
	run{model: "org/model", method: "lora", batch: "4", device: "NVIDIA H200", status: outcome.OK, peak: 8192}.write(t, filepath.Join(dir, "exp_0"))
	run{model: "org/model", method: "lora", batch: "8", device: "NVIDIA H200", status: outcome.OOM, peak: 80000, reason: "CUDA out of memory"}.write(t, filepath.Join(dir, "exp_1"))
	return gather(t, dir)
}

// names returns what stands in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestEachExperimentAndEachModelHasItsPictures(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "below", "plots")
	paths, err := plot.Write(dir, two(t), plot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"exp_0_memory_over_time.png", "exp_0_memory_over_time.svg", "exp_1_memory_over_time.png", "exp_1_memory_over_time.svg",
		"org_model_memory_and_throughput.png", "org_model_memory_and_throughput.svg",
	}
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for i := range want {
		want[i] = filepath.Join(dir, want[i])
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	for _, path := range paths {
		if filepath.Ext(path) == ".png" {
			checkPNG(t, path)
		}
	}
}

// checkPNG holds a picture to a size that can be read, and to colour on its white.
func checkPNG(t *testing.T, path string) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	size := picture.Bounds()
	if size.Dx() < 1200 || size.Dy() < 400 {
		t.Errorf("%s is of %d x %d dots", path, size.Dx(), size.Dy())
	}
	coloured := 0
	for x := size.Min.X; x < size.Max.X; x++ {
		for y := size.Min.Y; y < size.Max.Y; y++ {
			if r, g, b, _ := picture.At(x, y).RGBA(); max(r, g, b)-min(r, g, b) > 0x4000 {
				coloured++
			}
		}
	}
	if coloured < 500 {
		t.Errorf("%s has %d dots of colour: no line was drawn", path, coloured)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// parsed returns the elements and the texts of an SVG.
func parsed(t *testing.T, path string) (elements, texts []string) {
	t.Helper()
	in := xml.NewDecoder(bytes.NewReader(read(t, path)))
	for {
		token, err := in.Token()
		switch {
		case errors.Is(err, io.EOF):
			return elements, texts
		case err != nil:
			t.Fatalf("%s is no XML: %v", path, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !slices.Contains(elements, token.Name.Local) {
				elements = append(elements, token.Name.Local)
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" {
				texts = append(texts, text)
			}
		}
	}
}

func TestThePicturesSayWhatTheyShow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mib, err := view.ParseUnit("MiB")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plot.Write(dir, two(t), plot.Options{Unit: mib}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"exp_0_memory_over_time.svg": {
			"exp_0: memory over time", "org/model \u00b7 lora \u00b7 batch 4 \u00b7 1 GPU \u00b7 NVIDIA H200", "devices (MiB)", "host (MiB)",
			"device 0: peak 8192 MiB", "host PSS: peak 1024 MiB", "host RSS: peak 2048 MiB", "training", "start", "end", "seconds since the first reading",
		},
		"exp_1_memory_over_time.svg":          {"OOM: CUDA out of memory", "device 0: peak 80000 MiB"},
		"org_model_memory_and_throughput.svg": {"org/model: memory and throughput", "memory (MiB)", "tokens per second", "batch size per device", "lora", "OOM"},
	} {
		_, texts := parsed(t, filepath.Join(dir, name))
		for _, text := range want {
			if !slices.Contains(texts, text) {
				t.Errorf("%s lacks the text %q; it has %q", name, text, texts)
			}
		}
	}
}

func TestNothingOfTheResultsIsMarkupOrLeadsOutside(t *testing.T) {
	t.Parallel()
	for name, hostile := range map[string]string{
		"elements": "</text><script>alert(1)</script><image href=\"//evil.example/x\"/>", "entities": "&lt;script&gt;&x;]]>", "controls": "a\x00\x1b[31m\u202e\x0b\xffb",
		"a formula": "$\\int_0^1$ \\input{/etc/passwd}", "paths": "../../../etc/passwd",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			results := filepath.Join(base, "results")
			run{model: hostile, method: hostile, batch: "4", device: strings.ReplaceAll(hostile, "\n", ""), status: outcome.OK, peak: 5}.write(t, filepath.Join(results, "exp_0"))
			run{model: hostile, method: hostile, batch: "8", device: "G", status: outcome.Error, reason: hostile, peak: 5}.write(t, filepath.Join(results, "exp_1"))
			dir := filepath.Join(base, "plots")
			paths, err := plot.Write(dir, gather(t, results), plot.Options{})
			if err != nil || len(paths) != 6 {
				t.Fatalf("%d pictures, %v", len(paths), err)
			}
			if diff := cmp.Diff([]string{"plots", "results"}, names(t, base)); diff != "" {
				t.Errorf("beside the folder (-want +got):\n%s", diff)
			}
			for _, path := range paths {
				if filepath.Dir(path) != dir {
					t.Errorf("a picture at %s", path)
				}
				if filepath.Ext(path) != ".svg" {
					continue
				}
				elements, _ := parsed(t, path)
				slices.Sort(elements)
				if extra := slices.DeleteFunc(elements, func(e string) bool { return slices.Contains([]string{"g", "path", "svg", "text"}, e) }); len(extra) > 0 {
					t.Errorf("%s holds elements %v", path, extra)
				}
			}
		})
	}
}

func TestALinkInTheFoldersPlaceOfAPictureIsReplacedAndNotWrittenThrough(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	other := filepath.Join(base, "other")
	if err := os.WriteFile(other, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "plots")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "exp_0_memory_over_time.png")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	if _, err := plot.Write(dir, two(t), plot.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := string(read(t, other)); got != "mine" {
		t.Errorf("what the link led to holds %.20q", got)
	}
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		t.Errorf("in the link's place: %v, %v", info, err)
	}
}

func TestWhatCannotBeDrawnIsAnErrorAndNothingToDrawIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if paths, err := plot.Write(dir, table.Table{}, plot.Options{}); err != nil || len(paths) > 0 {
		t.Errorf("no experiments: %v, %v", paths, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := plot.Write(file, two(t), plot.Options{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file for a folder: %v", err)
	}
	taken := filepath.Join(dir, "plots")
	if err := os.MkdirAll(filepath.Join(taken, "exp_0_memory_over_time.svg"), 0o755); err != nil {
		t.Fatal(err)
	}
	paths, err := plot.Write(taken, two(t), plot.Options{})
	if err == nil || !strings.Contains(err.Error(), "exp_0_memory_over_time.svg") || len(paths) != 5 {
		t.Errorf("a folder in the place of one picture: %d others, %v", len(paths), err)
	}
}

func TestTheSameResultsGiveTheSamePictures(t *testing.T) {
	t.Parallel()
	results := two(t)
	var all [2][]string
	for i := range all {
		dir := t.TempDir()
		paths, err := plot.Write(dir, results, plot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			all[i] = append(all[i], string(read(t, path)))
		}
	}
	if !slices.Equal(all[0], all[1]) {
		t.Error("the pictures differ from one time to the next")
	}
}
