package page

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hostSeries gathers the host's log: what the process tree held, by both ways to count.
type hostSeries struct {
	first    time.Time
	pss, rss *thinner

	time, pssAt, rssAt, cells int // where the columns stand; cells 0: no header yet
}

func newHost(limit int) *hostSeries {
	return &hostSeries{pss: newThinner(limit), rss: newThinner(limit)}
}

// maxHostLine bounds a line of the log; a longer one is none of it.
const maxHostLine = 4096

// read reads a log of any length. A last line without a line end is no data.
func (h *hostSeries) read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	long := false
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = true
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if !long && len(line) <= maxHostLine {
			h.line(strings.TrimSpace(string(line)))
		}
		long = false
	}
}

func (h *hostSeries) line(text string) {
	row := strings.Split(text, ",")
	if at := slices.Index(row, "rss_bytes"); at >= 0 {
		h.time, h.rssAt, h.pssAt = slices.Index(row, "timestamp"), at, slices.Index(row, "pss_bytes")
		h.cells = len(row)
		return
	}
	if h.cells == 0 || len(row) != h.cells || h.time < 0 {
		return
	}
	at, err := time.Parse(time.RFC3339, row[h.time])
	if err != nil {
		return
	}
	if h.first.IsZero() {
		h.first = at
	}
	ms := at.Sub(h.first).Milliseconds()
	h.keep(h.rss, ms, row[h.rssAt])
	if h.pssAt >= 0 {
		h.keep(h.pss, ms, row[h.pssAt])
	}
}

func (h *hostSeries) keep(t *thinner, ms int64, cell string) {
	n, err := strconv.ParseInt(strings.TrimSpace(cell), 10, 64)
	if err == nil && n >= 0 {
		t.add(point{ms: ms, kib: n >> 10})
	}
}

func (h *hostSeries) series() []series {
	var out []series
	if p := h.pss.points(); len(p) > 0 {
		out = append(out, newSeries("host PSS", true, p))
	}
	if p := h.rss.points(); len(p) > 0 {
		out = append(out, newSeries("host RSS", true, p))
	}
	return out
}
