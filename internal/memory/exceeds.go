package memory

import (
	"fmt"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// TorchUse is what torch held on one device in one process at its largest, in bytes. Torch
// counts every allocation, so these peaks have no gaps; when they were is not known.
type TorchUse struct {
	Label     string // rank 1 (pid 4711)
	Rank      int    // -1 where the process has none
	PIDs      []int  // the process's pid in each namespace
	Index     int    // of the device, as the process counts
	UUID      string // of the device; empty where torch did not say
	Allocated metric.Value
	Reserved  metric.Value // Allocated with what torch keeps for later
	Exception string       // what ended the process; empty where nothing did
	Partial   bool         // the process did not reach its exit: what it held is known until some time before
}

// partial is why what a use says is a lower bound.
func (u TorchUse) partial() string {
	return u.Label + " did not reach its exit, so what torch counted in it is a lower bound"
}

// Assign returns for each device the uses on it, and what a reader should know of that.
// A use is found by the device's UUID; where one of the two has none, by its place in the
// list of visible devices.
func Assign(torch []TorchUse, devices []device.Watched) (uses [][]TorchUse, notes []string) {
	uses = make([][]TorchUse, len(devices))
	for _, u := range torch {
		i, note := placed(u, devices)
		if note != "" {
			notes = append(notes, note)
		}
		if i >= 0 {
			uses[i] = append(uses[i], u)
		}
	}
	return uses, notes
}

func placed(u TorchUse, devices []device.Watched) (at int, note string) {
	slices, named := -1, 0
	for i, d := range devices {
		switch {
		case u.UUID != "" && d.UUID == u.UUID:
			return i, ""
		case u.UUID != "" && d.Parent == u.UUID && slices == -1:
			slices = i
		case u.UUID != "" && d.Parent == u.UUID:
			slices = -2
		}
		if d.UUID != "" {
			named++
		}
	}
	switch {
	case slices >= 0:
		return slices, ""
	case u.UUID != "" && named == len(devices):
		return -1, fmt.Sprintf("%s used %s, which was not watched", u.Label, u.UUID)
	case len(devices) == 1:
		return 0, ""
	case u.Index >= 0 && u.Index < len(devices):
		return u.Index, fmt.Sprintf("%s did not say which device its number %d is: it is taken for %s by its place in the list",
			u.Label, u.Index, labelOf(devices[u.Index].Index, devices[u.Index].UUID))
	}
	return -1, fmt.Sprintf("%s used a device number %d that was not watched", u.Label, u.Index)
}

// Exceed adds the doubts that torch's own peaks raise. uses are of the devices in their
// order, as Assign gives them. Of several processes on a device no more is known than that
// the device must have held the largest of them.
func (f *NvidiaFigures) Exceed(devices []device.Watched, uses [][]TorchUse) {
	for k, w := range devices {
		i := f.find(w.Device)
		if i < 0 || !f.Devices[i].Reserved.Known() {
			continue
		}
		top, found := worst(uses[k])
		if !found || top.Reserved.Number <= 0 {
			continue
		}
		d, peak := f.Devices[i], top.Reserved.Number/float64(unit.MiB)
		switch {
		case d.Reserved.Number == 0:
			f.note(i, Doubtful, fmt.Sprintf("%s never grew while torch held memory on it: the log may be of another device", d.label()))
		case d.Reserved.Number < peak:
			f.note(i, Doubtful, fmt.Sprintf(
				"%s grew by %.0f MiB as sampled, but torch reserved %s %.0f MiB in %s: the sampler missed at least %.0f MiB",
				d.label(), d.Reserved.Number, bound(top.Partial), peak, top.Label, peak-d.Reserved.Number))
		}
	}
}

// bound says what torch's largest figure of a process is.
func bound(partial bool) string {
	if partial {
		return "at least"
	}
	return "up to"
}

// find returns the place of a device, or -1.
func (f NvidiaFigures) find(d device.Device) int {
	for i, own := range f.Devices {
		if own.is(d.Index, d.UUID) {
			return i
		}
	}
	return -1
}

// is reports whether the figures are of that device; a UUID that is not known fits any.
func (f DeviceFigures) is(index int, uuid string) bool {
	return f.Index == index && (f.UUID == uuid || f.UUID == "" || uuid == "")
}

// worst returns the use that reserved most.
func worst(uses []TorchUse) (top TorchUse, found bool) {
	for _, u := range uses {
		if u.Reserved.Known() && (!found || u.Reserved.Number > top.Reserved.Number) {
			top, found = u, true
		}
	}
	return top, found
}

// Worst returns the use that reserved most of all, and the gap where none is known.
func Worst(torch []TorchUse) (TorchUse, metric.Value) {
	top, found := worst(torch)
	switch {
	case found:
		return top, top.Reserved
	case len(torch) > 0:
		return TorchUse{Rank: -1}, torch[0].Reserved
	}
	return TorchUse{Rank: -1}, metric.Missing("no process left a record of torch's memory on a device")
}
