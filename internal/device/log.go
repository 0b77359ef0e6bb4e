package device

import (
	"io"
	"strings"
	"time"

	"tunebench/internal/unit"
)

// LogNotes is all that a memory log says beside its readings.
type LogNotes struct {
	Header     bool   // a line with the columns index and memory.used was found
	Readings   int    // rows with a number
	Devices    []Seen // in the order in which the log first names them
	Foreign    []Line // the first lines that are neither header nor row; see ForeignAll
	ForeignAll int    // how many such lines there are
	Error      *Line  // what the driver or the tool printed of a failure; it is among the foreign lines
	ErrorLast  bool   // no reading follows the error: what happened after it is not known
	Cut        *Line  // the last line, where it has no line end: it may be half a row, so it is no data
}

// Seen is one device of a log, with how many of its rows could not be read.
type Seen struct {
	Index      int
	Name       string
	Readings   int
	Unreadable int
	Texts      []string // what stood in place of the number, each once, at most 5 of them
	FirstLine  int      // the line of the first unreadable row; 0 where there is none
}

// Line is one line of a file.
type Line struct {
	Number int // from 1
	Text   string
}

// LogHeader is the first line of a log, without its end.
const LogHeader = "timestamp, name, index, memory.used [MiB]"

// The most that is kept of what a log should not hold.
const (
	maxForeign   = 20
	maxTexts     = 5
	maxLineBytes = 1 << 16
	maxTextRunes = 300
)

// ReadLog reads a log as `nvidia-smi --query-gpu=... --format=csv` writes it and hands
// every readable row to each, in order. It keeps no row, so a log may be of any length.
//
// Columns are found by the names in the header, which may come again. The tool does
// not quote, so a name with commas is what is left over between its neighbours. A cell
// that is no number ([N/A], [Insufficient Permissions]) is counted and no reading. A
// last line without a line end is no data. The error is one of reading only: whatever
// else is wrong with the text stands in the notes.
func ReadLog(r io.Reader, each func(Reading)) (LogNotes, error) {
	return readLog(r, logReader{each: each})
}

func readLog(r io.Reader, reader logReader) (LogNotes, error) {
	err := eachLine(r, reader.plainRow, reader.line)
	reader.finish()
	return reader.notes, err
}

type logReader struct {
	notes   LogNotes
	columns columns
	each    func(Reading)
	plain   bool     // rows may be plain ones; see plainRow
	labels  []string // what stands between stamp and amount in the plain rows of each device
	last    int      // the place of the last plain row's device
	clock   clock    // reads the times of plain rows
	slow    bool     // a test reads no row as a plain one

	failure  *Line // the first line that a driver is known to print of a failure
	trailing *Line // the first foreign line since the last reading
}

func (l *logReader) line(number int, text string, whole bool) {
	text = strings.TrimSpace(strings.TrimSuffix(text, "\r"))
	if number == 1 {
		text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	}
	if text == "" {
		return
	}
	line := Line{Number: number, Text: clip(text)}
	if !whole {
		l.cut(line)
		return
	}
	if c, ok := parseHeader(text); ok {
		l.columns, l.notes.Header = c, true
		l.plain = c.plain() && !l.slow
		return
	}
	row, ok := l.columns.row(text)
	if !ok {
		l.foreign(line)
		return
	}
	l.row(row, number)
}

func (l *logReader) row(row row, number int) {
	seen := l.seen(row)
	if row.unreadable {
		seen.Unreadable++
		if seen.FirstLine == 0 {
			seen.FirstLine = number
		}
		seen.keep(clip(row.cell))
		return
	}
	l.reading(seen, row.time, row.used)
}

// reading hands on a row with a number.
func (l *logReader) reading(seen *Seen, at time.Time, used unit.Bytes) {
	seen.Readings++
	l.notes.Readings++
	l.trailing = nil
	l.each(Reading{Time: at, Index: seen.Index, Name: seen.Name, Used: used})
}

// seen returns the device of a row, a new one where the log has not named it yet.
func (l *logReader) seen(row row) *Seen {
	for i := range l.notes.Devices {
		if s := &l.notes.Devices[i]; s.Index == row.index {
			return s
		}
	}
	l.notes.Devices = append(l.notes.Devices, Seen{Index: row.index, Name: row.name})
	l.labels = append(l.labels, plainLabel(row.name, row.index))
	return &l.notes.Devices[len(l.notes.Devices)-1]
}

func (s *Seen) keep(text string) {
	for _, t := range s.Texts {
		if t == text {
			return
		}
	}
	if len(s.Texts) < maxTexts {
		s.Texts = append(s.Texts, text)
	}
}
