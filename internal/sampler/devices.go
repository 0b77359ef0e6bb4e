package sampler

import (
	"context"
	"sync"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// DeviceSource reads devices, known by their place in a list that both sides agreed on.
// A call may hang with the driver: no lock is held over it.
type DeviceSource interface {
	// Memory puts the bytes in use on each device, or the gap, into used.
	Memory(ctx context.Context, used []metric.Value)
	// Processes lists who holds memory on device i; gap says why that is not known.
	Processes(ctx context.Context, i int) (list []device.ProcessUse, gap string)
	// State says what device i does.
	State(ctx context.Context, i int) device.State
}

// DeviceOptions say how devices are sampled.
type DeviceOptions struct {
	Source   DeviceSource
	Devices  []device.Watched // who they are, as Source knows them; the figures are filled in here
	Interval time.Duration    // between two samples; 0: DefaultDeviceInterval
	Logs     DeviceLogs
	// Wait returns at that time, or earlier with the context; nil: a timer of the
	// runtime, which is up to a millisecond late.
	Wait func(ctx context.Context, until time.Time)
}

// How often what is read, and written where nothing changes.
const (
	DefaultDeviceInterval = 100 * time.Millisecond
	heartbeat             = time.Second
	processesEvery        = 100 * time.Millisecond
	stateEvery            = 5 * time.Second // power and clocks cost milliseconds to read
)

// Devices samples the memory of devices.
type Devices struct {
	opts  DeviceOptions
	first chan struct{}
	used  []metric.Value // of the sample that is being taken; the loop's own
	log   deviceLog      // the loop's own

	mu      sync.Mutex // guards what follows; never held over a call of the source
	pace    pace
	series  []series
	logErrs []string
}

// NewDevices prepares the sampling; Run does it.
func NewDevices(opts DeviceOptions) *Devices {
	if opts.Interval <= 0 {
		opts.Interval = DefaultDeviceInterval
	}
	if opts.Wait == nil {
		opts.Wait = waitTimer
	}
	d := &Devices{
		opts: opts, first: make(chan struct{}),
		used: make([]metric.Value, len(opts.Devices)), log: newDeviceLog(opts.Logs),
	}
	for _, w := range opts.Devices {
		d.series = append(d.series, newSeries(w))
	}
	return d
}

// First is closed after the first sample.
func (d *Devices) First() <-chan struct{} { return d.first }

// Run samples at once, then at start + n x interval, and a last time when the context
// is done. Deadlines are absolute, so that a late sample does not delay the next ones;
// those that have passed when a sample ends are lost and counted, not caught up.
func (d *Devices) Run(ctx context.Context) {
	start := time.Now()
	d.sample(ctx, false)
	close(d.first)
	for n := int64(0); ; {
		due := int64(time.Since(start)/d.opts.Interval) + 1
		d.lose(due - n - 1)
		n = due
		d.opts.Wait(ctx, start.Add(time.Duration(n)*d.opts.Interval))
		if ctx.Err() != nil {
			d.sample(context.WithoutCancel(ctx), true)
			return
		}
		d.sample(ctx, false)
	}
}

func waitTimer(ctx context.Context, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (d *Devices) lose(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pace.lost += int(n)
}

// sample takes one sample of every device. What costs more is read where it is due, one
// device after the other and not all in the same sample.
func (d *Devices) sample(ctx context.Context, last bool) {
	d.opts.Source.Memory(ctx, d.used)
	now := time.Now()
	d.keep(now, last)
	for i := range d.series {
		s := &d.series[i]
		if s.peaked || last || !now.Before(s.processesDue) {
			d.processes(ctx, i, now, last)
		}
		if last || !now.Before(s.stateDue) {
			d.log.state(now, s.watched.Index, d.opts.Source.State(ctx, i))
			s.stateDue = now.Add(stateEvery - stagger(stateEvery, i, len(d.series), s.stateDue))
		}
		if last || s.changed(d.used[i], now) {
			s.wrote(d.used[i], now)
			d.log.memory(now, &s.watched, d.used[i])
		}
	}
	d.flush()
}

// keep takes the sample into the figures.
func (d *Devices) keep(now time.Time, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pace.add(now, last)
	for i := range d.series {
		d.series[i].add(d.used[i], now)
	}
}

// processes reads who holds the device, into the figures and, no more often than they
// are due, into the log.
func (d *Devices) processes(ctx context.Context, i int, now time.Time, last bool) {
	list, gap := d.opts.Source.Processes(ctx, i)
	s := &d.series[i]
	d.mu.Lock()
	s.held(list, gap, now)
	d.mu.Unlock()
	due := !now.Before(s.processesDue)
	if (due || last) && s.processesChanged(list, gap) {
		d.log.processes(now, &s.watched.Device, list, gap)
	}
	if due && s.watched.Source != device.FromProcesses {
		s.processesDue = now.Add(processesEvery - stagger(processesEvery, i, len(d.series), s.processesDue))
	}
}

// stagger moves the first repetition of device i forward, so that the devices' turns
// fall into different samples.
func stagger(every time.Duration, i, n int, due time.Time) time.Duration {
	if !due.IsZero() {
		return 0
	}
	return every * time.Duration(i) / time.Duration(n)
}

// flush writes the rows of this sample. A log that cannot be written costs the log, not
// the figures.
func (d *Devices) flush() {
	for _, text := range d.log.flush() {
		d.mu.Lock()
		d.logErrs = append(d.logErrs, text)
		d.mu.Unlock()
	}
}

// Summary returns what is known by now. It does not wait for a sample that is being
// taken, and counts the time since the last one as a gap.
func (d *Devices) Summary() device.Summary {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	out := d.pace.summary(d.opts.Interval, now)
	out.Notes = append(out.Notes, d.logErrs...)
	for i := range d.series {
		out.Devices = append(out.Devices, d.series[i].summary(now, d.pace.ended))
	}
	return out
}
