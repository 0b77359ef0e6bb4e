// Package sampler watches memory while something runs.
//
// It has the sampler of the host's memory (Host), that of the devices' memory (Devices),
// and the logs that they write. What they read from, and what is done with a sample,
// belong to their users: NVML's child process runs Devices. nvidia-smi, the other source,
// writes the devices' log itself.
package sampler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"tunebench/internal/metric"
)

// HostFile is the name of the host's log inside an experiment's folder.
const HostFile = "host_memory_logs.csv"

// HostReading is the memory of a process tree at one moment, in bytes.
type HostReading struct {
	Processes int
	PIDs      []int        // of these processes
	RSS       metric.Value // the sum over the tree: a shared page counts once for each process
	PSS       metric.Value // the sum over the tree: a shared page counts once; a gap where it was not asked for
}

// HostSource reads a process tree. PSS is read only where it is asked for: the kernel
// walks all page tables for it.
type HostSource interface {
	Read(ctx context.Context, withPSS bool) (HostReading, error)
}

// HostSample is a reading with its time.
type HostSample struct {
	Time time.Time
	HostReading
}

// HostSummary is what is left to say of the sampling.
type HostSummary struct {
	Samples    int
	Errors     int           // readings that failed
	LastError  string        // of the last of these
	LargestGap time.Duration // between two samples
}

// HostOptions say how a tree is sampled.
type HostOptions struct {
	Source   HostSource
	Interval time.Duration    // between two samples; 0: a second
	File     string           // the log; an earlier one is replaced
	Limit    float64          // bytes of RSS: the first sample above it reads PSS whatever that costs; 0: none
	OnSample func(HostSample) // called after each sample from the sampler's goroutine; may be nil; must not block and must not call Stop
}

// Bounds of sampling.
const (
	pssShare  = 200  // PSS is read no sooner than this many times what the last one took: 0.5 % of the time
	pssHaste  = 50   // the same while the tree grows: a peak of PSS is wanted more than the time
	pssGrowth = 1.02 // of RSS over where PSS was last read, for haste
	stopGrace = 5 * time.Second
)

// Host samples a process tree's memory until it is stopped.
type Host struct {
	opts   HostOptions
	file   *os.File
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	latest  HostSample
	summary HostSummary
	err     error     // of writing the log; the first one
	pssNext time.Time // not before this is PSS read
	pssSoon time.Time // nor, where the tree has grown, before this
	pssRSS  float64   // RSS when PSS was last read at its largest
	passed  bool      // the limit was passed, and PSS read for it
}

// StartHost makes the log and begins to sample, the first time at once. It ends with
// the context or with Stop.
func StartHost(ctx context.Context, opts HostOptions) (*Host, error) {
	if opts.Interval <= 0 {
		opts.Interval = time.Second
	}
	file, err := create(opts.File)
	if err != nil {
		return nil, fmt.Errorf("making the host's memory log: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	h := &Host{opts: opts, file: file, cancel: cancel, done: make(chan struct{})}
	go h.loop(ctx)
	return h, nil
}

// loop samples at once, then at every tick, and a last time when it is stopped.
func (h *Host) loop(ctx context.Context) {
	defer close(h.done)
	defer h.file.Close()
	tick := time.NewTicker(h.opts.Interval)
	defer tick.Stop()
	for {
		h.sample(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			h.sample(context.WithoutCancel(ctx))
			return
		}
	}
}

// sample takes one reading, writes it and hands it on.
func (h *Host) sample(ctx context.Context) {
	began := time.Now()
	withPSS := !began.Before(h.pssNext) || h.grown() && !began.Before(h.pssSoon)
	reading, err := h.opts.Source.Read(ctx, withPSS)
	if err == nil && !withPSS && h.passes(reading.RSS) {
		withPSS = true
		reading, err = h.opts.Source.Read(ctx, true)
	}
	if withPSS {
		h.budget(began, reading.RSS)
	}
	if err != nil && ctx.Err() != nil {
		return // cut short by our own end, which takes a last sample
	}
	if err != nil {
		h.failed(err)
		return
	}
	s := HostSample{Time: began, HostReading: reading}
	writeErr := writeRow(h.file, s)
	h.keep(s, writeErr)
	if h.opts.OnSample != nil {
		h.opts.OnSample(s)
	}
}

// budget says when PSS may be read again, by what this time cost.
func (h *Host) budget(began time.Time, rss metric.Value) {
	now := time.Now()
	cost := now.Sub(began)
	h.pssNext, h.pssSoon = now.Add(pssShare*cost), now.Add(pssHaste*cost)
	if rss.Known() {
		h.pssRSS = max(h.pssRSS, rss.Number)
	}
}

// grown reports whether the tree has grown since PSS was read at its largest.
func (h *Host) grown() bool {
	return h.latest.RSS.Known() && h.latest.RSS.Number > pssGrowth*h.pssRSS
}

// passes reports whether this is the first reading above the limit: what is judged by PSS
// must know it then.
func (h *Host) passes(rss metric.Value) bool {
	if h.passed || h.opts.Limit <= 0 || !rss.Known() || rss.Number <= h.opts.Limit {
		return false
	}
	h.passed = true
	return true
}

func (h *Host) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.summary.Errors++
	h.summary.LastError = err.Error()
}

func (h *Host) keep(s HostSample, writeErr error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.summary.Samples > 0 {
		h.summary.LargestGap = max(h.summary.LargestGap, s.Time.Sub(h.latest.Time))
	}
	if !s.PSS.Known() && h.latest.PSS.Known() && s.Processes > 0 {
		s.PSS = h.latest.PSS // for the eye: the last that was read
	}
	h.latest = s
	h.summary.Samples++
	if h.err == nil {
		h.err = writeErr
	}
}

// Latest returns the last sample, with the last PSS that was read; ok is false before
// the first one.
func (h *Host) Latest() (s HostSample, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest, h.summary.Samples > 0
}

// Stop takes a last sample, ends the sampling and returns what is left to say of it. It
// may be called again. The error is the first of writing the log, or that a reading
// hangs in the kernel and was left behind.
func (h *Host) Stop() (HostSummary, error) {
	h.cancel()
	late := time.NewTimer(stopGrace)
	defer late.Stop()
	var hung error
	select {
	case <-h.done:
	case <-late.C:
		hung = fmt.Errorf("the last reading of the host's memory takes more than %s", stopGrace)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.summary, errors.Join(h.err, hung)
}
