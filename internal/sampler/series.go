package sampler

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// series is what is kept of one device: figures, not readings.
type series struct {
	watched device.Watched
	started bool
	peaked  bool // the last sample was a new peak

	began    time.Time    // the first sample
	good     time.Time    // the last reading with a number
	previous metric.Value // the last reading
	at       time.Time    // and its time
	area     float64      // byte seconds
	span     float64      // seconds with a known level

	written      metric.Value // as in the log
	writtenAt    time.Time
	processesDue time.Time
	stateDue     time.Time
	list         []device.ProcessUse // as in the log
	listGap      string
	listed       bool
}

// maxGaps bounds the reasons that are kept of one device.
const maxGaps = 5

func newSeries(w device.Watched) series {
	none := metric.Missing("no reading was taken")
	w.Baseline.Used, w.Peak.Used, w.Mean = none, none, none
	w.ProcessPeak.Used = metric.Missing("no process with known memory was seen")
	return series{watched: w}
}

// add takes a reading. A level holds until the next reading, so that the mean is
// weighted by time; time after a gap belongs to nobody.
func (s *series) add(used metric.Value, now time.Time) {
	if !s.started {
		s.began, s.good = now, now
		s.watched.Baseline.Used, s.watched.Baseline.Time = used, now
	} else if dt := now.Sub(s.at).Seconds(); s.previous.Known() {
		s.area += s.previous.Number * dt
		s.span += dt
	}
	first := !s.started
	s.started, s.previous, s.at = true, used, now
	if !used.Known() {
		s.unreadable(used)
		s.peaked = first
		return
	}
	s.watched.Samples++
	if gap := now.Sub(s.good); gap > s.watched.LargestGap {
		s.watched.LargestGap, s.watched.GapAt = gap, s.good
	}
	s.good = now
	s.peaked = !s.watched.Peak.Used.Known() || used.Number > s.watched.Peak.Used.Number
	if s.peaked {
		s.watched.Peak = device.Moment{Used: used, Time: now, ProcessesGap: "not read in time"}
	}
}

func (s *series) unreadable(used metric.Value) {
	s.watched.Unreadable++
	if !s.watched.Peak.Used.Known() {
		s.watched.Peak.Used = used // the reason is better than none
	}
	if len(s.watched.Gaps) < maxGaps && !slices.Contains(s.watched.Gaps, used.Gap) {
		s.watched.Gaps = append(s.watched.Gaps, used.Gap)
	}
}

// held takes the list of processes that was read after the last reading.
func (s *series) held(list []device.ProcessUse, gap string, now time.Time) {
	if now.Equal(s.began) {
		s.watched.Baseline.Processes, s.watched.Baseline.ProcessesGap = list, gap
	}
	if s.peaked && s.previous.Known() {
		s.watched.Peak.Processes, s.watched.Peak.ProcessesGap = list, gap
	}
	sum := sum(list)
	best := s.watched.ProcessPeak.Used
	if gap == "" && sum.Known() && (!best.Known() || sum.Number > best.Number) {
		s.watched.ProcessPeak = device.Moment{Used: sum, Time: now, Processes: list}
	}
	if gap == "" && !sum.Known() && !best.Known() {
		s.watched.ProcessPeak.Used = sum
	}
}

// sum adds the processes' memory. Where there is none, or one is not known, there is no
// sum: an empty list is what a container shows of the processes outside it.
func sum(list []device.ProcessUse) metric.Value {
	if len(list) == 0 {
		return metric.Missing("the driver lists no process")
	}
	total := 0.0
	for _, p := range list {
		if !p.Used.Known() {
			return metric.Missing(fmt.Sprintf("memory of process %d is not known: %s", p.PID, p.Used.Gap))
		}
		total += p.Used.Number
	}
	return metric.Of(total)
}

// changed reports whether the log would say something new, or has been silent for long.
func (s *series) changed(used metric.Value, now time.Time) bool {
	if s.writtenAt.IsZero() || now.Sub(s.writtenAt) >= heartbeat {
		return true
	}
	return used.Gap != s.written.Gap || used.Known() && inMiB(used) != inMiB(s.written)
}

func (s *series) wrote(used metric.Value, now time.Time) { s.written, s.writtenAt = used, now }

// inMiB rounds to the nearest MiB.
func inMiB(bytes metric.Value) int64 { return int64(math.Round(bytes.Number / float64(unit.MiB))) }

// processesChanged reports whether the list differs from the one in the log, and keeps
// it as that.
func (s *series) processesChanged(list []device.ProcessUse, gap string) bool {
	if s.listed && gap == s.listGap && slices.Equal(list, s.list) {
		return false
	}
	s.list, s.listGap, s.listed = list, gap, true
	return true
}

func (s *series) summary(now time.Time, ended bool) device.Watched {
	out := s.watched
	out.Gaps = slices.Clone(out.Gaps)
	if s.span > 0 {
		out.Mean = metric.Of(s.area / s.span)
	}
	end := s.at
	if !ended {
		end = now
	}
	if gap := end.Sub(s.good); s.started && gap > out.LargestGap {
		out.LargestGap, out.GapAt = gap, s.good
	}
	return out
}
