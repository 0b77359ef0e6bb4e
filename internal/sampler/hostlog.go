package sampler

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"tunebench/internal/metric"
)

// hostHeader names the columns of the host's log; amounts are in bytes, a cell that is
// not known is empty.
const hostHeader = "timestamp,processes,rss_bytes,pss_bytes\n"

// timeLayout is RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// create makes the log with its header. An earlier one is removed, not emptied.
func create(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(file, hostHeader); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// writeRow writes a sample in one call and without a buffer: what was sampled is in the
// file even if the next instruction is never reached.
func writeRow(w io.Writer, s HostSample) error {
	_, err := fmt.Fprintf(w, "%s,%d,%s,%s\n",
		s.Time.UTC().Format(timeLayout), s.Processes, cell(s.RSS), cell(s.PSS))
	if err != nil {
		return fmt.Errorf("writing the host's memory log: %w", err)
	}
	return nil
}

func cell(v metric.Value) string {
	if !v.Known() {
		return ""
	}
	return strconv.FormatInt(int64(v.Number), 10)
}
