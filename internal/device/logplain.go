package device

import (
	"strconv"
	"time"

	"tunebench/internal/unit"
)

// A plain row is one as the tool writes nearly all of them:
//
//	2025/03/04 10:00:01.101, NVIDIA L4, 0, 21501 MiB
//
// of a device that the log has named before. Long logs consist of them, so they are read
// from the bytes, without a text for the row or its cells. What differs in any way is left
// to the reader of all rows, so the two never disagree.
const (
	stampBytes  = len("2006/01/02 15:04:05.000")
	minuteBytes = len("2006/01/02 15:04:")
)

// clock reads the stamps of plain rows. Those of several devices repeat the whole stamp,
// and those of one minute differ in their last digits only.
type clock struct {
	stamp [stampBytes]byte // of the last row
	last  time.Time
	begin time.Time // of the minute that stamp lies in
}

// plain reports whether the columns are those of LogHeader, in its order and unit.
func (c columns) plain() bool {
	return c == columns{count: 4, time: 0, name: 1, index: 2, memory: 3, scale: unit.MiB}
}

// plainRow takes a line with its end, if it is a plain row.
func (l *logReader) plainRow(line []byte) bool {
	if !l.plain || len(line) < stampBytes+len(", , 0, 0 MiB\n") {
		return false
	}
	seen, amount := l.plainEnd(line[stampBytes:])
	if seen == nil {
		return false
	}
	at, ok := l.clock.moment(line[:stampBytes])
	if !ok {
		return false
	}
	l.reading(seen, at, unit.Bytes(amount)*unit.MiB)
	return true
}

// plainLabel is what stands between stamp and amount in the plain rows of a device.
func plainLabel(name string, index int) string {
	return ", " + name + ", " + strconv.Itoa(index) + ", "
}

// plainEnd reads the label of a known device, an amount, and the end of the line; seen is
// nil where it is anything else. Devices take turns in a log, so the search begins behind
// the last one.
func (l *logReader) plainEnd(text []byte) (seen *Seen, amount int) {
	at := l.last
	for range l.labels {
		if at++; at >= len(l.labels) {
			at = 0
		}
		label := l.labels[at]
		if len(text) < len(label) || string(text[:len(label)]) != label { // the comparison makes no text
			continue
		}
		if amount, ok := plainAmount(text[len(label):]); ok {
			l.last = at
			return &l.notes.Devices[at], amount
		}
	}
	return nil, 0
}

// plainAmount reads an amount with its unit and a line end.
func plainAmount(text []byte) (amount int, ok bool) {
	const most = 9 // digits: more than any device has of MiB, and no overflow
	n := 0
	for n < len(text) && n < most && isDigit(text[n]) {
		amount = amount*10 + int(text[n]-'0')
		n++
	}
	return amount, n > 0 && string(text[n:]) == " MiB\n"
}

// moment reads a stamp with milliseconds.
func (c *clock) moment(stamp []byte) (time.Time, bool) {
	if string(stamp) == string(c.stamp[:]) {
		return c.last, true
	}
	after, ok := sinceMinute(stamp[minuteBytes:])
	if !ok {
		return time.Time{}, false
	}
	if string(stamp[:minuteBytes]) != string(c.stamp[:minuteBytes]) {
		at, err := time.Parse(timeLayout, string(stamp))
		if err != nil {
			return time.Time{}, false
		}
		c.begin = at.Add(-after)
	}
	copy(c.stamp[:], stamp)
	c.last = c.begin.Add(after)
	return c.last, true
}

// sinceMinute reads the seconds and milliseconds of a stamp, such as 05.000.
func sinceMinute(t []byte) (time.Duration, bool) {
	_ = t[5] // one check of the length for all
	if t[2] != '.' || !isDigit(t[0]) || !isDigit(t[1]) || !isDigit(t[3]) || !isDigit(t[4]) || !isDigit(t[5]) {
		return 0, false
	}
	seconds := int(t[0]-'0')*10 + int(t[1]-'0')
	millis := int(t[3]-'0')*100 + int(t[4]-'0')*10 + int(t[5]-'0')
	return time.Duration(seconds*1000+millis) * time.Millisecond, seconds < 60
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
