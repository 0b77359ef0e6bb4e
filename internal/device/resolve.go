package device

import (
	"fmt"
	"strings"
)

// IsMIG reports whether the device is a slice of a GPU.
func (d Device) IsMIG() bool { return strings.HasPrefix(d.UUID, "MIG-") }

// Resolve finds the devices that the entries of a visible-device list name among all:
// by index, UUID, or a prefix of exactly one UUID. As in CUDA an entry that names
// nothing ends the list, and one device named twice empties it; problems says so.
//
// A MIG slice that all does not hold is kept, with index -1: CUDA will find it, only
// its memory cannot be asked for here.
func Resolve(entries []string, all []Device) (found []Device, problems []string) {
	for _, entry := range entries {
		d, problem := match(entry, all)
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

// Devices returns the devices that are visible of all.
func (v Visible) Devices(all []Device) ([]Device, []string) {
	if v.All {
		return all, nil
	}
	found, problems := Resolve(v.Entries, all)
	return found, append(append([]string(nil), v.Problems...), problems...)
}

func match(entry string, all []Device) (*Device, string) {
	var hits []Device
	index, isIndex := EntryIndex(entry)
	for _, d := range all {
		if isIndex && d.Index == index || !isIndex && entry != "" && strings.HasPrefix(d.UUID, entry) {
			hits = append(hits, d)
		}
	}
	switch {
	case len(hits) == 1:
		return &hits[0], ""
	case len(hits) > 1:
		return nil, fmt.Sprintf("%s is the beginning of %d devices' UUIDs, so it names none", entry, len(hits))
	case strings.HasPrefix(entry, "MIG-"):
		return &Device{Index: -1, UUID: entry},
			fmt.Sprintf("%s is a MIG slice, whose memory nvidia-smi does not log", entry)
	}
	return nil, fmt.Sprintf("no device %s among the %d that nvidia-smi lists", entry, len(all))
}

func contains(list []Device, d Device) bool {
	for _, other := range list {
		if other.Index == d.Index && other.UUID == d.UUID {
			return true
		}
	}
	return false
}
