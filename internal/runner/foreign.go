package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// Negligible is what a process may hold of a device that still counts as free: a desktop
// on the card draws with some MiB, where a CUDA context alone takes hundreds.
const Negligible = 64 * unit.MiB

// Bounds of waiting for devices to become free.
const (
	lookEvery     = time.Second
	tellEvery     = 30 * time.Second // what is waited for
	leftoverWait  = 30 * time.Second // for memory that an earlier experiment left behind
	leftoverSlack = 64 * unit.MiB    // above the lowest that the device was seen at
	inUse         = unit.GiB         // without a list of processes, so much means that others use the device
	working       = 5.0              // % of utilisation from which small processes count, too: a desktop flickers
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
	w := waiting{name: e.Name, tell: o.warn}
	for {
		machine, err := src.survey(ctx)
		if ctx.Err() != nil {
			return notes, ctx.Err()
		}
		if err != nil {
			return append(notes, fmt.Sprintf("who is on the devices is not known: %v", err)), nil
		}
		seen := onDevices(machine, devices, o.idle)
		switch {
		case seen.foreign != "" && e.Sampling.Foreign == experiment.ForeignFail:
			return notes, busyError{seen.foreign}
		case seen.foreign != "" && e.Sampling.Foreign != experiment.ForeignWait:
			o.warn(e.Name + ": " + seen.foreign)
			return append(notes, "before the start "+seen.foreign), nil
		case seen.foreign != "":
			w.forOthers(seen.foreign)
		case seen.left == "":
			return append(notes, seen.notes()...), nil
		case w.forMemory(seen.left):
			o.warn(e.Name + ": " + seen.left)
			return append(notes, fmt.Sprintf("%s after %v of waiting", seen.left, leftoverWait)), nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return notes, err
		}
	}
}

// waiting says what an experiment waits for: at once, and then now and then.
type waiting struct {
	name string
	tell func(string)

	since time.Time // of what is waited for now
	told  time.Time // the last time
	left  bool      // memory without a holder is waited for, not others
}

// forOthers waits for processes to end, as long as it takes.
func (w *waiting) forOthers(what string) {
	w.begin(false)
	w.say("for others to leave the device (--foreign wait)", what)
}

// forMemory waits for memory that no process holds. It reports whether that was enough.
func (w *waiting) forMemory(what string) (enough bool) {
	w.begin(true)
	if time.Since(w.since) >= leftoverWait {
		return true
	}
	w.say(fmt.Sprintf("at most %v for memory to be given back", leftoverWait), what)
	return false
}

func (w *waiting) begin(left bool) {
	if w.since.IsZero() || w.left != left {
		w.since, w.told, w.left = time.Now(), time.Time{}, left
	}
}

func (w *waiting) say(why, what string) {
	if !w.told.IsZero() && time.Since(w.told) < tellEvery {
		return
	}
	w.told = time.Now()
	waited := ""
	if passed := time.Since(w.since).Round(time.Second); passed > 0 {
		waited = fmt.Sprintf(", %v so far", passed)
	}
	w.tell(fmt.Sprintf("%s waits %s%s: %s", w.name, why, waited, what))
}

// onDevice is what was seen on the experiment's devices; the texts are empty for free ones.
type onDevice struct {
	foreign string // who uses them
	left    string // memory without a process that would hold it
	small   string // who holds too little to count
}

// notes are for the record of an experiment that starts although somebody is there.
func (s onDevice) notes() []string {
	if s.small == "" {
		return nil
	}
	return []string{"before the start " + s.small + " (less than " + Negligible.String() + " each, which does not count as use)"}
}

func onDevices(m device.Machine, devices []device.Device, known *idle) (seen onDevice) {
	for _, d := range devices {
		m.Each(func(s device.Surveyed) {
			if s.Index != d.Index || s.UUID != d.UUID {
				return
			}
			foreign, small := foreignOn(s)
			seen.foreign, seen.small = join(seen.foreign, foreign), join(seen.small, small)
			if extra := known.leftover(d, s.Used); extra > leftoverSlack && foreign == "" {
				seen.left = join(seen.left, fmt.Sprintf("%s still holds %v that an earlier experiment left", called(d), extra))
			}
		})
	}
	return seen
}

// foreignOn says which processes use the device, and which hold only a little of it.
// Without a list, much memory says that somebody uses it.
func foreignOn(d device.Surveyed) (users, small string) {
	for _, p := range d.Processes {
		amount := "an unknown amount"
		if p.Used.Known() {
			amount = unit.Bytes(p.Used.Number).String()
		}
		who := fmt.Sprintf("process %d held %s of %s", p.PID, amount, called(d.Device))
		if negligible(d, p) {
			small = commas(small, who)
		} else {
			users = commas(users, who)
		}
	}
	if users == "" && small == "" && d.ProcessesGap != "" && d.Used.Known() && unit.Bytes(d.Used.Number) >= inUse {
		users = fmt.Sprintf("%v of %s were in use, by whom is not known (%s)", unit.Bytes(d.Used.Number), called(d.Device), d.ProcessesGap)
	}
	return users, small
}

// negligible reports whether a process may share the device with an experiment: it holds
// little, and the device, as far as it says, does nothing. One that does not say how much it
// holds does not hold more than the whole device.
func negligible(d device.Surveyed, p device.ProcessUse) bool {
	if d.Utilisation.Known() && d.Utilisation.Number >= working {
		return false
	}
	held := p.Used
	if !held.Known() {
		held = d.Used
	}
	return held.Known() && unit.Bytes(held.Number) < Negligible
}

func commas(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
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
