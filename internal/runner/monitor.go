package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tunebench/internal/device/host"
	"tunebench/internal/executor/local"
	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/progress"
	"tunebench/internal/record"
	"tunebench/internal/sampler"
	"tunebench/internal/trainer"
	"tunebench/internal/unit"
)

// command is what run starts.
type command struct {
	argv, env []string
	token     string
	attached  *local.Stdio // nil: its output goes to files in the experiment's folder
	started   func()       // called once it has been started; may be nil
	tellGuard func([]int)  // of processes of the family
}

// seen is what the host showed of an experiment.
type seen struct {
	host record.Host
	pids []int // of every process of the family, ascending

	ignored []string // why the probe is not in some of them

	failure string // to start, as record.StartFailure has it
}

func startFailure(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return record.NotFound
	case errors.Is(err, fs.ErrPermission):
		return record.NotExecutable
	}
	return ""
}

// run starts the command and stays with it until its whole family has ended.
func run(ctx context.Context, e experiment.Experiment, c command, at place, devices *deviceWatch, o Options) (outcome.Ending, seen) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	process, err := local.Start(local.Command{
		Argv: c.argv, Env: c.env, Dir: e.Workdir, Token: c.token, Grace: o.grace(),
		Stdout: filepath.Join(e.Dir, StdoutName), Stderr: filepath.Join(e.Dir, StderrName), Attached: c.attached,
	})
	notes := record.Host{Interval: hostInterval(e), MaxRSSOneProcess: metric.Missing("the trainer was not started")}
	if err != nil {
		return outcome.Ending{StartError: err.Error()}, seen{host: notes, failure: startFailure(err)}
	}
	if c.started != nil {
		c.started()
	}
	m := &monitor{experiment: e, at: at, options: o, devices: devices, cancel: cancel, started: time.Now(), adopt: process.Adopt, tellGuard: c.tellGuard, pids: map[int]bool{process.PID(): true}, pythons: newPythons(host.Argv)}
	hosts, err := sampler.StartHost(context.WithoutCancel(ctx), sampler.HostOptions{
		Source:   host.Source{Root: process.PID(), Token: c.token},
		Interval: notes.Interval, File: filepath.Join(e.Dir, HostLog), OnSample: m.hostSample,
		Limit: float64(e.Limits.HostMemory),
	})
	if err != nil {
		notes.Notes = append(notes.Notes, err.Error())
	}
	stopLooking := m.look(process.Exited())
	ending := process.Finish(ctx, o.hurry())
	stopLooking()
	finishHost(hosts, process, &notes)
	return ending, seen{host: notes, pids: slices.Sorted(maps.Keys(m.pids)), ignored: m.pythons.notes}
}

// minHostInterval bounds the rate of host samples, whatever the devices' rate: /proc is
// read for every process, and the host's memory moves slowly.
const minHostInterval = 100 * time.Millisecond

func hostInterval(e experiment.Experiment) time.Duration {
	return max(minHostInterval, e.Sampling.Interval)
}

// finishHost ends the host sampling and notes what the kernel kept by itself.
func finishHost(hosts *sampler.Host, process *local.Process, notes *record.Host) {
	notes.MaxRSSOneProcess = metric.Missing("no process was larger than tunebench itself, whose memory the kernel counts in")
	if rss, ok := process.MaxRSS(); ok {
		notes.MaxRSSOneProcess = metric.Of(float64(rss))
	}
	if hosts == nil {
		return
	}
	summary, err := hosts.Stop()
	notes.Samples = summary.Samples
	if err != nil {
		notes.Notes = append(notes.Notes, err.Error())
	}
	if summary.Errors > 0 {
		notes.Notes = append(notes.Notes, fmt.Sprintf("%d host readings failed, the last with: %s", summary.Errors, summary.LastError))
	}
}

// monitor looks at a running experiment: it enforces the limits and tells how it goes.
type monitor struct {
	experiment experiment.Experiment
	at         place
	options    Options
	devices    *deviceWatch
	cancel     context.CancelCauseFunc
	started    time.Time

	adopt     func([]int) []int // has processes ended with the family; returns those that are new
	tellGuard func([]int)

	pids    map[int]bool // every process of the family that was seen; the sampler's alone until it has ended
	pythons *pythons     // the sampler's alone, too

	mu    sync.Mutex
	host  *unit.Bytes // PSS of the family, else RSS; nil: not known
	moved movement
}

// hostSample is called after each sample of the host's memory.
func (m *monitor) hostSample(s sampler.HostSample) {
	for _, pid := range s.PIDs {
		m.pids[pid] = true
	}
	m.tellGuard(m.adopt(s.PIDs))
	m.pythons.look(s.PIDs)
	used := s.PSS
	if !used.Known() {
		used = s.RSS // at least the PSS: shared pages count for each process
	}
	if !used.Known() {
		return
	}
	bytes := unit.Bytes(used.Number)
	m.mu.Lock()
	m.host = &bytes
	m.mu.Unlock()
	limit := m.experiment.Limits.HostMemory
	if limit > 0 && m.over(s, limit) {
		m.cancel(local.Stop{
			Why:    outcome.StoppedHostMemory,
			Detail: fmt.Sprintf("the experiment's processes held %v of host memory, its limit is %v", bytes, limit),
		})
	}
}

// over reports whether a sample is above the limit. RSS alone may count shared pages
// many times, so of several processes only PSS convicts; one process shares with nobody
// of its family.
func (m *monitor) over(s sampler.HostSample, limit unit.Bytes) bool {
	if s.PSS.Known() {
		return s.PSS.Number > float64(limit)
	}
	return s.Processes == 1 && s.RSS.Number > float64(limit)
}

// look begins to look at the experiment now and then; the returned function ends it.
func (m *monitor) look(exited <-chan struct{}) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	m.moved = newMovement(m.started)
	go func() {
		defer close(ended)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-exited:
				return
			case now := <-ticker.C:
				m.once(now)
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// once tells the state of the experiment and ends it where a limit of time is reached.
func (m *monitor) once(now time.Time) {
	m.mu.Lock()
	hostMemory := m.host
	m.mu.Unlock()
	deviceMemory := m.devices.now()
	limits := m.experiment.Limits
	if limits.Timeout > 0 && now.Sub(m.started) >= limits.Timeout {
		m.cancel(local.Stop{Why: outcome.StoppedTimeout, Detail: fmt.Sprintf("it ran for %v, its --timeout", limits.Timeout)})
	}
	printed := size(filepath.Join(m.experiment.Dir, StdoutName)) + size(filepath.Join(m.experiment.Dir, StderrName))
	still := m.moved.still(now, printed, deviceMemory, hostMemory)
	if limits.Stall > 0 && still >= limits.Stall {
		m.cancel(local.Stop{Why: outcome.StoppedStall, Detail: fmt.Sprintf("it printed nothing and its memory did not move for %v (--stall)", limits.Stall)})
	}
	event := progress.Event{Kind: progress.Sampled, Device: deviceMemory, Host: hostMemory}
	if step, ok := m.step(); ok {
		event.Step, event.Steps = step.Step, step.Total
	}
	m.options.tell(m.at.event(event, m.experiment))
}

// step reads the current step from the end of what the trainer has printed.
func (m *monitor) step() (trainer.Step, bool) {
	for _, name := range []string{StderrName, StdoutName} {
		if step, ok := trainer.LastStep(tail(filepath.Join(m.experiment.Dir, name), 4096)); ok && step.Total > 0 {
			return step, true
		}
	}
	return trainer.Step{}, false
}

// movement remembers since when nothing has moved.
type movement struct {
	since        time.Time
	printed      int64
	device, host unit.Bytes
}

func newMovement(now time.Time) movement { return movement{since: now, device: -1, host: -1} }

// stillness is what memory may waver by and still count as not moving: a waiting
// interpreter's heap breathes.
const stillness = 4 * unit.MiB

// still returns for how long nothing has been printed and no memory has moved.
func (m *movement) still(now time.Time, printed int64, device, host *unit.Bytes) time.Duration {
	d, h := known(device), known(host)
	if printed != m.printed || apart(d, m.device) || apart(h, m.host) {
		*m = movement{since: now, printed: printed, device: d, host: h}
	}
	return now.Sub(m.since)
}

func known(b *unit.Bytes) unit.Bytes {
	if b == nil {
		return -1
	}
	return *b
}

func apart(a, b unit.Bytes) bool {
	if (a < 0) != (b < 0) {
		return true
	}
	return max(a-b, b-a) > stillness
}
