package device

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
)

// foreign keeps a line that is neither header nor row.
func (l *logReader) foreign(line Line) {
	l.notes.ForeignAll++
	if len(l.notes.Foreign) < maxForeign {
		l.notes.Foreign = append(l.notes.Foreign, line)
	}
	if l.failure == nil && isDriverError(line.Text) {
		l.failure = &line
	}
	if l.trailing == nil {
		l.trailing = &line
	}
}

// cut keeps the last line of a log that ends within a line.
func (l *logReader) cut(line Line) {
	if isDriverError(line.Text) {
		l.foreign(line)
		return
	}
	l.notes.Cut = &line
}

// finish decides which foreign line is an error: what a driver is known to print of a
// failure wherever it stands, any other line only where no reading follows it, since
// then it is the last that was heard of the tool.
func (l *logReader) finish() {
	l.notes.ErrorLast = l.trailing != nil
	l.notes.Error = l.failure
	if l.failure == nil {
		l.notes.Error = l.trailing
	}
}

// isDriverError reports whether the line is one of those with which nvidia-smi and the
// driver's library say that a device or the driver cannot be reached.
func isDriverError(text string) bool {
	text = strings.ToLower(text)
	for _, phrase := range []string{
		"failed to initialize nvml", "nvidia-smi has failed", "unable to determine the device handle",
		"gpu is lost", "gpu has fallen off the bus", "no devices were found", "gpu requires reset",
		"driver/library version mismatch", "driver not loaded", "unknown error", "nvml library",
	} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// lineReaders lends their buffers from one log to the next.
//
//nolint:gochecknoglobals // what is lent belongs to nobody
var lineReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxLineBytes) }}

// eachLine hands on every line with its number and whether it ends in a line end. Of a
// line longer than any row only the beginning is kept. Whole lines, with their ends, are
// offered to first; those that it takes go no further.
func eachLine(r io.Reader, first func(line []byte) bool, each func(number int, text string, whole bool)) error {
	in := lineReaders.Get().(*bufio.Reader)
	in.Reset(r)
	defer func() {
		in.Reset(nil) // it holds no log longer than it reads it
		lineReaders.Put(in)
	}()
	for number := 1; ; number++ {
		head, err := in.ReadSlice('\n')
		if err == nil && first(head) {
			continue
		}
		text := string(head)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil && text == "" {
			return ended(err)
		}
		each(number, strings.TrimSuffix(text, "\n"), err == nil)
		if err != nil {
			return ended(err)
		}
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// clip makes a text fit for a note: valid UTF-8 and of bounded length.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if runes := []rune(text); len(runes) > maxTextRunes {
		return string(runes[:maxTextRunes]) + "..."
	}
	return text
}
