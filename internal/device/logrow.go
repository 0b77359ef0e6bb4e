package device

import (
	"math"
	"strconv"
	"strings"
	"time"

	"tunebench/internal/unit"
)

// timeLayout is nvidia-smi's: local time without a zone, so times of a log compare only
// among themselves. Parsing takes the fraction of a second that follows, too.
const timeLayout = "2006/01/02 15:04:05"

// columns says at which place of a row its values stand; -1: the log has no such
// column. The zero value, of count 0, stands for no header.
type columns struct {
	count                     int
	time, name, index, memory int
	scale                     unit.Bytes
}

// row is one line of a log below its header.
type row struct {
	time       time.Time
	index      int
	name       string
	used       unit.Bytes
	cell       string // the memory cell as it stands
	unreadable bool
}

// parseHeader reads a line of column names. The index and the memory are demanded.
func parseHeader(text string) (columns, bool) {
	fields := strings.Split(text, ",")
	c := columns{count: len(fields), time: -1, name: -1, index: -1, memory: -1, scale: unit.MiB}
	for i, field := range fields {
		switch field = strings.TrimSpace(field); {
		case field == "timestamp":
			c.time = i
		case field == "name" || field == "gpu_name":
			c.name = i
		case field == "index":
			c.index = i
		case field == "memory.used" || strings.HasPrefix(field, "memory.used ["):
			c.memory = i
			if size, ok := scale(strings.Trim(strings.TrimPrefix(field, "memory.used"), " []")); ok {
				c.scale = size
			}
		}
	}
	return c, c.index >= 0 && c.memory >= 0
}

// row reads a line below the header; ok is false for a line that cannot be a row: too
// few cells, too many without a name to take them, or an index or time that is none.
func (c columns) row(text string) (out row, ok bool) {
	cells := strings.Split(text, ",")
	spare := len(cells) - c.count
	if c.count == 0 || spare < 0 || spare > 0 && c.name < 0 {
		return row{}, false
	}
	cell := func(column int) string {
		switch {
		case column < 0:
			return ""
		case column == c.name:
			return strings.TrimSpace(strings.Join(cells[column:column+spare+1], ","))
		case c.name >= 0 && column > c.name:
			column += spare
		}
		return strings.TrimSpace(cells[column])
	}
	var err error
	if out.index, err = strconv.Atoi(cell(c.index)); err != nil || out.index < 0 {
		return row{}, false
	}
	if stamp := cell(c.time); stamp != "" {
		if out.time, err = time.Parse(timeLayout, stamp); err != nil {
			return row{}, false
		}
	}
	out.name, out.cell = clip(cell(c.name)), cell(c.memory)
	out.used, ok = parseUsed(out.cell, c.scale)
	out.unreadable = !ok
	return out, true
}

// parseUsed reads a memory cell such as 21501 MiB. The unit is the header's where the
// cell has none.
func parseUsed(cell string, size unit.Bytes) (unit.Bytes, bool) {
	number, suffix, _ := strings.Cut(cell, " ")
	if suffix = strings.TrimSpace(suffix); suffix != "" {
		own, ok := scale(suffix)
		if !ok {
			return 0, false
		}
		size = own
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || n > uint64(math.MaxInt64/size) {
		return 0, false
	}
	return unit.Bytes(n) * size, true
}

func scale(name string) (unit.Bytes, bool) {
	switch name {
	case "B":
		return 1, true
	case "KiB":
		return unit.KiB, true
	case "MiB":
		return unit.MiB, true
	case "GiB":
		return unit.GiB, true
	}
	return 0, false
}
