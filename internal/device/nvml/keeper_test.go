//go:build linux && !nonvml

package nvml

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tunebench/internal/device"
)

// keep starts a keeper over the fake library.
func keep(t *testing.T, env ...string) (*Keeper, Config) {
	t.Helper()
	c := config(t, env...)
	c.Silence = 300 * time.Millisecond
	k, err := Keep(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return k, c
}

// now is the child of this moment; nil where there is none.
func (k *Keeper) now() *Logger {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.child
}

// until waits until the keeper's summary is as wanted.
func until(t *testing.T, k *Keeper, what string, wanted func(device.Summary) bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !wanted(k.Latest()); {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 30 s: %+v", what, k.Latest())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestASamplerThatFailsOnceIsStartedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault, says string
		gap         time.Duration // at least
	}{
		"it hangs":              {"FAKE_HANG_AT=30", "nvmlDeviceGetMemoryInfo_v2 does not return", time.Second},
		"it dies":               {"FAKE_ABORT_AT=30", "the sampler died: exit 2: SIGABRT", time.Millisecond},
		"it hangs soon":         {"FAKE_HANG_AT=4", "nvmlDeviceGetMemoryInfo_v2 does not return", time.Second},
		"it dies after a while": {"FAKE_ABORT_AT=300", "the sampler died: exit 2: SIGABRT", time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, c := keep(t, tc.fault, "FAKE_SPIKE_AT=20", "FAKE_ONCE="+filepath.Join(t.TempDir(), "once"))
			baseline := k.Latest().Devices[0].Baseline
			until(t, k, "second child with 40 samples", func(s device.Summary) bool {
				return strings.Contains(strings.Join(s.Notes, "\n"), tc.says) && s.Ended.Sub(s.GapAt) > s.LargestGap+300*time.Millisecond
			})
			end := k.Stop(5 * time.Second)
			notes := strings.Join(end.Notes, "\n")
			if end.Exit != "" || !strings.Contains(notes, tc.says) || !strings.Contains(notes, "the sampler was started again, and nothing was seen for") {
				t.Errorf("exit %q, notes %q; want no exit and what happened", end.Exit, notes)
			}
			d := end.Devices[0]
			if d.Baseline.Time != baseline.Time || d.Peak.Used.Number != idle+31503*mib || !d.EnergyEnd.Known() {
				t.Errorf("baseline of %v, peak %v, energy %v; want the first child's baseline, the peak, and the last child's counter",
					d.Baseline.Time, d.Peak.Used, d.EnergyEnd)
			}
			if end.LargestGap < tc.gap || end.Lost < int(tc.gap/c.Interval)/2 || d.LargestGap < tc.gap || end.Samples != d.Samples {
				t.Errorf("largest gap %v (device: %v), %d lost, %d and %d samples; want the gap of %v", end.LargestGap, d.LargestGap, end.Lost, end.Samples, d.Samples, tc.gap)
			}
			readings, log := read(t, c)
			if !log.Header || len(log.Foreign) != 0 || log.Cut != nil || readings[0].Time.After(end.GapAt) || readings[len(readings)-1].Time.Before(end.GapAt) {
				t.Errorf("the log is not one log with rows of both: %+v, %v", log, readings)
			}
		})
	}
}

func TestASamplerThatFailsAgainAndAgainIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  []string
		says string
	}{
		"it dies each time":  {[]string{"FAKE_ABORT_AT=30"}, "the sampler died: exit 2: SIGABRT"},
		"it hangs each time": {[]string{"FAKE_HANG_AT=30"}, "nvmlDeviceGetMemoryInfo_v2 does not return"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, _ := keep(t, tc.env...)
			until(t, k, "second restart", func(s device.Summary) bool {
				return strings.Count(strings.Join(s.Notes, "\n"), "started again") == restarts
			})
			<-k.done
			for k.now().silent() < 2*time.Second { // the third one dies or hangs, too
				time.Sleep(20 * time.Millisecond)
			}
			end := k.Stop(5 * time.Second)
			if !strings.Contains(end.Exit, tc.says) || !end.Devices[0].Peak.Used.Known() {
				t.Errorf("exit %q, peak %v; want the last child's end and what was seen", end.Exit, end.Devices[0].Peak.Used)
			}
			gone(t, k.now().PID())
		})
	}
}

func TestASamplerThatCannotBeStartedAgainSaysSo(t *testing.T) {
	t.Parallel()
	c := config(t, "FAKE_ABORT_AT=300")
	data, err := os.ReadFile(c.Library)
	if err != nil {
		t.Fatal(err)
	}
	c.Library = filepath.Join(c.Dir, "libnvidia-ml.so.1")
	if err := os.WriteFile(c.Library, data, 0o700); err != nil {
		t.Fatal(err)
	}
	k, err := Keep(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(c.Library); err != nil { // as where the driver is taken away
		t.Fatal(err)
	}
	until(t, k, "end of the attempts", func(device.Summary) bool {
		select {
		case <-k.done:
			return true
		default:
			return false
		}
	})
	end := k.Stop(time.Second)
	if notes := strings.Join(end.Notes, "\n"); !strings.Contains(notes, "could not be started again: no NVML library here") || !strings.Contains(end.Exit, "died") {
		t.Errorf("exit %q, notes %q", end.Exit, notes)
	}
	if again := k.Stop(time.Second); again.Exit != end.Exit || len(again.Notes) != len(end.Notes) {
		t.Errorf("stopped again it says %q, %q", again.Exit, again.Notes)
	}
}

func TestAnEndDuringARestartLeavesNothing(t *testing.T) {
	t.Parallel()
	k, _ := keep(t, "FAKE_HANG_AT=30")
	first := k.now().PID()
	time.Sleep(4 * time.Second) // it hangs, and is asked in which call
	began := time.Now()
	end := k.Stop(5 * time.Second)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("stopping took %v", took)
	}
	gone(t, first)
	if k.now() != nil {
		gone(t, k.now().PID())
	}
	if !strings.Contains(end.Exit+strings.Join(end.Notes, "\n"), "does not return") {
		t.Errorf("exit %q, notes %q; want the call that hangs", end.Exit, end.Notes)
	}
}
