package memory

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/metric"
)

// ProcessSpan is what a process was seen to hold on a device while it was watched.
type ProcessSpan struct {
	Index   int // of the device
	UUID    string
	PID     int
	First   metric.Value // before the start; a gap where it was not there
	Highest metric.Value
	Changed bool // what it held, or whether it was there, was not the same all the time
}

// Processes reads gpu_process_logs.csv: rows of timestamp, index, uuid, pid, used_bytes
// and gap, of which those of one time and device are one list. Spans are in order of the
// device and the pid. What is no such row, or has no line end, is passed by.
func Processes(r io.Reader) ([]ProcessSpan, error) {
	var log processLog
	err := eachLine(r, func(line []byte) { log.line(strings.TrimSpace(string(line))) })
	return log.done(), err
}

// processLog gathers spans list by list.
type processLog struct {
	spans []ProcessSpan
	lists map[string]*openList // by device
}

// openList is the list of a device that is being read.
type openList struct {
	stamp string
	n     int // lists begun; the first is of before the start
	pids  []int
	gap   bool // the driver gave no list
}

func (l *processLog) line(text string) {
	cells := strings.Split(text, ",")
	if len(cells) != 6 {
		return
	}
	index, err := strconv.Atoi(cells[1])
	if err != nil {
		return
	}
	list := l.list(cells[0], index, cells[2])
	pid, err := strconv.Atoi(cells[3])
	if err != nil || pid <= 0 {
		list.gap = list.gap || cells[5] != ""
		return
	}
	list.pids = append(list.pids, pid)
	l.saw(index, cells[2], pid, list.n == 1, used(cells[4], cells[5]))
}

// list returns the list that a row belongs to; a row of another time begins a new one.
func (l *processLog) list(stamp string, index int, uuid string) *openList {
	key := fmt.Sprint(index, " ", uuid)
	if l.lists == nil {
		l.lists = make(map[string]*openList)
	}
	list := l.lists[key]
	if list == nil {
		list = &openList{}
		l.lists[key] = list
	}
	if list.n == 0 || list.stamp != stamp {
		l.end(list, index, uuid)
		*list = openList{stamp: stamp, n: list.n + 1}
	}
	return list
}

// end marks those that have left the device since.
func (l *processLog) end(list *openList, index int, uuid string) {
	if list.n == 0 || list.gap {
		return
	}
	for i, s := range l.spans {
		if s.Index == index && s.UUID == uuid && !slices.Contains(list.pids, s.PID) {
			l.spans[i].Changed = true
		}
	}
}

func (l *processLog) saw(index int, uuid string, pid int, first bool, v metric.Value) {
	for i := range l.spans {
		s := &l.spans[i]
		if s.Index != index || s.UUID != uuid || s.PID != pid {
			continue
		}
		s.Changed = s.Changed || v != s.Highest
		if v.Known() && (!s.Highest.Known() || v.Number > s.Highest.Number) {
			s.Highest = v
		}
		return
	}
	span := ProcessSpan{Index: index, UUID: uuid, PID: pid, First: metric.Missing("not there before the start"), Highest: v, Changed: !first}
	if first {
		span.First = v
	}
	l.spans = append(l.spans, span)
}

func (l *processLog) done() []ProcessSpan {
	for i := range l.spans {
		s := &l.spans[i]
		if list := l.lists[fmt.Sprint(s.Index, " ", s.UUID)]; !list.gap && !slices.Contains(list.pids, s.PID) {
			s.Changed = true
		}
	}
	slices.SortFunc(l.spans, func(a, b ProcessSpan) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.UUID, b.UUID), cmp.Compare(a.PID, b.PID))
	})
	return l.spans
}

func used(cell, gap string) metric.Value {
	if v, ok := bytesIn(cell); ok {
		return metric.Of(v)
	}
	if gap == "" {
		gap = "not a number of bytes: " + cell
	}
	return metric.Missing(gap)
}

// Foreign adds the doubts of processes that are not the experiment's. Where none of the
// experiment's own was ever listed nobody is accused, since the driver may give pids of
// another namespace: growth that nothing ties to the experiment is doubtful then.
func (f *NvidiaFigures) Foreign(spans []ProcessSpan, inputs []LedgerInput) {
	for _, in := range inputs {
		i, ours := f.find(in.Watched.Device), known(in)
		if i < 0 {
			continue
		}
		named := false
		for _, s := range spans {
			if !f.Devices[i].is(s.Index, s.UUID) {
				continue
			}
			named = true
			if in.Listed && !slices.Contains(ours, s.PID) {
				f.foreign(i, s)
			}
		}
		if growth := inBytes(f.Devices[i].Reserved); named && !in.Listed && unclaimed(growth, in.Torch) {
			f.note(i, Doubtful, strangers(f.Devices[i].label(), growth))
		}
	}
}

func (f *NvidiaFigures) foreign(i int, s ProcessSpan) {
	label, amount := f.Devices[i].label(), "an unknown amount"
	if s.Highest.Known() {
		amount = inMiBText(s.Highest.Number)
	}
	if !s.Changed {
		f.Remarks = append(f.Remarks, fmt.Sprintf("process %d is not the experiment's and held %s of %s all the time", s.PID, amount, label))
		return
	}
	f.note(i, Contaminated, fmt.Sprintf("process %d is not the experiment's and held up to %s of %s during the run", s.PID, amount, label))
}
