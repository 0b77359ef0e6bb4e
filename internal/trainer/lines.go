package trainer

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds what is kept of one line. The end of a longer one is kept, since what
// a trainer prints comes after the progress bars that it is glued to.
const maxLine = 1 << 20

// EachLine calls do with every line of r, in order, in memory that does not grow with
// the log. Carriage returns separate lines too, as progress bars use them; "\r\n" is
// one separator. Bytes that are not UTF-8 arrive as replacement characters. An error
// of r is returned after the lines before it were handed on.
func EachLine(r io.Reader, do func(line string)) error {
	s := splitter{do: do}
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		s.write(chunk[:n])
		if err == nil {
			continue
		}
		s.finish()
		if err == io.EOF {
			return nil
		}
		return fmt.Errorf("read log: %w", err)
	}
}

type splitter struct {
	do   func(string)
	line []byte
	cr   bool // the last separator was a carriage return
}

func (s *splitter) write(chunk []byte) {
	for len(chunk) > 0 {
		if s.cr && chunk[0] == '\n' {
			chunk = chunk[1:]
		}
		s.cr = false
		i := bytes.IndexAny(chunk, "\r\n")
		if i < 0 {
			s.keep(chunk)
			return
		}
		s.keep(chunk[:i])
		s.emit()
		s.cr = chunk[i] == '\r'
		chunk = chunk[i+1:]
	}
}

func (s *splitter) keep(part []byte) {
	s.line = append(s.line, part...)
	if len(s.line) > 2*maxLine {
		s.line = append(s.line[:0], s.line[len(s.line)-maxLine:]...)
	}
}

func (s *splitter) emit() {
	line := s.line[max(0, len(s.line)-maxLine):]
	s.do(strings.ToValidUTF8(string(line), "\uFFFD"))
	s.line = s.line[:0]
}

func (s *splitter) finish() {
	if len(s.line) > 0 {
		s.emit()
	}
}
