package host

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tunebench/internal/unit"
)

// ParsePSS reads the field Pss of /proc/PID/smaps_rollup; ok is false where the text has
// none, as for a process without memory of its own.
func ParsePSS(r io.Reader) (pss unit.Bytes, ok bool, err error) {
	return kilobytes(r, "Pss")
}

// ParsePeakRSS reads the field VmHWM of /proc/PID/status; ok is false where the text has
// none, as for a kernel thread.
func ParsePeakRSS(r io.Reader) (peak unit.Bytes, ok bool, err error) {
	return kilobytes(r, "VmHWM")
}

// kilobytes reads a line such as "Pss:   334 kB". The kernel's kB are KiB.
func kilobytes(r io.Reader, field string) (unit.Bytes, bool, error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, rest, found := strings.Cut(lines.Text(), ":")
		if !found || name != field {
			continue
		}
		number, isKB := strings.CutSuffix(strings.TrimSpace(rest), " kB")
		n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 63)
		if err != nil || !isKB || n > math.MaxInt64/uint64(unit.KiB) {
			return 0, false, fmt.Errorf("%s is no amount in kB: %q", field, rest)
		}
		return unit.Bytes(n) * unit.KiB, true, nil
	}
	return 0, false, lines.Err()
}

// ParseOOMKills reads the field oom_kill of a cgroup's memory.events: how many of its
// processes were killed for want of memory. ok is false where the text has none, as on
// kernels before 4.13.
func ParseOOMKills(r io.Reader) (kills int, ok bool, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 || fields[0] != "oom_kill" {
			continue
		}
		n, err := strconv.ParseUint(fields[1], 10, 31)
		if err != nil {
			return 0, false, fmt.Errorf("oom_kill is no count: %q", fields[1])
		}
		return int(n), true, nil
	}
	return 0, false, lines.Err()
}

// ParseCgroup reads the path of the unified hierarchy from /proc/PID/cgroup; ok is false
// where the machine has cgroups of version 1 only.
func ParseCgroup(r io.Reader) (path string, ok bool, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "0::"); ok && strings.HasPrefix(path, "/") {
			return path, true, nil
		}
	}
	return "", false, lines.Err()
}
