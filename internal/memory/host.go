package memory

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// HostFigures are the figures of one experiment's process tree in the host's memory,
// in bytes.
type HostFigures struct {
	PeakPSS metric.Value // every shared page counted once
	PeakRSS metric.Value // a page shared by n processes counted n times
	Samples int
	Doubts  []string
}

// hostSlack is how far a figure may lie below what is known otherwise before a reader
// has to be told: pages that come and go between two samples.
const hostSlack = 1.10

// Host reads host_memory_logs.csv. maxRSSOneProcess is the kernel's own peak, in bytes,
// of the largest process; it knows no gaps, so where it is above the sampled sum of the
// whole tree, it is the better lower bound and stands as the peak.
func Host(r io.Reader, maxRSSOneProcess metric.Value) HostFigures {
	log, err := readHost(r)
	f := HostFigures{
		PeakPSS: log.peakOrGap(log.pss, "PSS"),
		PeakRSS: log.peakOrGap(log.rss, "RSS"),
		Samples: log.samples,
	}
	if err != nil {
		f.Doubts = append(f.Doubts, fmt.Sprintf("lower bound: the host's log could not be read to its end: %v", err))
	}
	// PSS is read less often than RSS. That matters where the tree grew in between.
	if f.PeakPSS.Known() && log.rss.value > hostSlack*log.rssWithPSS.value {
		f.Doubts = append(f.Doubts, fmt.Sprintf("lower bound of PSS: it was last read at an RSS of %s, and RSS rose to %s",
			unit.Bytes(log.rssWithPSS.value), unit.Bytes(log.rss.value)))
	}
	f.withKernelPeak(maxRSSOneProcess)
	return f
}

// withKernelPeak takes the kernel's peak of one process into account.
func (f *HostFigures) withKernelPeak(one metric.Value) {
	switch {
	case !one.Known():
		return
	case !f.PeakRSS.Known():
		f.PeakRSS = metric.Of(one.Number)
		f.Doubts = append(f.Doubts, "lower bound: RSS is the kernel's own peak of the largest process; the tree was never sampled")
	case one.Number > f.PeakRSS.Number:
		if one.Number > hostSlack*f.PeakRSS.Number {
			f.Doubts = append(f.Doubts, fmt.Sprintf("lower bound: the sampled peak RSS of %s missed the kernel's own peak of one process, %s, which stands",
				unit.Bytes(f.PeakRSS.Number), unit.Bytes(one.Number)))
		}
		f.PeakRSS = metric.Of(one.Number)
	}
}

// highest is the largest of n numbers.
type highest struct {
	value float64
	n     int
}

func (h *highest) add(v float64) {
	h.value = max(h.value, v)
	h.n++
}

// hostLog is what one log holds.
type hostLog struct {
	rss, pss   highest
	rssWithPSS highest // RSS of the samples that read PSS too
	samples    int
	unread     int // lines that are neither a header nor a sample
}

func (l *hostLog) add(rssCell, pssCell string) {
	l.samples++
	rss, knowsRSS := bytesIn(rssCell)
	pss, knowsPSS := bytesIn(pssCell)
	if knowsRSS {
		l.rss.add(rss)
	}
	if knowsPSS {
		l.pss.add(pss)
		l.rssWithPSS.add(rss)
	}
}

func bytesIn(cell string) (float64, bool) {
	v, err := strconv.ParseInt(strings.TrimSpace(cell), 10, 64)
	return float64(v), err == nil && v >= 0
}

func (l hostLog) peakOrGap(h highest, what string) metric.Value {
	switch {
	case h.n > 0 && h.value > 0:
		return metric.Of(h.value)
	case h.n > 0: // a process without memory is one that has ended and was not waited for yet
		return metric.Missing(fmt.Sprintf("%s was read of processes only that had ended already", what))
	case l.samples == 0 && l.unread > 0:
		return metric.Missing(fmt.Sprintf("none of the %d lines of the host's log is a sample", l.unread))
	case l.samples == 0:
		return metric.Missing("the host's memory was never sampled")
	}
	return metric.Missing(fmt.Sprintf("%s could be read in none of %d samples", what, l.samples))
}

// readHost reads the columns rss_bytes and pss_bytes, wherever they stand. What stands
// behind the last line end may be half a row and is no data.
func readHost(r io.Reader) (log hostLog, err error) {
	rssAt, pssAt, cells := -1, -1, 0
	err = eachLine(r, func(line []byte) {
		row := strings.Split(strings.TrimSpace(string(line)), ",")
		if at := slices.Index(row, "rss_bytes"); at >= 0 {
			rssAt, pssAt, cells = at, slices.Index(row, "pss_bytes"), len(row)
			return
		}
		if cells == 0 || len(row) != cells {
			log.unread++
			return
		}
		pss := ""
		if pssAt >= 0 {
			pss = row[pssAt]
		}
		log.add(row[rssAt], pss)
	})
	return log, err
}
