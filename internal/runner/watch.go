package runner

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/device/smi"
	"tunebench/internal/executor/local"
	"tunebench/internal/experiment"
	"tunebench/internal/record"
	"tunebench/internal/unit"
)

// deviceWatch is the logger of device memory beside one experiment, or the reason why
// there is none: trouble with it never fails an experiment.
type deviceWatch struct {
	logger *smi.Logger
	file   string
	watch  *record.Watch
}

// watchDevices starts the logger on exactly the experiment's devices and reads them
// once, before the trainer starts.
func watchDevices(ctx context.Context, e experiment.Experiment, token string, o Options) *deviceWatch {
	w := &deviceWatch{file: filepath.Join(e.Dir, GPULogName)}
	if !slices.Contains(e.Sampling.Memory, "nvidia") || len(e.Devices) == 0 {
		return w
	}
	w.watch = &record.Watch{Source: "nvidia-smi", Interval: e.Sampling.Interval}
	if o.SMI == nil {
		w.note("nvidia-smi is not on PATH, so device memory was not logged")
		return w
	}
	all, err := o.SMI.List(ctx)
	if err != nil {
		w.note(err.Error())
	}
	devices, problems := device.Resolve(e.Devices, all)
	w.watch.Notes = append(w.watch.Notes, problems...)
	w.watch.Devices = devices
	if len(devices) == 0 {
		w.note("none of the experiment's devices could be found, so device memory was not logged")
		return w
	}
	w.start(ctx, e, token, o)
	return w
}

func (w *deviceWatch) start(ctx context.Context, e experiment.Experiment, token string, o Options) {
	levels, err := o.SMI.Read(ctx, w.watch.Devices)
	if err != nil {
		w.note(err.Error())
	}
	for _, level := range levels {
		w.watch.Baseline = append(w.watch.Baseline, record.Baseline(level))
	}
	env := append(slices.Clone(o.Environ), local.FamilyEnv+"="+local.WatchToken(token))
	w.logger, err = o.SMI.Log(ctx, w.watch.Devices, e.Sampling.Interval, w.file, env)
	if err != nil {
		w.note(err.Error())
		return
	}
	w.watch.Notes = append(w.watch.Notes, w.logger.Notes()...)
}

func (w *deviceWatch) note(sentence string) { w.watch.Notes = append(w.watch.Notes, sentence) }

// stop ends the logger and returns what there is to say of it; nil where nothing was to be watched.
func (w *deviceWatch) stop() *record.Watch {
	if w.logger == nil {
		return w.watch
	}
	exit, err := w.logger.Stop()
	if err != nil {
		w.note(fmt.Sprintf("the logger could not be ended: %v", err))
	}
	w.watch.Exit = exit
	return w.watch
}

// tailBytes is enough for the last rows of eight devices.
const tailBytes = 2048

// now returns the memory in use over the experiment's devices, or nil where it is not known.
func (w *deviceWatch) now() *unit.Bytes {
	if w.logger == nil {
		return nil
	}
	text := tail(w.file, tailBytes)
	_, rows, found := bytes.Cut(text, []byte("\n"))
	if !found {
		return nil
	}
	last := map[int]unit.Bytes{}
	header := strings.NewReader(device.LogHeader + "\n" + string(rows))
	if _, err := device.ReadLog(header, func(r device.Reading) { last[r.Index] = r.Used }); err != nil || len(last) == 0 {
		return nil
	}
	var sum unit.Bytes
	for _, used := range last {
		sum += used
	}
	return &sum
}

// tail returns at most the last n bytes of a file, and nothing of one that cannot be read.
func tail(path string, n int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	buf := make([]byte, min(n, info.Size()))
	read, _ := f.ReadAt(buf, info.Size()-int64(len(buf))) // a shorter tail is a tail
	return buf[:read]
}

// size returns the bytes in a file, 0 where it is not there.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tick is how often a running experiment is looked at.
const tick = 500 * time.Millisecond
