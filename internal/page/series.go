package page

import (
	"io"
	"slices"
	"strconv"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/unit"
)

// series is one line of a chart. X and Y hold differences to the value before, so that
// what does not change takes two characters.
type series struct {
	Name string  `json:"n"`
	Host bool    `json:"h,omitempty"`
	X    []int64 `json:"x"` // milliseconds
	Y    []int64 `json:"y"` // KiB
}

func newSeries(name string, host bool, points []point) series {
	s := series{Name: name, Host: host}
	var last point
	for _, p := range points {
		p.ms = max(p.ms, last.ms) // a clock that was set back must not turn the line around
		s.X, s.Y = append(s.X, p.ms-last.ms), append(s.Y, p.kib-last.kib)
		last = p
	}
	return s
}

// devices gathers the devices' log. Times count from the first reading.
type devices struct {
	limit int
	first time.Time
	rows  int64
	byID  map[int]*thinner
}

func newDevices(limit int) *devices { return &devices{limit: limit, byID: map[int]*thinner{}} }

func (d *devices) read(in io.Reader) error {
	_, err := device.ReadLog(in, func(r device.Reading) {
		if d.byID[r.Index] == nil {
			d.byID[r.Index] = newThinner(d.limit)
		}
		if d.rows == 0 {
			d.first = r.Time
		}
		d.rows++
		at := r.Time.Sub(d.first).Milliseconds()
		if r.Time.IsZero() || d.first.IsZero() {
			at = d.byID[r.Index].seen * 1000 // a log without times: its rows are counted
		}
		d.byID[r.Index].add(point{ms: at, kib: int64(r.Used / unit.KiB)})
	})
	return err
}

func (d *devices) series() []series {
	var indices []int
	for i := range d.byID {
		indices = append(indices, i)
	}
	slices.Sort(indices)
	var out []series
	for _, i := range indices {
		out = append(out, newSeries("device "+strconv.Itoa(i), false, d.byID[i].points()))
	}
	return out
}

// align puts the series of both logs on one axis. The devices' log is in local time and
// the host's in UTC; zones differ by whole quarters of an hour and both logs begin
// together, so what is left of the difference is the true one.
func (c *curves) align(d *devices, h *hostSeries) {
	own, host := d.series(), h.series()
	if len(host) > 0 {
		c.zero = h.first
	}
	if len(own) > 0 && len(host) > 0 && !d.first.IsZero() {
		const quarter = 15 * time.Minute
		apart := d.first.Sub(h.first)
		apart -= apart.Round(quarter)
		for i := range own {
			own[i].X[0] += apart.Milliseconds()
		}
	}
	c.Series = append(own, host...)
}
