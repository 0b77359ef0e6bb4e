package smi

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tunebench/internal/device"
)

// ParseList reads what --query-gpu=index,uuid,name --format=csv,noheader prints: a row
// a device, the name last, since it may hold commas. The error names the first line
// that is no row; the rows are returned with it.
func ParseList(r io.Reader) ([]device.Device, error) {
	var devices []device.Device
	var bad error
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(strings.ToValidUTF8(lines.Text(), "\ufffd"))
		if text == "" {
			continue
		}
		d, ok := parseListed(text)
		if !ok && bad == nil {
			bad = fmt.Errorf("line %d of nvidia-smi's list is no device: %q", n, text)
		}
		if ok {
			devices = append(devices, d)
		}
	}
	if err := lines.Err(); err != nil {
		return devices, fmt.Errorf("nvidia-smi's list: %w", err)
	}
	return devices, bad
}

func parseListed(text string) (device.Device, bool) {
	cells := strings.SplitN(text, ",", 3)
	if len(cells) < 3 {
		return device.Device{}, false
	}
	index, err := strconv.Atoi(strings.TrimSpace(cells[0]))
	d := device.Device{Index: index, UUID: strings.TrimSpace(cells[1]), Name: strings.TrimSpace(cells[2])}
	if strings.HasPrefix(d.UUID, "[") {
		d.UUID = "" // [N/A]: the device can be named by its index only
	}
	return d, err == nil && index >= 0
}
