//go:build linux && !nonvml

package nvml

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ebitengine/purego"
)

// goalAt1ms is the share of one core, in %, below which sampling the memory of eight
// devices at 1 ms is to stay.
const goalAt1ms = 6

// BenchmarkSampling runs the real child over eight devices whose calls take 5 us each
// and prints, for each interval in one run: what share of one core it uses and may use,
// what that is to the driver's own time, and to a loop in C that does nothing but sleep and
// make the calls for memory, which shows how busy the machine itself is (x-floor).
//
//	go test ./internal/device/nvml -run XXX -bench Sampling -benchtime 3s
func BenchmarkSampling(b *testing.B) {
	const devices, delay = 8, 5 * time.Microsecond
	for _, interval := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		b.Run(interval.String(), func(b *testing.B) {
			c := config(b, fmt.Sprint("FAKE_DEVICES=", devices), "FAKE_DELAY_US=5", "FAKE_PROCESSES=2")
			c.Interval = interval
			l, err := StartLogger(b.Context(), c)
			if err != nil {
				b.Fatal(err)
			}
			time.Sleep(500 * time.Millisecond) // past the start
			cpu, wall := childCPU(b, l.PID()), time.Now()
			for b.Loop() {
				time.Sleep(interval) // so that b.N is about the number of samples
			}
			used, took := childCPU(b, l.PID())-cpu, time.Since(wall)
			end := l.Stop(5 * time.Second)
			samples := int(took / end.Achieved)
			perSample := float64(used.Microseconds()) / float64(samples)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(100*used.Seconds()/took.Seconds(), "%core")
			if interval == time.Millisecond {
				b.ReportMetric(goalAt1ms, "%core-goal")
			}
			b.ReportMetric(perSample, "us/sample")
			b.ReportMetric(perSample/floor(b, devices, delay, interval), "x-floor")
			b.ReportMetric(used.Seconds()/float64(samples)/(devices*delay).Seconds(), "x-driver-time")
			b.ReportMetric(float64(end.Achieved.Microseconds())/float64(interval.Microseconds()), "x-interval")
			b.ReportMetric(100*float64(end.Lost)/float64(end.Samples+end.Lost), "%lost")
		})
	}
}

// floor returns the microseconds of processor time for a sample in C.
func floor(b *testing.B, devices int, delay, interval time.Duration) float64 {
	b.Helper()
	so, err := purego.Dlopen(fake(b), purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		b.Fatal(err)
	}
	var loop func(devices, delayUS, intervalUS, samples int32) int64
	purego.RegisterLibFunc(&loop, so, "fake_floor")
	samples := max(20, int32(time.Second/interval))
	ns := loop(int32(devices), int32(delay.Microseconds()), int32(interval.Microseconds()), samples)
	return float64(ns) / 1000 / float64(samples)
}

// childCPU sums the time on a processor of all threads of a process, which the kernel
// counts in nanoseconds (proc(5), schedstat).
func childCPU(t testing.TB, pid int) time.Duration {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		t.Skipf("needs /proc/PID/task/*/schedstat: %v", err)
	}
	var sum time.Duration
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(n)
	}
	return sum
}
