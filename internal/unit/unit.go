// Package unit holds the base units that figures are kept in, and the one place
// where they are scaled for the eye.
//
// Inside, memory is in bytes and time in time.Duration. Spellings that people write
// (5GiB, 90s) are read here and what people read (20.1 GiB) is made here.
package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of memory or disk.
type Bytes int64

// The binary and decimal multiples of a byte.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
	KB  Bytes = 1e3
	MB  Bytes = 1e6
	GB  Bytes = 1e9
	TB  Bytes = 1e12
)

type multiple struct {
	suffix string
	size   Bytes
}

func multiples() []multiple {
	return []multiple{
		{"KiB", KiB}, {"MiB", MiB}, {"GiB", GiB}, {"TiB", TiB},
		{"KB", KB}, {"MB", MB}, {"GB", GB}, {"TB", TB}, {"B", 1},
	}
}

// ParseBytes reads an amount such as 5GiB, 1.5 GB or 0. A bare number is in bytes.
func ParseBytes(text string) (Bytes, error) {
	number, size := strings.TrimSpace(text), Bytes(1)
	for _, m := range multiples() {
		if head, ok := cutSuffixFold(number, m.suffix); ok {
			number, size = strings.TrimSpace(head), m.size
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n*float64(size) > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not an amount of memory (write it like 5GiB, 800MB or 1048576)", text)
	}
	return Bytes(math.Round(n * float64(size))), nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if len(s) < len(suffix) || !strings.EqualFold(s[len(s)-len(suffix):], suffix) {
		return s, false
	}
	return s[:len(s)-len(suffix)], true
}

// String returns the amount in the largest binary multiple that keeps it above one,
// with three significant digits.
func (b Bytes) String() string {
	abs := b
	if abs < 0 {
		abs = -abs
	}
	switch {
	case abs >= GiB:
		return scaled(b, GiB) + " GiB"
	case abs >= MiB:
		return scaled(b, MiB) + " MiB"
	case abs >= KiB:
		return scaled(b, KiB) + " KiB"
	}
	return strconv.FormatInt(int64(b), 10) + " B"
}

func scaled(b, size Bytes) string {
	n := float64(b) / float64(size)
	digits := 2
	switch abs := math.Abs(n); {
	case abs >= 100:
		digits = 0
	case abs >= 10:
		digits = 1
	}
	return strconv.FormatFloat(n, 'f', digits, 64)
}
