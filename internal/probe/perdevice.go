package probe

import (
	"fmt"

	"tunebench/internal/metric"
)

// Share is what one process held on a device through torch, in bytes.
type Share struct {
	Label string // rank 1 (pid 4711)
	PID   int
	Role  Role
	Place *Place
	Device
}

// DeviceUse is what all processes held on one device.
//
// The sums are of each process's own largest value: they bound what was held at one
// moment, which torch does not know. With one process on a device they are exact.
type DeviceUse struct {
	UUID, Name   string // UUID is empty where torch did not say
	Index        int    // as the first process that used it counts
	Shares       []Share
	Worst        int // the share with the largest allocated peak; -1 where no peak is known
	AllocatedSum metric.Value
	ReservedSum  metric.Value
}

// PerDevice combines the processes on each device, in the order in which they are first
// met, ranks first. A device without a UUID is told apart by its index and process: two
// processes may count differently.
func (r Report) PerDevice() []DeviceUse {
	var uses []DeviceUse
	at := map[string]int{}
	for _, p := range r.Processes {
		for _, d := range p.Devices {
			key := identity(p, d)
			i, known := at[key]
			if !known {
				i = len(uses)
				at[key] = i
				uses = append(uses, DeviceUse{UUID: d.UUID, Name: d.Name, Index: d.Index})
			}
			share := Share{Label: p.Label(), PID: p.PID, Role: p.Role, Place: p.Place, Device: d}
			uses[i].Shares = append(uses[i].Shares, share)
		}
	}
	for i := range uses {
		uses[i].combine()
	}
	return uses
}

func identity(p Process, d Device) string {
	if d.UUID != "" {
		return d.UUID
	}
	return fmt.Sprintf("%s#%d", p.File, d.Index)
}

func (u *DeviceUse) combine() {
	u.Worst = -1
	u.AllocatedSum, u.ReservedSum = metric.Of(0), metric.Of(0)
	for i, s := range u.Shares {
		u.AllocatedSum = plus(u.AllocatedSum, s.AllocatedPeak, s.Label)
		u.ReservedSum = plus(u.ReservedSum, s.ReservedPeak, s.Label)
		if !s.AllocatedPeak.Known() {
			continue
		}
		if u.Worst < 0 || s.AllocatedPeak.Number > u.Shares[u.Worst].AllocatedPeak.Number {
			u.Worst = i
		}
	}
}

// plus adds a figure to a sum; one that is missing makes the sum missing.
func plus(sum, v metric.Value, label string) metric.Value {
	switch {
	case !sum.Known():
		return sum
	case !v.Known():
		return metric.Missing(label + ": " + v.Gap)
	}
	return metric.Of(sum.Number + v.Number)
}
