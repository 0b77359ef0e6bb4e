package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/experiment"
	"tunebench/internal/record"
	"tunebench/internal/trainer"
	"tunebench/internal/unit"
)

// deviceWatch is the log of device memory beside one experiment, or the reason why
// there is none: trouble with it never fails an experiment.
type deviceWatch struct {
	log   deviceLog
	file  string
	watch *record.Watch
	of    string // what is watched, in a sentence
}

// familyName is what an experiment is called in a sentence: of any command it is no
// experiment.
func familyName(e experiment.Experiment) string {
	if e.Trainer == trainer.Any {
		return "command"
	}
	return "experiment"
}

func gpuLog(e experiment.Experiment) string { return filepath.Join(e.Dir, GPULogName) }

// watchDevices starts the log on exactly the experiment's devices and reads them once,
// before the trainer starts. The error is that the experiment must not start: its devices
// are busy, or the run was interrupted.
func watchDevices(ctx context.Context, e experiment.Experiment, token string, o Options) (*deviceWatch, error) {
	w := &deviceWatch{file: gpuLog(e), of: familyName(e)}
	if !slices.Contains(e.Sampling.Memory, experiment.MemoryNvidia) {
		return w, ctx.Err()
	}
	if len(e.Devices) == 0 {
		w.unknown(e.Sampling)
		return w, ctx.Err()
	}
	err := w.open(ctx, e, token, o)
	return w, cmp.Or(ctx.Err(), err) // what an interrupt broke off is no trouble of the devices
}

// open chooses the source and begins with it.
func (w *deviceWatch) open(ctx context.Context, e experiment.Experiment, token string, o Options) error {
	w.watch = &record.Watch{Source: e.Sampling.Source, Interval: e.Sampling.Interval}
	src, err := chooseSource(ctx, e.Sampling.Source, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		w.watch.Gap = err.Error()
		o.warn(fmt.Sprintf("%s: device memory will be missing: %v", e.Name, err))
		return nil
	}
	w.watch.Source = src.machine.Source
	w.note(src.fallback)
	if src.fallback != "" {
		o.warn(e.Name + ": " + src.fallback)
	}
	return w.begin(ctx, src, e, token, o)
}

// unknown notes why it is not known which devices there are; without such a reason there
// are none, and nothing is to be watched.
func (w *deviceWatch) unknown(s experiment.Sampling) {
	if s.NoDevices != "" {
		w.watch = &record.Watch{Source: s.Source, Interval: s.Interval, Gap: s.NoDevices}
	}
}

// begin starts the log with that source. The error is the one of watchDevices.
func (w *deviceWatch) begin(ctx context.Context, src source, e experiment.Experiment, token string, o Options) error {
	devices, problems := src.machine.Resolve(e.Devices)
	w.watch.Devices, w.watch.Notes = devices, append(w.watch.Notes, problems...)
	if len(devices) == 0 {
		w.watch.Gap = strings.Join(append([]string{"none of the experiment's devices could be found"}, problems...), "; ")
		o.warn(e.Name + ": device memory will be missing: " + w.watch.Gap)
		return nil
	}
	if doubt := orderDoubt(src.machine, e); doubt != "" {
		w.note(doubt)
		o.warn(e.Name + ": " + doubt)
	}
	notes, err := await(ctx, src, devices, e, o)
	w.watch.Notes = append(w.watch.Notes, notes...)
	if err != nil {
		return err
	}
	if w.log, err = src.start(ctx, devices, e, watchEnv(o, token), w.watch); err != nil {
		w.watch.Gap = err.Error()
		o.warn(fmt.Sprintf("%s: device memory will be missing: %v", e.Name, err))
	}
	return nil
}

// orderDoubt says that CUDA may count the devices in another order than the driver, where
// the models differ and an experiment names its devices by number.
func orderDoubt(m device.Machine, e experiment.Experiment) string {
	order := e.Env["CUDA_DEVICE_ORDER"]
	byNumber := slices.ContainsFunc(e.Devices, func(entry string) bool { _, ok := device.EntryIndex(entry); return ok })
	if order == "PCI_BUS_ID" || !byNumber {
		return ""
	}
	if !slices.ContainsFunc(m.Devices, func(d device.Surveyed) bool { return d.Name != m.Devices[0].Name }) {
		return ""
	}
	return fmt.Sprintf("CUDA_DEVICE_ORDER is %q and the models differ: device memory may be of another device than the trainer's (name devices by UUID, or unset it)", order)
}

func (w *deviceWatch) note(sentence string) {
	if sentence != "" {
		w.watch.Notes = append(w.watch.Notes, sentence)
	}
}

// stop ends the log and returns what there is to say of it; nil where nothing was to be
// watched. family is every process of the experiment that was seen.
func (w *deviceWatch) stop(family []int) *record.Watch {
	if w.log == nil {
		return w.watch
	}
	w.log.stop(w.watch)
	if untouched(w.watch.Summary, family) {
		w.note("no process of the " + w.of + " used the devices that were watched")
		return w.watch
	}
	w.note(unseen(w.watch.Summary, family))
	return w.watch
}

// untouched reports that nobody of the family used a device: none of them was seen on one,
// and no device grew by as much as the smallest user takes.
func untouched(s *device.Summary, family []int) bool {
	if s == nil || s.Exit != "" || len(family) == 0 || len(s.Devices) == 0 {
		return false // of a sampler that ended early nobody knows who came after it
	}
	for _, d := range s.Devices {
		ours := func(p device.ProcessUse) bool { return slices.Contains(family, p.PID) }
		if slices.ContainsFunc(d.Peak.Processes, ours) || slices.ContainsFunc(d.ProcessPeak.Processes, ours) {
			return false
		}
		rose := d.Peak.Used.Number - d.Baseline.Used.Number
		if d.Samples <= 2 || !d.Peak.Used.Known() || !d.Baseline.Used.Known() || rose >= float64(Negligible) {
			return false // two samples are of before the start and after the end
		}
	}
	return true
}

// grown is the growth of a device from which on it must have been somebody's.
const grown = 16 * unit.MiB

// unseen says on which of the devices none of the experiment's processes was ever seen
// while their memory grew: the log may then be of other devices than the trainer's. Where
// no list shows anybody, pids are hidden and nothing is proved. The figures are marked
// when they are computed, from the same lists.
func unseen(s *device.Summary, family []int) string {
	if s == nil || len(family) == 0 {
		return ""
	}
	var alone []string
	anybody := false
	for _, d := range s.Devices {
		listed := slices.Concat(d.Peak.Processes, d.ProcessPeak.Processes)
		ours := slices.ContainsFunc(listed, func(p device.ProcessUse) bool { return slices.Contains(family, p.PID) })
		anybody = anybody || len(listed) > 0
		if grew := d.Peak.Used.Number - d.Baseline.Used.Number; !ours && d.Peak.Used.Known() && d.Baseline.Used.Known() && grew > float64(grown) {
			alone = append(alone, fmt.Sprintf("%s (%s)", called(d.Device), unit.Bytes(grew)))
		}
	}
	if len(alone) == 0 || !anybody {
		return ""
	}
	return "none of the experiment's processes was seen on devices whose memory grew: " + strings.Join(alone, ", ") +
		": the memory may be another's, or the pids are of another namespace"
}

// tailBytes is enough for the last rows of eight devices.
const tailBytes = 2048

// now returns the memory in use over the experiment's devices, or nil where it is not known.
func (w *deviceWatch) now() *unit.Bytes {
	if w.log == nil {
		return nil
	}
	_, rows, found := bytes.Cut(tail(w.file, tailBytes), []byte("\n"))
	if !found {
		return nil
	}
	last := map[int]unit.Bytes{}
	log := strings.NewReader(device.LogHeader + "\n" + string(rows))
	if _, err := device.ReadLog(log, func(r device.Reading) { last[r.Index] = r.Used }); err != nil || len(last) == 0 {
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

// notStarted turns the reason for not starting into the words of an ending.
func notStarted(err error) (text string, interrupted bool) {
	var busy busyError
	if errors.As(err, &busy) {
		return busy.Error(), false
	}
	return err.Error(), true
}

// tick is how often a running experiment is looked at.
const tick = 500 * time.Millisecond
