package device

import (
	"fmt"
	"strings"
)

// IsMIG reports whether the device is a slice of a GPU.
func (d Device) IsMIG() bool { return strings.HasPrefix(d.UUID, "MIG-") }

// Resolve finds the devices that the entries of a visible-device list name on a machine:
// by index, UUID, or a prefix of exactly one UUID. As in CUDA an entry that names
// nothing ends the list, and one device named twice empties it; problems says so.
//
// A GPU that is cut into MIG slices is no device that a program can use: an entry that
// names it stands for its first slice, the only one that CUDA shows then. A MIG slice
// that the machine does not list is kept, with index -1: CUDA will find it, only its
// memory cannot be asked for here.
func (m Machine) Resolve(entries []string) (found []Device, problems []string) {
	for _, entry := range entries {
		d, problem := m.match(entry)
		if problem != "" {
			problems = append(problems, problem)
		}
		if d == nil {
			return found, problems
		}
		if contains(found, *d) {
			return nil, append(problems, fmt.Sprintf(
				"%s is a device that the list already holds, so CUDA sees no device at all", entry))
		}
		found = append(found, *d)
	}
	return found, problems
}

// Seen returns the devices of the machine that a program sees under the list.
func (m Machine) Seen(v Visible) (found []Device, problems []string) {
	if v.All {
		return m.Usable()
	}
	found, problems = m.Resolve(v.Entries)
	return found, append(append([]string(nil), v.Problems...), problems...)
}

// Usable returns the devices that a program may be given: GPUs, or where all are cut into
// MIG slices, the slices. One list cannot hold both, as in CUDA, and whole GPUs go first.
func (m Machine) Usable() (found []Device, notes []string) {
	var slices []Device
	for _, d := range m.Devices {
		if !d.IsCut() {
			found = append(found, d.Device)
			continue
		}
		if len(d.Slices) == 0 {
			notes = append(notes, m.noSlice(d))
		}
		for _, slice := range d.Slices {
			slices = append(slices, slice.Device)
		}
	}
	if len(found) == 0 {
		return slices, notes
	}
	if len(slices) > 0 {
		notes = append(notes, fmt.Sprintf(
			"%d MIG slices are left out: CUDA does not mix them with whole GPUs (name them by their UUIDs)", len(slices)))
	}
	return found, notes
}

// Entries spells devices for CUDA_VISIBLE_DEVICES: by index, and by UUID where one of the
// machine's GPUs is cut, since a slice has no index and CUDA then counts otherwise.
func (m Machine) Entries(devices []Device) []string {
	cut := false
	for _, d := range m.Devices {
		cut = cut || d.IsCut()
	}
	entries := make([]string, len(devices))
	for i, d := range devices {
		entries[i] = fmt.Sprint(d.Index)
		if cut && d.UUID != "" {
			entries[i] = d.UUID
		}
	}
	return entries
}

func (m Machine) match(entry string) (*Device, string) {
	var gpus []Surveyed
	var slices []Device
	index, isIndex := EntryIndex(entry)
	for _, d := range m.Devices {
		if isIndex && d.Index == index || !isIndex && names(entry, d.Device) {
			gpus = append(gpus, d)
		}
		for _, slice := range d.Slices {
			if !isIndex && names(entry, slice.Device) {
				slices = append(slices, slice.Device)
			}
		}
	}
	switch hits := len(gpus) + len(slices); {
	case hits > 1:
		return nil, fmt.Sprintf("%s is the beginning of %d devices' UUIDs, so it names none", entry, hits)
	case len(slices) == 1:
		return &slices[0], ""
	case len(gpus) == 1:
		return m.whole(entry, gpus[0])
	case strings.HasPrefix(entry, "MIG-"):
		return &Device{Index: -1, UUID: entry},
			fmt.Sprintf("%s is a MIG slice that %s does not list, so its memory cannot be read", entry, m.Source)
	}
	return nil, fmt.Sprintf("no device %s among the %d that %s lists", entry, len(m.Devices), m.Source)
}

func names(entry string, d Device) bool { return entry != "" && strings.HasPrefix(d.UUID, entry) }

// whole returns a GPU, or its first slice where it is cut.
func (m Machine) whole(entry string, d Surveyed) (*Device, string) {
	switch {
	case !d.IsCut():
		return &d.Device, ""
	case len(d.Slices) == 0:
		return nil, m.noSlice(d)
	case len(d.Slices) == 1:
		return &d.Slices[0].Device, ""
	}
	first := d.Slices[0].Device
	return &first, fmt.Sprintf("device %s is cut into %d MIG slices, of which CUDA shows one: taken for the first, %s (name the slice by its UUID)",
		entry, len(d.Slices), first.UUID)
}

func (m Machine) noSlice(d Surveyed) string {
	return fmt.Sprintf("device %d has MIG enabled and %s lists no slice of it, so no program can use it", d.Index, m.Source)
}

func contains(list []Device, d Device) bool {
	for _, other := range list {
		if other.Index == d.Index && other.UUID == d.UUID {
			return true
		}
	}
	return false
}
