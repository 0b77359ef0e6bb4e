package curve

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tunebench/internal/device"
)

// Devices reads a devices' log, nvidia-smi's or one that is written on change, into a
// curve of at most limit points for each device, by index, and returns the time of the
// first reading, which is local and without a zone. The error is one of reading; the
// curves hold what was read before it.
func Devices(r io.Reader, limit int) ([]Curve, time.Time, error) {
	g := newGathered(limit)
	notes, err := device.ReadLog(r, func(reading device.Reading) {
		c := g.curves[reading.Index]
		if c == nil {
			c = g.curve(reading.Index, "device "+strconv.Itoa(reading.Index), strings.TrimSpace(reading.Name))
		}
		if c == nil {
			return
		}
		g.start(reading.Time)
		g.add(c, reading.Time, float64(reading.Used))
	})
	curves := g.done(func(index int) string { return deviceDoubt(notes, err, index) })
	return curves, g.first, err
}

// deviceDoubt says what of a device's log could not be read, the gravest first.
func deviceDoubt(notes device.LogNotes, err error, index int) string {
	if err != nil {
		return fmt.Sprintf("the log could not be read to its end: %v", err)
	}
	if notes.ErrorLast && notes.Error != nil {
		return "the log ends with: " + notes.Error.Text
	}
	if len(notes.Devices) > maxCurves {
		return fmt.Sprintf("the log names %d devices, of which %d are kept", len(notes.Devices), maxCurves)
	}
	for _, s := range notes.Devices {
		if s.Index == index && s.Unreadable > 0 {
			return fmt.Sprintf("%d of %d readings of device %d are no numbers: %s",
				s.Unreadable, s.Readings+s.Unreadable, index, strings.Join(s.Texts, ", "))
		}
	}
	return ""
}
