package nvml

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// valueNotAvailable is NVML_VALUE_NOT_AVAILABLE as 64 bits: all ones. It is never an
// amount; neither is anything near it.
const (
	valueNotAvailable = math.MaxUint64
	mostBytes         = 1 << 60
)

// gap is the value of a call that gave none. Its text is what a log shows in its place.
func gap(d driver, f function, c code) metric.Value {
	v := metric.Missing((&Error{Call: d.symbol(f), code: c}).Error())
	v.Text = c.cell()
	return v
}

// numbered is a value of a call, scaled.
func numbered(d driver, f function, n float64, c code) metric.Value {
	if c != success {
		return gap(d, f, c)
	}
	return metric.Of(n)
}

// levels are the three amounts of a device's memory.
type levels struct{ total, used, reserved metric.Value }

// readMemory asks for the memory by f, which is fnMemoryV2 or fnMemoryV1. What cannot be
// true (no memory at all, more used than there is, the sentinel) is a gap: devices with
// unified memory and virtual ones are known to answer so.
func readMemory(d driver, f function, h handle, m *memoryInfo) (levels, code) {
	c := d.memory(f, h, m)
	total, used, reserved := m.words[0], m.words[2], uint64(0)
	if f == fnMemoryV2 {
		total, reserved, used = m.words[1], m.words[2], m.words[4]
	}
	switch {
	case c != success:
	case used == valueNotAvailable || total == valueNotAvailable:
		c = notAvailable
	case total == 0 || used > total || total > mostBytes:
		c = implausible
	}
	if c != success {
		g := gap(d, f, c)
		return levels{total: g, used: g, reserved: g}, c
	}
	out := levels{total: metric.Of(float64(total)), used: metric.Of(float64(used)), reserved: metric.Of(float64(reserved))}
	if f == fnMemoryV1 {
		out.reserved = metric.Missing("this driver counts it as used and does not say how much it is (" + device.FromNVMLv1 + ")")
	}
	return out, c
}

// chooseMemory finds the counter of a device once, so that no baseline of one is ever
// beside a peak of the other: v2 unless the driver does not know it. A device that knows
// neither is left to its processes.
func chooseMemory(d driver, h handle) (f function, source string, first levels) {
	m := new(memoryInfo)
	first, c := readMemory(d, fnMemoryV2, h, m)
	switch c {
	case noSuchSymbol, functionNotFound, argumentVersion, invalidArgument, notSupported:
	default:
		return fnMemoryV2, device.FromNVMLv2, first
	}
	if first, c = readMemory(d, fnMemoryV1, h, m); c == notSupported {
		return fnMemoryV1, device.FromProcesses, first
	}
	return fnMemoryV1, device.FromNVMLv1, first
}

// Bounds of a list of processes.
const (
	someProcesses = 64
	manyProcesses = 4096
)

// readProcesses lists who holds memory on a device: those that compute and those that
// draw, each process once, by pid. reason says why there is no list.
func readProcesses(d driver, h handle, p *processBuffer) (list []device.ProcessUse, reason string) {
	list, c := processesOf(d, fnCompute, h, p, "compute", nil)
	if c != success {
		return nil, gap(d, fnCompute, c).Gap
	}
	// That the second list cannot be had takes nothing from the first: servers have no
	// process that draws.
	if both, c := processesOf(d, fnGraphics, h, p, "graphics", list); c == success {
		list = both
	}
	slices.SortFunc(list, func(a, b device.ProcessUse) int { return a.PID - b.PID })
	return list, ""
}

// processesOf adds the processes of one list.
func processesOf(d driver, f function, h handle, p *processBuffer, kind string, list []device.ProcessUse) ([]device.ProcessUse, code) {
	n, c := d.processes(f, h, p)
	for c == insufficientSize && p.entries() < manyProcesses {
		p.bytes = make([]byte, max(2*p.entries(), n+8)*entrySize)
		n, c = d.processes(f, h, p)
	}
	if c != success || n == 0 {
		return list, c
	}
	if n > p.entries() {
		return list, implausible
	}
	size := p.stride(n)
	for i := range n {
		entry := p.bytes[i*size:]
		pid := int(binary.NativeEndian.Uint32(entry))
		list = merge(list, device.ProcessUse{PID: pid, Kind: kind, Used: heldBy(d, f, binary.NativeEndian.Uint64(entry[8:]))})
	}
	return list, success
}

// heldBy is the memory of one process; the driver may know the process and not that.
func heldBy(d driver, f function, used uint64) metric.Value {
	switch {
	case used == valueNotAvailable:
		return gap(d, f, notAvailable)
	case used > mostBytes:
		return gap(d, f, implausible)
	}
	return metric.Of(float64(used))
}

// merge adds a process. One that stands in both lists holds its memory once.
func merge(list []device.ProcessUse, p device.ProcessUse) []device.ProcessUse {
	for i := range list {
		if list[i].PID != p.PID {
			continue
		}
		if list[i].Kind != p.Kind {
			list[i].Kind += "+" + p.Kind
		}
		if !list[i].Used.Known() || p.Used.Known() && p.Used.Number > list[i].Used.Number {
			list[i].Used = p.Used
		}
		return list
	}
	return append(list, p)
}

// The types of clocks, nvmlClockType_t.
const (
	clockSM     = 1
	clockMemory = 2
)

// readState asks what a device does.
func readState(d driver, h handle) device.State {
	busy, _, c := d.rates(fnUtilisation, h)
	s := device.State{Utilisation: numbered(d, fnUtilisation, float64(busy), c)}
	power, c := d.number(fnPower, h)
	s.Power = numbered(d, fnPower, float64(power)/1000, c) // mW
	sm, c := d.ofType(fnClock, h, clockSM)
	s.SMClock = numbered(d, fnClock, float64(sm), c)
	mem, c := d.ofType(fnClock, h, clockMemory)
	s.MemoryClock = numbered(d, fnClock, float64(mem), c)
	bits, c := d.long(fnThrottle, h)
	if c != success {
		s.ThrottleGap = gap(d, fnThrottle, c).Gap
		return s
	}
	s.Throttle = throttleWords(bits)
	return s
}

// throttleWords names the bits of nvmlClocksEventReason... (nvmlClocksThrottleReason...
// before R535). A bit that has no name here is shown as a number.
func throttleWords(bits uint64) []string {
	names := []string{
		"idle", "application clocks", "software power cap", "hardware slowdown", "sync boost",
		"software thermal slowdown", "hardware thermal slowdown", "hardware power brake", "display clocks",
	}
	out := []string{}
	for i, name := range names {
		if bits&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	if rest := bits >> len(names) << len(names); rest != 0 {
		out = append(out, fmt.Sprintf("bits %#x", rest))
	}
	return out
}
