package nvml

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/sampler"
)

// Bounds of the child.
const (
	stateEvery   = time.Second
	finishWithin = 2 * time.Second       // for a call of the driver that is under way at the end
	precise      = 20 * time.Millisecond // down from here the runtime's timers, up to a millisecond late, are too late
)

// Serve is the main function of the child. It reads a request from stdin, answers with
// lines of JSON on stdout, and ends with the context, with SIGTERM, with a second line
// on stdin or with stdin's end, so that it never outlives the one who started it. It
// takes no arguments. It returns the exit code: 0, or 1 where nothing could be watched,
// 2 for a bad request, 3 where a call of the driver never returned.
func Serve(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) int {
	out := &replies{w: stdout}
	if len(args) > 0 {
		out.send(reply{Error: fmt.Sprintf("%s takes no arguments, got %q", Command, args)})
		return 2
	}
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	var req request
	if err == nil {
		err = json.Unmarshal(line, &req)
	}
	if err != nil {
		out.send(reply{Error: fmt.Sprintf("read the request: %v", err)})
		return 2
	}
	runtime.GOMAXPROCS(2) // a process beside the trainer: the loop, and what speaks for it
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = in.ReadByte() // a line or the end: both mean that it is enough
	}()
	c := &child{req: req, out: out}
	return c.run(ctx)
}

// child is one request that is being served.
type child struct {
	req   request
	out   *replies
	work  work
	ended chan int
}

// run does the work in a goroutine that can be left behind.
func (c *child) run(ctx context.Context) int {
	c.ended = make(chan int, 1)
	go func() { c.ended <- c.serve(ctx) }()
	select {
	case exit := <-c.ended:
		return exit
	case <-ctx.Done():
	}
	late := time.NewTimer(finishWithin)
	defer late.Stop()
	select {
	case exit := <-c.ended:
		return exit
	case <-late.C:
	}
	c.abandon()
	return 3
}

func (c *child) serve(ctx context.Context) int {
	s, err := open(c.req.Library)
	if err != nil {
		c.out.send(reply{Error: err.Error(), NoNVML: errors.Is(err, fs.ErrNotExist)})
		return 1
	}
	c.work.opened(s)
	if c.req.List {
		m, err := s.survey()
		if err != nil {
			c.out.send(reply{Error: err.Error()})
			return 1
		}
		s.close()
		c.out.send(reply{Machine: &m})
		return 0
	}
	if err := c.watch(ctx, s); err != nil {
		c.out.send(reply{Error: err.Error()})
		return 1
	}
	return 0
}

// watch samples until the context is done. The energy counters, which take a while, are
// read before the first sample and after the last one.
func (c *child) watch(ctx context.Context, s *session) error {
	w, d, closeLogs, err := c.prepare(s)
	if err != nil {
		return err
	}
	defer c.speak(ctx, d)()
	d.Run(ctx)
	c.work.finished(w.energies(s))
	s.close()
	if err := closeLogs(); err != nil {
		c.work.note(fmt.Sprintf("close the devices' logs: %v", err))
	}
	final := c.work.summary()
	c.out.send(reply{Final: &final})
	return nil
}

func (c *child) prepare(s *session) (*watcher, *sampler.Devices, func() error, error) {
	want, notes := c.req.Devices, []string(nil)
	if len(want) == 0 {
		all, problems, err := s.gpus()
		if err != nil {
			return nil, nil, nil, err
		}
		notes = problems
		for i := range all {
			want = append(want, device.Device{Index: i})
		}
	}
	w, watched, err := s.watch(want)
	if err != nil {
		return nil, nil, nil, err
	}
	logs, closeLogs := sampler.DeviceLogs{}, func() error { return nil }
	if c.req.Dir != "" {
		open := sampler.OpenDeviceLogs
		if c.req.Again {
			open = sampler.ReopenDeviceLogs
		}
		if logs, closeLogs, err = open(c.req.Dir); err != nil {
			return nil, nil, nil, err
		}
	}
	opts := sampler.DeviceOptions{Source: w, Devices: watched, Interval: c.req.Interval, Logs: logs}
	if c.req.Interval > 0 && c.req.Interval <= precise {
		opts.Wait = waitPrecisely(c.req.Interval)
	}
	d := sampler.NewDevices(opts)
	c.work.began(d, notes)
	return w, d, closeLogs, nil
}

// speak says when the first sample is there, and then every second what is known, until
// the returned function is called.
func (c *child) speak(ctx context.Context, d *sampler.Devices) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(stateEvery)
		defer tick.Stop()
		first := d.First()
		for {
			select {
			case <-first:
				first = nil
				ready := c.work.summary()
				c.out.send(reply{Ready: &ready})
			case <-tick.C:
				state := c.work.summary()
				c.out.send(reply{State: &state})
			case <-ctx.Done():
				return
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// abandon tells what is known where a call of the driver does not return.
func (c *child) abandon() {
	s, text := c.work.summary(), c.work.hung()
	if len(s.Devices) == 0 {
		c.out.send(reply{Error: text})
		return
	}
	s.Exit = text
	c.out.send(reply{Final: &s})
}
