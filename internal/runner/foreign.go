package runner

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// Bounds of waiting for devices to become free.
const (
	lookEvery     = time.Second
	leftoverWait  = 30 * time.Second // for memory that an earlier experiment left behind
	leftoverSlack = 64 * unit.MiB    // above the lowest that the device was seen at
	inUse         = unit.GiB         // without a list of processes, so much means that others use the device
)

// idle remembers the lowest memory that each device was seen at in this run, so that
// what an earlier experiment left behind is told from what the driver always holds.
type idle struct {
	mu     sync.Mutex
	lowest map[string]unit.Bytes
}

func newIdle() *idle { return &idle{lowest: map[string]unit.Bytes{}} }

// leftover returns how much more than at its lowest the device holds.
func (i *idle) leftover(d device.Device, used metric.Value) unit.Bytes {
	if i == nil || !used.Known() {
		return 0
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	key := fmt.Sprint(d.Index, d.UUID)
	now := unit.Bytes(used.Number)
	lowest, seen := i.lowest[key]
	if !seen || now < lowest {
		i.lowest[key] = now
		return 0
	}
	return now - lowest
}

// busyError says that a device is in use and --foreign fail was given.
type busyError struct{ text string }

func (e busyError) Error() string {
	return e.text + ", and --foreign fail was given (free the device, choose another with --gpus, or take --foreign wait)"
}

// await looks at the experiment's devices before the start. It waits for memory that an
// earlier experiment left, and does with foreign processes what the experiment says.
// The notes are for the record.
func await(ctx context.Context, src deviceSource, devices []device.Device, e experiment.Experiment, o Options) (notes []string, err error) {
	began, told := time.Now(), false
	for {
		machine, err := src.survey(ctx)
		if err != nil {
			return append(notes, fmt.Sprintf("who is on the devices is not known: %v", err)), nil
		}
		foreign, left := onDevices(machine, devices, o.idle)
		switch {
		case foreign != "" && e.Sampling.Foreign == experiment.ForeignFail:
			return notes, busyError{foreign}
		case foreign != "" && e.Sampling.Foreign != experiment.ForeignWait:
			o.warn(e.Name + ": " + foreign)
			return append(notes, "before the start "+foreign), nil
		case foreign == "" && left == "":
			return notes, nil
		case foreign == "" && time.Since(began) >= leftoverWait:
			o.warn(e.Name + ": " + left)
			return append(notes, fmt.Sprintf("%s after %v of waiting", left, leftoverWait)), nil
		}
		if !told && foreign != "" {
			o.warn(fmt.Sprintf("%s waits: %s", e.Name, foreign))
			told = true
		}
		if err := pause(ctx, lookEvery); err != nil {
			return notes, err
		}
	}
}

// onDevices says who is on the experiment's devices, and what memory was left there
// without a process that would hold it; both are empty for a free device.
func onDevices(m device.Machine, devices []device.Device, known *idle) (foreign, left string) {
	for _, d := range devices {
		m.Each(func(s device.Surveyed) {
			if s.Index != d.Index || s.UUID != d.UUID {
				return
			}
			who := foreignOn(s)
			foreign = join(foreign, who)
			if extra := known.leftover(d, s.Used); extra > leftoverSlack && who == "" {
				left = join(left, fmt.Sprintf("%s still holds %v that an earlier experiment left", called(d), extra))
			}
		})
	}
	return foreign, left
}

// foreignOn says which processes hold the device. Without a list, much memory says that
// somebody does.
func foreignOn(d device.Surveyed) string {
	var who []string
	for _, p := range d.Processes {
		amount := "an unknown amount"
		if p.Used.Known() {
			amount = unit.Bytes(p.Used.Number).String()
		}
		who = append(who, fmt.Sprintf("process %d held %s of %s", p.PID, amount, called(d.Device)))
	}
	if len(who) > 0 {
		return strings.Join(who, ", ")
	}
	if d.ProcessesGap != "" && d.Used.Known() && unit.Bytes(d.Used.Number) >= inUse {
		return fmt.Sprintf("%v of %s were in use, by whom is not known (%s)", unit.Bytes(d.Used.Number), called(d.Device), d.ProcessesGap)
	}
	return ""
}

// called is a device in a sentence: a slice has no index.
func called(d device.Device) string {
	if d.Index < 0 {
		return d.UUID
	}
	return fmt.Sprintf("device %d", d.Index)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
