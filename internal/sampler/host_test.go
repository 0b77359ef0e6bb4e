package sampler

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tunebench/internal/metric"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSource reads 100 bytes more each time, or always 100 where it is steady; PSS takes
// pssCost.
type fakeSource struct {
	pssCost time.Duration
	steady  bool
	fail    func(n int) error
	n       int
	asked   []time.Duration // when PSS was asked for
	began   time.Time
}

func (f *fakeSource) Read(_ context.Context, withPSS bool) (HostReading, error) {
	f.n++
	rss := 100 * f.n
	if f.steady {
		rss = 100
	}
	r := HostReading{Processes: 2, RSS: metric.Of(float64(rss)), PSS: metric.Missing("not asked for")}
	if withPSS {
		f.asked = append(f.asked, time.Since(f.began))
		time.Sleep(f.pssCost)
		r.PSS = metric.Of(float64(10 * f.n))
	}
	if f.fail != nil {
		if err := f.fail(f.n); err != nil {
			return HostReading{}, err
		}
	}
	return r, nil
}

func start(t *testing.T, src *fakeSource, interval time.Duration, each func(HostSample)) (*Host, string) {
	t.Helper()
	src.began = time.Now()
	file := filepath.Join(t.TempDir(), HostFile)
	h, err := StartHost(t.Context(), HostOptions{Source: src, Interval: interval, File: file, OnSample: each})
	if err != nil {
		t.Fatal(err)
	}
	return h, file
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func TestHostSamplesFromStartToStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []float64
		h, file := start(t, &fakeSource{}, time.Second, func(s HostSample) { heard = append(heard, s.RSS.Number) })
		time.Sleep(2500 * time.Millisecond)
		summary, err := h.Stop()
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"timestamp,processes,rss_bytes,pss_bytes",
			"2000-01-01T00:00:00.000Z,2,100,10",
			"2000-01-01T00:00:01.000Z,2,200,20",
			"2000-01-01T00:00:02.000Z,2,300,30",
			"2000-01-01T00:00:02.500Z,2,400,40",
		}
		if diff := cmp.Diff(want, lines(t, file)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(HostSummary{Samples: 4, LargestGap: time.Second}, summary); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]float64{100, 200, 300, 400}, heard); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestPSSIsReadInAtMostHalfAPercentOfTheTimeUnlessTheTreeGrows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cost  time.Duration
		grows bool
		want  []time.Duration
	}{
		"cheap: with every sample":          {0, false, []time.Duration{0, 1e9, 2e9, 3e9, 4e9, 5e9, 5.5e9}},
		"5 ms: not before a second later":   {5 * time.Millisecond, false, []time.Duration{0, 2e9, 4e9, 5.5e9}},
		"25 ms: not before 5 seconds later": {25 * time.Millisecond, false, []time.Duration{0, 5.5e9}},
		"25 ms and a growing tree: sooner":  {25 * time.Millisecond, true, []time.Duration{0, 2e9, 4e9, 5.5e9}},
		"a second: not again in this time":  {time.Second, false, []time.Duration{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				src := &fakeSource{pssCost: tc.cost, steady: !tc.grows}
				h, _ := start(t, src, time.Second, nil)
				time.Sleep(5500 * time.Millisecond)
				if _, err := h.Stop(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, src.asked); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestLatestHoldsTheLastPSSThatWasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, file := start(t, &fakeSource{pssCost: 50 * time.Millisecond}, time.Second, nil)
		if _, ok := h.Latest(); ok {
			t.Error("there is a latest sample before the first one")
		}
		time.Sleep(1500 * time.Millisecond)
		s, ok := h.Latest()
		if !ok || s.RSS.Number != 200 || s.PSS.Number != 10 {
			t.Errorf("latest %+v, %v", s, ok)
		}
		// The log is whole while the sampler runs, and an unknown cell is empty.
		if got := lines(t, file)[2]; got != "2000-01-01T00:00:01.000Z,2,200," {
			t.Errorf("row %q", got)
		}
		_, _ = h.Stop()
	})
}

func TestAFailedReadingIsCountedAndWritesNoRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{fail: func(n int) error {
			if n == 2 {
				return errors.New("no such process")
			}
			return nil
		}}
		h, file := start(t, src, time.Second, nil)
		time.Sleep(2500 * time.Millisecond)
		got, err := h.Stop()
		want := HostSummary{Samples: 3, Errors: 1, LastError: "no such process", LargestGap: 2 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || len(lines(t, file)) != 4 {
			t.Errorf("error %v, %d lines (-want +got):\n%s", err, len(lines(t, file)), diff)
		}
	})
}

func TestTheContextEndsTheSampling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		file := filepath.Join(t.TempDir(), HostFile)
		h, err := StartHost(ctx, HostOptions{Source: &fakeSource{}, File: file})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		cancel()
		<-h.done
		for range 2 {
			if got, err := h.Stop(); got.Samples != 3 || err != nil {
				t.Errorf("%d samples, %v; want 3: at once, after a second, at the end", got.Samples, err)
			}
		}
	})
}

// stuck hangs in its second reading, as a read of /proc may.
type stuck struct {
	n       int
	release chan struct{}
}

func (s *stuck) Read(context.Context, bool) (HostReading, error) {
	if s.n++; s.n > 1 {
		<-s.release
	}
	return HostReading{Processes: 1, RSS: metric.Of(1)}, nil
}

func TestStopDoesNotWaitForAReadingThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &stuck{release: make(chan struct{})}
		h, err := StartHost(t.Context(), HostOptions{Source: src, File: filepath.Join(t.TempDir(), HostFile)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		began := time.Now()
		got, err := h.Stop()
		if err == nil || time.Since(began) != stopGrace || got.Samples != 1 {
			t.Errorf("after %s: %+v, %v", time.Since(began), got, err)
		}
		close(src.release)
		<-h.done
	})
}

func TestAnEarlierLogIsReplacedAndAMissingFolderIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), HostFile)
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := StartHost(t.Context(), HostOptions{Source: &fakeSource{}, File: file})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Stop(); err != nil || lines(t, file)[0]+"\n" != hostHeader {
		t.Errorf("error %v, first line %q", err, lines(t, file)[0])
	}
	if _, err := StartHost(t.Context(), HostOptions{File: filepath.Join(t.TempDir(), "none", HostFile)}); err == nil {
		t.Error("a log was made in a folder that is not there")
	}
}

// sourceFunc is a source that is one function.
type sourceFunc func(ctx context.Context) (HostReading, error)

func (f sourceFunc) Read(ctx context.Context, _ bool) (HostReading, error) { return f(ctx) }

func TestAReadingThatOurOwnEndCutsShortIsNoFailure(t *testing.T) {
	t.Parallel()
	good := HostReading{Processes: 1, RSS: metric.Of(100), PSS: metric.Of(10)}
	broken := errors.New("no /proc")
	for name, tc := range map[string]struct {
		read           sourceFunc
		after          time.Duration // Stop
		errors, atMost int           // samples
		last           string
	}{
		"a reading that began at the end": {
			func(ctx context.Context) (HostReading, error) { return good, ctx.Err() }, 2 * time.Second, 0, 4, ""},
		"a reading that was under way at the end": {
			func(ctx context.Context) (HostReading, error) {
				select {
				case <-ctx.Done():
					return HostReading{}, ctx.Err()
				case <-time.After(900 * time.Millisecond):
					return good, nil
				}
			}, 1500 * time.Millisecond, 0, 2, ""},
		"the end before the first reading": {
			func(ctx context.Context) (HostReading, error) { return good, ctx.Err() }, 0, 0, 2, ""},
		"a reading that failed before the end": {
			func(ctx context.Context) (HostReading, error) { return HostReading{}, broken }, 2500 * time.Millisecond, 4, 0, "no /proc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, err := StartHost(t.Context(), HostOptions{Source: tc.read, Interval: time.Second, File: filepath.Join(t.TempDir(), HostFile)})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(tc.after)
				summary, err := h.Stop()
				if err != nil || summary.Errors != tc.errors || summary.LastError != tc.last {
					t.Errorf("%d failures, the last %q, error %v; want %d, %q", summary.Errors, summary.LastError, err, tc.errors, tc.last)
				}
				if summary.Samples > tc.atMost || tc.atMost > 0 && summary.Samples == 0 {
					t.Errorf("%d samples, want the last one among at most %d", summary.Samples, tc.atMost)
				}
			})
		})
	}
}

// TestTheFirstSampleAboveTheLimitReadsPSS lets PSS be so dear that it is not read again in
// the time of the test, but where the limit asks for it.
func TestTheFirstSampleAboveTheLimitReadsPSS(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limit float64
		want  []float64 // RSS of the samples with PSS
	}{
		"it is passed":       {650, []float64{100, 800}}, // read twice: without PSS it was 700
		"it is never passed": {1e9, []float64{100}},
		"there is none":      {0, []float64{100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got []float64
				each := func(s HostSample) {
					if s.PSS.Known() {
						got = append(got, s.RSS.Number)
					}
				}
				src := &fakeSource{pssCost: time.Second, began: time.Now()}
				h, err := StartHost(t.Context(), HostOptions{Source: src, Interval: time.Second, Limit: tc.limit,
					File: filepath.Join(t.TempDir(), HostFile), OnSample: each})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(12 * time.Second)
				if _, err := h.Stop(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}
