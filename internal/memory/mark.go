package memory

import (
	"fmt"
	"slices"
	"strings"
)

// Mark says how far a figure can be trusted. A graver mark is a larger one.
type Mark int

// The marks.
const (
	Sure         Mark = iota // nothing is known against it
	Doubtful                 // readings are missing, or another counter contradicts
	Contaminated             // others than the experiment held memory of the device, and it moved
)

// String returns the sign that stands before a marked figure, and nothing for a sure one.
func (m Mark) String() string {
	switch m {
	case Doubtful:
		return "~"
	case Contaminated:
		return "!"
	}
	return ""
}

// note adds a doubt with what it means for the figures.
func (f *DeviceFigures) note(m Mark, text string) {
	if !slices.Contains(f.Notes, text) {
		f.Notes = append(f.Notes, text)
	}
	f.Mark = max(f.Mark, m)
}

// label names the device for people.
func (f DeviceFigures) label() string { return labelOf(f.Index, f.UUID) }

func labelOf(index int, uuid string) string {
	if index < 0 || strings.HasPrefix(uuid, "MIG-") {
		return "device " + uuid
	}
	return fmt.Sprintf("device %d", index)
}

// ID returns the device's index, or the UUID of one that has no index of its own.
func (f DeviceFigures) ID() string {
	return strings.TrimPrefix(f.label(), "device ")
}

// gravest returns the gravest mark of the devices that count in the mean; one that is
// left out of it makes it doubtful.
func (f NvidiaFigures) gravest() Mark {
	out := Sure
	for _, d := range f.Devices {
		switch {
		case d.Reserved.Known():
			out = max(out, d.Mark)
		case f.Reserved.Known():
			out = max(out, Doubtful)
		}
	}
	return out
}

// note adds a doubt on device i to it and to the doubts of all.
func (f *NvidiaFigures) note(i int, m Mark, text string) {
	f.Devices[i].note(m, text)
	if !slices.Contains(f.Doubts, text) {
		f.Doubts = append(f.Doubts, text)
	}
	f.Mark = max(f.Mark, f.gravest())
}
