package smi

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// The fields that a survey asks for. Those before the name are columns without commas;
// drivers before R510 do not know what is reserved, those before R450 no MIG.
const (
	fieldIndex    = "index"
	fieldUUID     = "uuid"
	fieldPCI      = "pci.bus_id"
	fieldTotal    = "memory.total"
	fieldUsed     = "memory.used"
	fieldReserved = "memory.reserved"
	fieldMIG      = "mig.mode.current"
	fieldCompute  = "compute_mode"
	fieldDriver   = "driver_version"
	fieldName     = "name"
)

// Survey asks nvidia-smi what the machine has, who is on it and what is in use. What this
// version of it does not know is a gap. The error is that not even a list could be had.
func (s SMI) Survey(ctx context.Context) (device.Machine, error) {
	m := device.Machine{Source: "nvidia-smi", Library: s.path()}
	fields := []string{fieldIndex, fieldUUID, fieldPCI, fieldTotal, fieldUsed, fieldReserved, fieldMIG, fieldCompute, fieldDriver, fieldName}
	for {
		out, err := s.query(ctx, "--query-gpu="+strings.Join(fields, ","), "--format=csv,noheader,nounits")
		if err != nil {
			// One field that is not known makes it refuse them all.
			if unknown := slices.Index(fields, unknownField(err.Error())); unknown > 0 && fields[unknown] != fieldName {
				fields = slices.Delete(fields, unknown, unknown+1)
				continue
			}
			return m, fmt.Errorf("listing devices: %w", err)
		}
		if err := ParseSurvey(bytes.NewReader(out), fields, &m); err != nil {
			if len(m.Devices) == 0 {
				return m, fmt.Errorf("listing devices: %w", err)
			}
			m.Notes = append(m.Notes, err.Error())
		}
		break
	}
	s.addSlices(ctx, &m)
	s.addProcesses(ctx, &m)
	return m, nil
}

// unknownField returns the field that nvidia-smi says it does not know, or nothing.
func unknownField(text string) string {
	_, rest, ok := strings.Cut(text, `Field "`)
	field, rest, closed := strings.Cut(rest, `"`)
	if !ok || !closed || !strings.Contains(rest, "is not a valid field") {
		return ""
	}
	return field
}

// addSlices asks for the MIG slices, where there can be some.
func (s SMI) addSlices(ctx context.Context, m *device.Machine) {
	if !slices.ContainsFunc(m.Devices, device.Surveyed.IsCut) {
		return
	}
	out, err := s.query(ctx, "--list-gpus")
	if err != nil {
		m.Notes = append(m.Notes, fmt.Sprintf("listing MIG slices: %v", err))
		return
	}
	gap := metric.Missing("nvidia-smi does not tell the memory of a MIG slice")
	for _, slice := range ParseSlices(bytes.NewReader(out)) {
		for i := range m.Devices {
			if d := &m.Devices[i]; d.UUID == slice.Parent {
				slice.Total, slice.Used, slice.Reserved = gap, gap, gap
				slice.ProcessesGap = "nvidia-smi does not tell who is on a MIG slice"
				d.Slices = append(d.Slices, slice)
			}
		}
	}
}

// addProcesses asks who computes on the devices.
func (s SMI) addProcesses(ctx context.Context, m *device.Machine) {
	out, err := s.query(ctx, "--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits")
	for i := range m.Devices {
		d := &m.Devices[i]
		switch {
		case err != nil:
			d.ProcessesGap = err.Error()
		case d.UUID == "":
			d.ProcessesGap = "nvidia-smi names devices by UUID here, and this one has none"
		case d.IsCut():
			d.ProcessesGap = "its MIG slices hold the processes"
		}
	}
	if err != nil {
		return
	}
	for _, app := range ParseApps(bytes.NewReader(out)) {
		for i := range m.Devices {
			if d := &m.Devices[i]; d.UUID == app.UUID && d.ProcessesGap == "" {
				d.Processes = append(d.Processes, app.ProcessUse)
			}
		}
	}
	for i := range m.Devices {
		if d := &m.Devices[i]; len(d.Processes) == 0 && d.ProcessesGap == "" {
			d.ProcessesGap = "nvidia-smi lists nobody, and of processes outside a container it says nothing"
		}
	}
}
