package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// hiddenFrom is how much in use without a listed process says that there is one.
const hiddenFrom = unit.GiB

// whoLines name the processes on each device. That nobody is listed is said of many
// devices at once.
func whoLines(all []shown) []string {
	var lines, free, hidden []string
	for _, d := range all {
		switch {
		case len(d.Processes) > 0:
			lines = append(lines, fmt.Sprintf("on device %s: %s", d.name, processes(d.Processes)))
		case d.ProcessesGap != "" || d.IsCut():
		case d.Used.Known() && unit.Bytes(d.Used.Number) >= hiddenFrom:
			hidden = append(hidden, d.name)
		default:
			free = append(free, d.name)
		}
	}
	if len(free) > 0 {
		lines = append(lines, "nobody is listed on "+anyOf(devicesText(free, all)))
	}
	if len(hidden) > 0 {
		lines = append(lines, fmt.Sprintf("nobody is listed on %s, but memory is in use: processes outside a container are not shown in it", anyOf(devicesText(hidden, all))))
	}
	return lines
}

func processes(list []device.ProcessUse) string {
	parts := make([]string, len(list))
	for i, p := range list {
		held := "holds an unknown amount: " + plain(p.Used.Gap)
		if p.Used.Known() {
			held = unit.Bytes(p.Used.Number).String()
		}
		parts[i] = fmt.Sprintf("process %d (%s)", p.PID, held)
	}
	return strings.Join(parts, ", ")
}

// untold is what cannot be told of some devices for one reason.
type untold struct {
	what    []string
	reason  string
	devices []string
}

// gapLines say what is not known of which devices and why, each reason once.
func gapLines(all []shown) []string {
	var found []untold
	for _, d := range all {
		for _, v := range []struct {
			what  string
			value metric.Value
		}{{"memory in use", d.Used}, {"total memory", d.Total}, {"reserved memory", d.Reserved}} {
			if !v.value.Known() {
				found = add(found, v.what, cmp.Or(v.value.Gap, "it was not asked for"), d.name)
			}
		}
		if d.ProcessesGap != "" {
			found = add(found, "who is on it", d.ProcessesGap, d.name)
		}
		for _, c := range d.Calls {
			if c.Gap != "" {
				found = add(found, c.Name, c.Gap, d.name)
			}
		}
	}
	var lines []string
	for _, u := range merged(found) {
		lines = append(lines, fmt.Sprintf("not known of %s: %s: %s", devicesText(u.devices, all), strings.Join(u.what, ", "), plain(u.reason)))
	}
	return lines
}

// add notes that a device does not tell what.
func add(found []untold, what, reason, name string) []untold {
	for i := range found {
		if found[i].what[0] == what && found[i].reason == reason {
			found[i].devices = append(found[i].devices, name)
			return found
		}
	}
	return append(found, untold{[]string{what}, reason, []string{name}})
}

// merged joins what the same devices do not tell for the same reason.
func merged(found []untold) []untold {
	var out []untold
	for _, u := range found {
		at := slices.IndexFunc(out, func(o untold) bool {
			return o.reason == u.reason && slices.Equal(o.devices, u.devices)
		})
		if at < 0 {
			out = append(out, u)
			continue
		}
		out[at].what = append(out[at].what, u.what...)
	}
	return out
}

// answerLines name the functions of the source that answer here. Of which devices one does
// not stands among the gaps.
func answerLines(all []shown) []string {
	var names []string
	for _, d := range all {
		for _, c := range d.Calls {
			if c.Gap == "" && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"answers here: " + strings.Join(names, ", ") + " (their values: --json)"}
}

// anyOf turns every device into any, behind nobody.
func anyOf(devices string) string {
	return strings.Replace(devices, "every device", "any device", 1)
}

// devicesText names devices: every device, device 0, devices 0, 0/1.
func devicesText(names []string, all []shown) string {
	switch {
	case len(names) == 1:
		return "device " + names[0]
	case len(names) == len(all):
		return "every device"
	}
	return "devices " + strings.Join(names, ", ")
}
