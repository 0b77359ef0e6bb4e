package device

import (
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
	if line[stampBytes] != ',' || line[stampBytes+1] != ' ' {
		return false
	}
	name, index, amount, ok := plainEnd(line[stampBytes+2:])
	if !ok {
		return false
	}
	seen := l.known(index)
	if seen == nil || seen.Name != string(name) { // the comparison makes no text
		return false
	}
	at, ok := l.clock.moment(line[:stampBytes])
	if !ok {
		return false
	}
	l.reading(seen, at, unit.Bytes(amount)*unit.MiB)
	return true
}

// plainEnd splits NAME, INDEX, AMOUNT MiB and a line end, from the right, since a name
// may hold commas. Both numbers are short enough for any device and to fit.
func plainEnd(text []byte) (name []byte, index, amount int, ok bool) {
	const unitEnd = " MiB\n"
	end := len(text) - len(unitEnd)
	if end < 0 || string(text[end:]) != unitEnd {
		return nil, 0, 0, false
	}
	amount, end, ok = digitsBefore(text, end)
	if !ok {
		return nil, 0, 0, false
	}
	index, end, ok = digitsBefore(text, end)
	return text[:end], index, amount, ok
}

// digitsBefore reads ", 123" that ends at end, and says where it begins.
func digitsBefore(text []byte, end int) (n, begin int, ok bool) {
	const most = 9 // digits: more than any device has of MiB, and no overflow
	at, power := end, 1
	for at > 0 && isDigit(text[at-1]) && end-at < most {
		at--
		n += int(text[at]-'0') * power
		power *= 10
	}
	if at == end || at < 2 || text[at-1] != ' ' || text[at-2] != ',' {
		return 0, 0, false
	}
	return n, at - 2, true
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
