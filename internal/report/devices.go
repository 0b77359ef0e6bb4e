package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// DeviceSurvey is what the sources say of this machine's devices.
type DeviceSurvey struct {
	Machines   []device.Machine `json:"sources"`
	Visible    string           `json:"cuda_visible_devices"`
	VisibleSet bool             `json:"cuda_visible_devices_set"` // false: every device is visible
	Seen       []device.Device  `json:"visible"`                  // in the order in which a program counts them
	Notes      []string         `json:"notes,omitempty"`
}

// Devices writes the survey for people, no line wider than width columns where the
// names allow it.
func Devices(w io.Writer, s DeviceSurvey, width int) error {
	var out strings.Builder
	any := false
	for _, m := range s.Machines {
		any = any || len(m.Devices) > 0
		writeMachine(&out, m, s, width)
	}
	if !any {
		out.WriteString("no device was found: experiments run on the CPU, and host memory is measured\n\n")
	}
	writeWrapped(&out, visibleText(s), "", width)
	for _, note := range s.Notes {
		writeWrapped(&out, "note: "+plain(note), "      ", width)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func visibleText(s DeviceSurvey) string {
	if !s.VisibleSet {
		return "CUDA_VISIBLE_DEVICES is not set: every device is visible"
	}
	return fmt.Sprintf("CUDA_VISIBLE_DEVICES is %q: %s visible", s.Visible, plural(len(s.Seen), "device"))
}

// writeMachine writes what one source says: a table, who is on each device, and what
// could not be told.
func writeMachine(out *strings.Builder, m device.Machine, s DeviceSurvey, width int) {
	title := m.Source
	if m.Driver != "" {
		title += ", driver " + m.Driver
	}
	if m.Library != "" {
		title += ", " + m.Library
	}
	writeWrapped(out, title, "  ", width)
	if all := flat(m.Devices); len(all) > 0 {
		columns := deviceColumns(all, s)
		gap := fit(columns, width)
		for i := -1; i < len(all); i++ {
			out.WriteString(textLine(columns, i, gap) + "\n")
		}
		for _, d := range all {
			writeWho(out, d, width)
		}
	}
	for _, note := range m.Notes {
		writeWrapped(out, "note: "+plain(note), "      ", width)
	}
	out.WriteString("\n")
}

// flat lists devices with their slices behind them.
func flat(devices []device.Surveyed) []device.Surveyed {
	var all []device.Surveyed
	for _, d := range devices {
		all = append(all, d)
		all = append(all, d.Slices...)
	}
	return all
}

func deviceColumns(all []device.Surveyed, s DeviceSurvey) []column {
	columns := []column{
		{header: "index", right: true}, {header: "name", least: minModel}, {header: "uuid", least: minModel},
		{header: "used", right: true}, {header: "total", right: true}, {header: "reserved", right: true},
		{header: "counted by"}, {header: "visible"},
	}
	for _, d := range all {
		cells := []string{
			indexText(d.Device), d.Name, orDash(d.UUID), bytesText(d.Used), bytesText(d.Total), bytesText(d.Reserved),
			orDash(d.Source), visibleAs(d.Device, s),
		}
		for i, cell := range cells {
			columns[i].cells = append(columns[i].cells, cell)
		}
	}
	return columns
}

// indexText is the driver's index; a slice has none.
func indexText(d device.Device) string {
	if d.Index < 0 {
		return "slice"
	}
	return strconv.Itoa(d.Index)
}

func bytesText(v metric.Value) string {
	if !v.Known() {
		return dash
	}
	return unit.Bytes(v.Number).String()
}

// visibleAs is the number by which a program finds the device, or that it does not.
func visibleAs(d device.Device, s DeviceSurvey) string {
	for i, seen := range s.Seen {
		if seen.Index == d.Index && seen.UUID == d.UUID {
			return "as " + strconv.Itoa(i)
		}
	}
	return "no"
}

// writeWho names the processes on a device, and what the source cannot say of it.
func writeWho(out *strings.Builder, d device.Surveyed, width int) {
	where := "device " + indexText(d.Device)
	for _, p := range d.Processes {
		held := "an unknown amount (" + p.Used.Gap + ")"
		if p.Used.Known() {
			held = unit.Bytes(p.Used.Number).String()
		}
		writeWrapped(out, fmt.Sprintf("%s: process %d holds %s", where, p.PID, held), "    ", width)
	}
	if d.ProcessesGap != "" {
		writeWrapped(out, where+": who is on it is not known: "+plain(d.ProcessesGap), "    ", width)
	}
	for _, v := range []struct {
		what  string
		value metric.Value
	}{{"memory in use", d.Used}, {"total memory", d.Total}} {
		if v.value.Gap != "" {
			writeWrapped(out, fmt.Sprintf("%s: %s is not known: %s", where, v.what, plain(v.value.Gap)), "    ", width)
		}
	}
	for _, c := range d.Calls {
		writeWrapped(out, fmt.Sprintf("%s: %s: %s", where, c.Name, plain(c.Answer)), "    ", width)
	}
}
