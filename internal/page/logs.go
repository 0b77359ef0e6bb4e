package page

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"tunebench/internal/outcome"
	"tunebench/internal/probe"
	"tunebench/internal/record"
	"tunebench/internal/sampler"
	"tunebench/internal/table"
)

// deviceLog is the devices' log inside an experiment's folder.
const deviceLog = "gpu_memory_logs.csv"

// How many points the page holds: of one series, and of all.
const (
	maxPoints   = 2000
	leastPoints = 80
	allPoints   = 600_000
)

// curves is what the page draws of one experiment over its time.
type curves struct {
	Series  []series  `json:"series,omitempty"`
	Steps   []step    `json:"steps,omitempty"`
	Marks   []mark    `json:"marks,omitempty"`
	Trained []float64 `json:"trained,omitempty"` // when the training ran, in seconds on the axis of the series
	Notes   []string  `json:"notes,omitempty"`   // what could not be read
	zero    time.Time // what the series count from; zero where it is not known
}

// beside is what else the page shows of an experiment's folder.
type beside struct {
	Record record.Record // only Started, Duration, Hostname and Tunebench are kept
	Tail   string        // the last lines of stderr, of what did not end ok
	bars   []step        // as the progress bar on stderr has them
	logged []step        // as the Trainer logged them, exact
	exit   time.Time     // when the last rank wrote the probe's record; zero where none did
}

// logs is all that is read of one experiment's folder.
type logs struct {
	beside
	Curves curves
}

// readAll reads the logs beside all rows, several at a time.
func readAll(t table.Table) []logs {
	out := make([]logs, len(t.Rows))
	limit := pointsOfEach(t)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(len(t.Rows), 1)) {
		workers.Go(func() {
			for i := range next {
				out[i] = readLogs(t.Rows[i], limit)
			}
		})
	}
	for i := range t.Rows {
		next <- i
	}
	close(next)
	workers.Wait()
	return out
}

// pointsOfEach shares the points of the page among its series.
func pointsOfEach(t table.Table) int {
	all := 1
	for _, r := range t.Rows {
		all += 2 + max(1, len(r.Memory.Devices))
	}
	return min(maxPoints, max(leastPoints, allPoints/all))
}

// readLogs reads the folder of one row. Links are not followed, and what cannot be read
// becomes a note.
func readLogs(r table.Row, limit int) logs {
	var out logs
	root, err := openFolder(r.Dir)
	if err != nil {
		out.Curves.Notes = append(out.Curves.Notes, "the logs cannot be read: "+err.Error())
		return out
	}
	defer root.Close()
	out.Curves.read(root, limit)
	out.beside = readBeside(root, r)
	out.Curves.place(r, out.beside)
	return out
}

// readBeside reads the record, the probe's records and the end of stderr.
func readBeside(root *os.Root, r table.Row) beside {
	var b beside
	if full, err := record.ReadIn(root); err == nil {
		b.Record = record.Record{Started: full.Started, Duration: full.Duration, Hostname: full.Hostname, Tunebench: full.Tunebench}
	}
	text, cut, err := end(root, "stderr")
	if err == nil {
		b.bars = bars(text)
	}
	if err == nil && r.Status != outcome.OK && r.Status != outcome.Running {
		b.Tail = tail(text, cut)
	}
	if report, err := readProbe(root); err == nil {
		b.logged, b.exit = logged(report), lastExit(report)
	}
	return b
}

func readProbe(root *os.Root) (probe.Report, error) {
	info, err := root.Lstat(record.ProbeDir)
	if err != nil {
		return probe.Report{}, err
	}
	if !info.IsDir() {
		return probe.Report{}, fmt.Errorf("%s is not a folder", record.ProbeDir)
	}
	folder, err := root.OpenRoot(record.ProbeDir)
	if err != nil {
		return probe.Report{}, err
	}
	defer folder.Close()
	return probe.Read(folder.FS())
}

// read reads both logs of memory.
func (c *curves) read(root *os.Root, limit int) {
	devices, host := newDevices(limit), newHost(limit)
	c.log(root, deviceLog, devices.read)
	c.log(root, sampler.HostFile, host.read)
	c.align(devices, host)
}

// log hands one log to f. That there is none is no note: the row's figures say so.
func (c *curves) log(root *os.Root, name string, f func(io.Reader) error) {
	file, err := openRegular(root, name)
	if os.IsNotExist(err) {
		return
	}
	if err == nil {
		err = f(file)
		_ = file.Close() // opened for reading only
	}
	if err != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("%s cannot be read: %v", name, err))
	}
}

// openFolder opens an experiment's folder through the one that holds it, so that a link
// in its place cannot lead elsewhere.
func openFolder(dir string) (*os.Root, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	parent, err := os.OpenRoot(filepath.Dir(absolute))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	name := filepath.Base(absolute)
	if info, err := parent.Lstat(name); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder (links are not followed)", name)
	}
	return parent.OpenRoot(name)
}

func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return root.Open(name)
}
