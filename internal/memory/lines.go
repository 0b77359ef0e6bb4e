package memory

import (
	"bufio"
	"errors"
	"io"
)

// maxLine is longer than any row of our own logs.
const maxLine = 4 << 10

// eachLine hands on every line that ends, without its end, and an empty one for each that is
// too long for a row: what cannot be read costs no memory.
func eachLine(r io.Reader, each func(line []byte)) error {
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = in.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		each(line[:max(0, len(line)-1)])
	}
}
