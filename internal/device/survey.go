package device

import (
	"strings"

	"tunebench/internal/metric"
)

// Machine is what a source says about this machine's devices now.
type Machine struct {
	Source  string     `json:"source"` // nvml, nvidia-smi
	Driver  string     `json:"driver,omitempty"`
	Library string     `json:"library,omitempty"`
	Devices []Surveyed `json:"devices"`
	Notes   []string   `json:"notes,omitempty"`
}

// Surveyed is one device of a machine, with what can and what cannot be asked of it.
type Surveyed struct {
	Device
	PCI          string       `json:"pci_bus_id,omitempty"`
	Parent       string       `json:"parent_uuid,omitempty"`
	Source       string       `json:"memory_source"` // one of From...
	Total        metric.Value `json:"total_bytes"`
	Used         metric.Value `json:"used_bytes"`
	Reserved     metric.Value `json:"reserved_bytes"`
	Processes    []ProcessUse `json:"processes,omitempty"`
	ProcessesGap string       `json:"processes_gap,omitempty"`
	Utilisation  metric.Value `json:"utilisation_percent"` // of the driver's last period
	ComputeMode  string       `json:"compute_mode,omitempty"`
	MIG          string       `json:"mig,omitempty"` // MIGOn, perhaps with what could not be told, MIGOff, or why it is not known
	Slices       []Surveyed   `json:"slices,omitempty"`
	Calls        []Call       `json:"calls,omitempty"`
}

// Call is what one function of a source answers for one device.
type Call struct {
	Name   string `json:"name"`
	Answer string `json:"answer,omitempty"`
	Gap    string `json:"gap,omitempty"` // why there is no answer; empty: there is one
}

// What MIG is where it is known; else it is the reason why it is not.
const (
	MIGOn  = "on"
	MIGOff = "off"
)

// IsCut reports whether the GPU is given out in MIG slices, so that it is no device by itself.
func (d Surveyed) IsCut() bool { return d.MIG == MIGOn || strings.HasPrefix(d.MIG, MIGOn+";") }

// Each calls f with every GPU and, after it, its slices. A slice has the index -1: no
// index names it.
func (m Machine) Each(f func(Surveyed)) {
	for _, d := range m.Devices {
		f(d)
		for _, slice := range d.Slices {
			f(slice)
		}
	}
}
