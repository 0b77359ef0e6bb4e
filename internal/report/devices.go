package report

import (
	"fmt"
	"io"
	"slices"
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
	is := "is not set"
	if s.VisibleSet {
		is = fmt.Sprintf("is %q", s.Visible)
	}
	return fmt.Sprintf("CUDA_VISIBLE_DEVICES %s: %s visible", is, plural(len(s.Seen), "device"))
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
		g := fit(columns, width)
		for i := -1; i < len(all); i++ {
			out.WriteString(g.textLine(i) + "\n")
		}
		for _, line := range slices.Concat(whoLines(all), gapLines(all), answerLines(all)) {
			writeWrapped(out, line, "  ", width)
		}
	}
	for _, note := range m.Notes {
		writeWrapped(out, "note: "+plain(note), "      ", width)
	}
	out.WriteString("\n")
}

// shown is a device or a slice with the name that it has here: 0, and 0/1 for a slice.
type shown struct {
	device.Surveyed
	name string
}

// flat lists devices with their slices behind them.
func flat(devices []device.Surveyed) []shown {
	var all []shown
	for _, d := range devices {
		all = append(all, shown{d, strconv.Itoa(d.Index)})
		for i, slice := range d.Slices {
			all = append(all, shown{slice, fmt.Sprintf("%d/%d", d.Index, i)})
		}
	}
	return all
}

func deviceColumns(all []shown, s DeviceSurvey) []column {
	columns := []column{
		{header: "device"}, {header: "name", least: minModel}, {header: "uuid", least: minModel},
		{header: "used", right: true}, {header: "total", right: true}, {header: "reserved", right: true},
		{header: "counter"}, {header: "visible"},
	}
	for _, d := range all {
		cells := []string{
			d.name, orDash(plain(d.Name)), orDash(plain(d.UUID)), bytesText(d.Used), bytesText(d.Total), bytesText(d.Reserved),
			orDash(d.Source), visibleAs(d.Surveyed, s),
		}
		for i, cell := range cells {
			columns[i].cells = append(columns[i].cells, cell)
		}
	}
	return columns
}

func bytesText(v metric.Value) string {
	if !v.Known() {
		return dash
	}
	return unit.Bytes(v.Number).String()
}

// visibleAs is the number by which a program finds the device, or that it does not.
func visibleAs(d device.Surveyed, s DeviceSurvey) string {
	if d.IsCut() {
		return "in slices"
	}
	for i, seen := range s.Seen {
		if seen.Index == d.Index && seen.UUID == d.UUID {
			return "as " + strconv.Itoa(i)
		}
	}
	return "no"
}
