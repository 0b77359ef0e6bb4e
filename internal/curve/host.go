package curve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// The host's curves, in the order in which they are returned.
const (
	pss = iota
	rss
)

// Host reads a host's log (rows of a timestamp in RFC 3339 with rss_bytes and pss_bytes,
// wherever the header puts them) into one curve for PSS and one for RSS, of at most limit
// points each, and returns the time of the first row. A reading that the log lacks is
// no point. What stands behind the last line end may be half a row and is no data.
func Host(r io.Reader, limit int) ([]Curve, time.Time, error) {
	h := hostReader{gathered: newGathered(limit)}
	err := eachRow(r, h.line)
	doubt := ""
	if err != nil {
		doubt = fmt.Sprintf("the log could not be read to its end: %v", err)
	}
	return h.done(func(int) string { return doubt }), h.first, err
}

type hostReader struct {
	*gathered
	columns int // of the header; 0: there was none yet
	time    int // the column of each, -1 for none
	amount  [2]int
	cells   [][]byte // of the line at hand
}

func (h *hostReader) line(text []byte) {
	h.cells = h.cells[:0]
	for cell := range bytes.SplitSeq(bytes.TrimSpace(text), []byte(",")) {
		h.cells = append(h.cells, cell)
	}
	if bytes.Contains(text, []byte("ss_bytes")) && h.header() || h.columns == 0 || len(h.cells) != h.columns || h.time < 0 {
		return
	}
	at, err := time.Parse(time.RFC3339, string(h.cells[h.time]))
	if err != nil || at.IsZero() {
		return
	}
	h.start(at)
	for which, name := range [2]string{pss: "host PSS", rss: "host RSS"} {
		if column := h.amount[which]; column >= 0 {
			h.reading(which, name, at, h.cells[column])
		}
	}
}

// header takes the columns from a line that names them.
func (h *hostReader) header() bool {
	at := func(name string) int {
		return slices.IndexFunc(h.cells, func(cell []byte) bool { return string(cell) == name })
	}
	amount := [2]int{pss: at("pss_bytes"), rss: at("rss_bytes")}
	if amount[pss] < 0 && amount[rss] < 0 {
		return false
	}
	h.columns, h.time, h.amount = len(h.cells), at("timestamp"), amount
	return true
}

func (h *hostReader) reading(which int, name string, at time.Time, cell []byte) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(cell)), 10, 64)
	if err != nil || n < 0 {
		return
	}
	h.add(h.curve(which, name, ""), at, float64(n))
}

// maxRow bounds a row of the log; a longer line is none.
const maxRow = 4 << 10

// eachRow hands on every whole line that is no longer than a row may be.
func eachRow(r io.Reader, each func([]byte)) error {
	in := bufio.NewReaderSize(r, maxRow)
	long := false
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = true
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if !long {
			each(line)
		}
		long = false
	}
}
