// Package device says what a GPU is to tunebench: its identity, one reading of its
// memory, the log of such readings, and the list of devices that a process may see.
//
// It reads texts and keeps no connection to any hardware: asking a driver is left to
// the sources below device/.
package device

import (
	"time"

	"tunebench/internal/unit"
)

// Device identifies one GPU or MIG slice.
type Device struct {
	Index int    `json:"index"`          // the driver's index, in PCI bus order
	UUID  string `json:"uuid,omitempty"` // GPU-... or MIG-...; empty where it is not known
	Name  string `json:"name,omitempty"` // the model, as the driver spells it
}

// Reading is the memory in use on one device at one moment.
type Reading struct {
	Time  time.Time
	Index int
	Name  string
	Used  unit.Bytes
}
