// Package timeline puts what one experiment's folder says of memory over time on one
// axis: the curves of devices and host, when it began and ended, when it trained, its
// steps.
//
// It has the reading (this file), the moments (moments.go, place.go) and the steps
// (steps.go). Curves and their thinning are package curve's; how they are drawn is left
// to packages page and plot, which so show the same.
package timeline

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"tunebench/internal/curve"
	"tunebench/internal/folder"
	"tunebench/internal/sampler"
	"tunebench/internal/table"
)

// Timeline is memory over time of one experiment. All times are seconds on one axis,
// which begins with the first reading of the host.
type Timeline struct {
	Devices []curve.Curve
	Host    []curve.Curve
	Marks   []Mark
	Trained *Band    // when it trained; nil where that is not known
	Steps   []Step   // of the training, some dozens at most
	Notes   []string // what could not be read
}

// Mark is a moment with a name.
type Mark struct {
	Name string
	At   float64
}

// Band is a stretch of time.
type Band struct {
	From, To float64
	Inferred bool // put where it fits; else both ends were recorded
}

// deviceLog is the devices' log inside an experiment's folder.
const deviceLog = "gpu_memory_logs.csv"

// maxNotes bounds the notes on one folder, which may come from anywhere.
const maxNotes = 8

// Each reads the folders of all rows, several at a time, and hands each to do with the
// row's number. It calls do for several rows at once. A curve has at most limit points.
func Each(t table.Table, limit int, do func(i int, l Timeline)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(t.Rows)) {
		workers.Go(func() {
			for i := range next {
				do(i, Read(t.Rows[i], limit))
			}
		})
	}
	for i := range t.Rows {
		next <- i
	}
	close(next)
	workers.Wait()
}

// Read reads the folder of one row. Links are not followed, and what cannot be read
// becomes a note.
func Read(r table.Row, limit int) Timeline {
	var t Timeline
	root, err := folder.Open(r.Dir)
	if err != nil {
		t.note("the logs cannot be read: " + err.Error())
		return t
	}
	defer root.Close()
	m := readMoments(root)
	m.zero = t.readLogs(root, limit, m.started)
	t.place(r, m)
	return t
}

// readLogs reads both logs of memory and returns what their axis counts from, or nothing
// where that is not known. Without a host's log it is known by the trainer's start.
func (t *Timeline) readLogs(root *os.Root, limit int, started time.Time) (zero time.Time) {
	var devices, host time.Time
	t.log(root, deviceLog, func(in io.Reader) (err error) {
		t.Devices, devices, err = curve.Devices(in, limit)
		return err
	})
	t.log(root, sampler.HostFile, func(in io.Reader) (err error) {
		t.Host, host, err = curve.Host(in, limit)
		return err
	})
	for _, c := range slices.Concat(t.Devices, t.Host) {
		t.note(c.Doubt)
	}
	if host.IsZero() && !devices.IsZero() && !started.IsZero() {
		return started.Add(curve.Apart(devices, started))
	}
	for _, c := range t.Devices {
		c.Shift(curve.Apart(devices, host).Seconds())
	}
	return host
}

// log hands one log to read. That there is none is no note: the row's figures say so.
func (t *Timeline) log(root *os.Root, name string, read func(io.Reader) error) {
	file, err := folder.File(root, name)
	if os.IsNotExist(err) {
		return
	}
	if err == nil {
		err = read(file)
		_ = file.Close() // opened for reading only
	}
	if err != nil {
		t.note(fmt.Sprintf("%s cannot be read: %v", name, err))
	}
}

func (t *Timeline) note(text string) {
	if text != "" && len(t.Notes) < maxNotes && !slices.Contains(t.Notes, text) {
		t.Notes = append(t.Notes, text)
	}
}
