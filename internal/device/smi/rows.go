package smi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// ParseSurvey reads the rows of a query for those fields, the name last among them, and
// adds the devices to the machine. The error names the first line that is no row.
func ParseSurvey(r io.Reader, fields []string, m *device.Machine) error {
	var bad error
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := clean(lines.Text())
		if text == "" {
			continue
		}
		row := map[string]string{}
		cells := strings.SplitN(text, ",", len(fields))
		for i, cell := range cells {
			row[fields[i]] = strings.TrimSpace(cell)
		}
		index, err := strconv.Atoi(row[fieldIndex])
		if len(cells) < len(fields) || err != nil || index < 0 {
			if bad == nil {
				bad = fmt.Errorf("line %d of nvidia-smi's list is no device: %q", n, text)
			}
			continue
		}
		m.Driver = told(row[fieldDriver])
		m.Devices = append(m.Devices, surveyed(index, row))
	}
	return errors.Join(bad, lines.Err())
}

func clean(line string) string { return strings.TrimSpace(strings.ToValidUTF8(line, "\ufffd")) }

func surveyed(index int, row map[string]string) device.Surveyed {
	d := device.Surveyed{
		Device: device.Device{Index: index, UUID: told(row[fieldUUID]), Name: row[fieldName]},
		PCI:    told(row[fieldPCI]), ComputeMode: told(row[fieldCompute]), Source: "nvidia-smi",
		Total: mebibytes(row, fieldTotal), Used: mebibytes(row, fieldUsed), Reserved: mebibytes(row, fieldReserved),
		Utilisation: metric.Missing("nvidia-smi was not asked for it"),
	}
	switch mode := row[fieldMIG]; mode {
	case "Enabled":
		d.MIG = device.MIGOn
	case "Disabled":
		d.MIG = device.MIGOff
	default:
		d.MIG = reason(row, fieldMIG)
	}
	if d.Total.Known() && d.Total.Number == 0 {
		d.Total = metric.Missing("nvidia-smi says 0 MiB, which cannot be true")
		d.Used, d.Reserved = d.Total, d.Total
	}
	return d
}

// told is a cell that tells something; [N/A] and its like say that it cannot be told.
func told(cell string) string {
	if strings.HasPrefix(cell, "[") || cell == "N/A" {
		return ""
	}
	return cell
}

// mebibytes reads an amount, in bytes.
func mebibytes(row map[string]string, field string) metric.Value {
	n, err := strconv.ParseUint(row[field], 10, 64)
	if err != nil || n > math.MaxInt64/uint64(unit.MiB) {
		return metric.Missing(reason(row, field))
	}
	return metric.Of(float64(unit.Bytes(n) * unit.MiB))
}

// reason says why a cell tells nothing.
func reason(row map[string]string, field string) string {
	cell, asked := row[field]
	if !asked {
		return fmt.Sprintf("this nvidia-smi does not know the field %s", field)
	}
	return fmt.Sprintf("nvidia-smi says %q", cell)
}

// ParseSlices reads the MIG slices from what nvidia-smi --list-gpus prints: a line
// for each GPU and, indented below it, one for each slice.
//
//	GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5c89...)
//	  MIG 1g.5gb      Device  0: (UUID: MIG-c6d4...)
func ParseSlices(r io.Reader) []device.Surveyed {
	var found []device.Surveyed
	parent, model := "", ""
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		text := clean(lines.Text())
		head, rest, ok := strings.Cut(text, "(UUID: ")
		uuid, _, closed := strings.Cut(rest, ")")
		if !ok || !closed {
			continue
		}
		if strings.HasPrefix(text, "GPU ") {
			_, model, _ = strings.Cut(strings.TrimSpace(head), ": ")
			parent = uuid
			continue
		}
		if profile, _, isSlice := strings.Cut(head, " Device"); isSlice && strings.HasPrefix(uuid, "MIG-") && parent != "" {
			found = append(found, device.Surveyed{
				Device: device.Device{Index: -1, UUID: uuid, Name: strings.TrimSpace(model + " " + strings.TrimSpace(profile))},
				Parent: parent, Source: "nvidia-smi",
			})
		}
	}
	return found // of a text that is cut, what came before
}

// App is a process that computes on the device with that UUID.
type App struct {
	UUID string
	device.ProcessUse
}

// ParseApps reads what --query-compute-apps=gpu_uuid,pid,used_memory prints; lines of
// another kind are passed over, as that no process was found.
func ParseApps(r io.Reader) []App {
	var found []App
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		cells := strings.Split(clean(lines.Text()), ",")
		if len(cells) != 3 {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(cells[1]))
		if err != nil || pid <= 0 {
			continue
		}
		row := map[string]string{"used_memory": strings.TrimSpace(cells[2])}
		found = append(found, App{
			UUID:       strings.TrimSpace(cells[0]),
			ProcessUse: device.ProcessUse{PID: pid, Kind: "compute", Used: mebibytes(row, "used_memory")},
		})
	}
	return found
}
