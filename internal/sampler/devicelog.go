package sampler

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// The names of the devices' logs inside an experiment's folder.
const (
	MemoryFile  = "gpu_memory_logs.csv"  // the columns and spelling of nvidia-smi
	ProcessFile = "gpu_process_logs.csv" // the whole list of a device at each change
	StateFile   = "gpu_state_logs.csv"   // every five seconds
)

// What stands in the first line of each. The memory log is what
// `nvidia-smi --query-gpu=timestamp,name,index,memory.used --format=csv` prints, so that
// readers of that can read it. Rows of the process log with one timestamp and one index
// belong together; a device without a listed process has one row without a pid.
const (
	memoryHeader  = "timestamp, name, index, memory.used [MiB]\n"
	processHeader = "timestamp,index,uuid,pid,used_bytes,gap\n"
	stateHeader   = "timestamp,index,utilisation_percent,power_w,sm_clock_mhz,memory_clock_mhz,throttle_reasons\n"
)

func logNames() []string   { return []string{MemoryFile, ProcessFile, StateFile} }
func logHeaders() []string { return []string{memoryHeader, processHeader, stateHeader} }

// deviceTime is nvidia-smi's: local time without a zone.
const deviceTime = "2006/01/02 15:04:05.000"

// DeviceLogs are where rows go. A nil one is not written.
type DeviceLogs struct {
	Memory, Processes, State io.Writer
	Begun                    bool // they have their first line, and rows of an earlier sampler
}

// OpenDeviceLogs makes the three logs in a folder, in place of earlier ones. Close
// closes them all.
func OpenDeviceLogs(dir string) (logs DeviceLogs, closeAll func() error, err error) {
	var files openFiles
	closeAll = func() error { return files.close() }
	for _, name := range logNames() {
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return logs, nil, errors.Join(fmt.Errorf("make the devices' logs: %w", err), closeAll())
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
		if err != nil {
			return logs, nil, errors.Join(fmt.Errorf("make the devices' logs: %w", err), closeAll())
		}
		files = append(files, f)
	}
	return DeviceLogs{Memory: files[0], Processes: files[1], State: files[2]}, closeAll, nil
}

// ReopenDeviceLogs goes on in the logs of a sampler that died. Close closes them all.
func ReopenDeviceLogs(dir string) (logs DeviceLogs, closeAll func() error, err error) {
	var files openFiles
	closeAll = func() error { return files.close() }
	for i, name := range logNames() {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return logs, nil, errors.Join(fmt.Errorf("go on in the devices' logs: %w", err), closeAll())
		}
		files = append(files, f)
		if err := goOn(f, logHeaders()[i]); err != nil {
			return logs, nil, errors.Join(fmt.Errorf("go on in the devices' logs: %w", err), closeAll())
		}
	}
	return DeviceLogs{Memory: files[0], Processes: files[1], State: files[2], Begun: true}, closeAll, nil
}

type openFiles []*os.File

func (files openFiles) close() error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// goOn makes a log ready for further rows: an empty one gets its first line, and a row
// that was cut off a line of its own, which readers pass over.
func goOn(f *os.File, header string) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if end == 0 {
		_, err := io.WriteString(f, header)
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, end-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		_, err = io.WriteString(f, "\n")
	}
	return err
}

// deviceLog gathers the rows of one sample and writes them in one call each, without
// keeping any back: what was sampled is in the file even if the next call never returns.
type deviceLog struct {
	logs [3]sheet
}

type sheet struct {
	name string
	w    io.Writer
	rows []byte
	bad  bool // an error was told; nothing more is written
}

func newDeviceLog(logs DeviceLogs) deviceLog {
	var l deviceLog
	for i, w := range []io.Writer{logs.Memory, logs.Processes, logs.State} {
		l.logs[i] = sheet{name: logNames()[i], w: w}
		if !logs.Begun {
			l.logs[i].rows = []byte(logHeaders()[i])
		}
	}
	return l
}

// flush writes what was gathered and returns what went wrong, once for each log.
func (l *deviceLog) flush() (problems []string) {
	for i := range l.logs {
		s := &l.logs[i]
		if len(s.rows) == 0 {
			continue
		}
		if s.w != nil && !s.bad {
			if _, err := s.w.Write(s.rows); err != nil {
				s.bad = true
				problems = append(problems, fmt.Sprintf("%s ends early: %v", s.name, err))
			}
		}
		s.rows = s.rows[:0]
	}
	return problems
}

func (l *deviceLog) memory(now time.Time, w *device.Watched, used metric.Value) {
	row := now.Local().AppendFormat(l.logs[0].rows, deviceTime)
	row = append(row, ", "...)
	row = append(row, oneLine(w.Name)...)
	row = append(row, ", "...)
	row = strconv.AppendInt(row, int64(w.Index), 10)
	row = append(row, ", "...)
	if used.Known() {
		row = append(strconv.AppendInt(row, inMiB(used), 10), " MiB"...)
	} else {
		row = append(row, bracket(used)...)
	}
	l.logs[0].rows = append(row, '\n')
}

func (l *deviceLog) processes(now time.Time, d *device.Device, list []device.ProcessUse, gap string) {
	if len(list) == 0 {
		l.process(now, d, "", "", gap)
	}
	for _, p := range list {
		l.process(now, d, strconv.Itoa(p.PID), cell(p.Used), p.Used.Gap)
	}
}

func (l *deviceLog) process(now time.Time, d *device.Device, pid, used, gap string) {
	row := now.Local().AppendFormat(l.logs[1].rows, deviceTime)
	l.logs[1].rows = fmt.Appendf(row, ",%d,%s,%s,%s,%s\n", d.Index, d.UUID, pid, used, plain(gap))
}

func (l *deviceLog) state(now time.Time, index int, s device.State) {
	row := now.Local().AppendFormat(l.logs[2].rows, deviceTime)
	row = fmt.Appendf(row, ",%d", index)
	for _, v := range []metric.Value{s.Utilisation, s.Power, s.SMClock, s.MemoryClock} {
		row = append(row, ',')
		if v.Known() {
			row = append(row, v.String()...)
		} else {
			row = append(row, bracket(v)...)
		}
	}
	reasons := strings.Join(s.Throttle, ";")
	if s.ThrottleGap != "" {
		reasons = bracket(metric.Missing(s.ThrottleGap))
	}
	l.logs[2].rows = fmt.Appendf(row, ",%s\n", reasons)
}

// bracket spells a gap as nvidia-smi does: the text that a source gave, which stands in
// brackets, or the reason put into them.
func bracket(v metric.Value) string {
	if text := plain(v.Text); strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return text
	}
	return "[" + plain(strings.Trim(v.Gap, "[]")) + "]"
}

// plain makes a text fit into a cell: these logs quote nothing.
func plain(text string) string { return strings.ReplaceAll(oneLine(text), ",", ";") }

// oneLine makes a text fit into a line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}
