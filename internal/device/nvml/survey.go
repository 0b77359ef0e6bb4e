package nvml

import (
	"fmt"
	"strconv"
	"strings"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// survey asks every device for everything, once.
func (s *session) survey() (device.Machine, error) {
	m := device.Machine{Source: "nvml", Driver: s.version, Library: s.d.file()}
	all, problems, err := s.gpus()
	m.Notes = problems
	if err != nil {
		return m, err
	}
	buffer := newProcessBuffer(someProcesses)
	for i, h := range all {
		if h == 0 {
			none := metric.Missing("the device cannot be opened")
			m.Devices = append(m.Devices, device.Surveyed{
				Device: device.Device{Index: i}, Total: none, Used: none, Reserved: none, ProcessesGap: none.Gap,
			})
			continue
		}
		d := s.surveyed(h, i, buffer)
		s.slices(h, &d, buffer)
		m.Devices = append(m.Devices, d)
	}
	return m, nil
}

// surveyed asks one GPU or slice.
func (s *session) surveyed(h handle, index int, buffer *processBuffer) device.Surveyed {
	_, source, level := chooseMemory(s.d, h)
	d := device.Surveyed{
		Device: s.identity(h, index), Source: source,
		Total: level.total, Used: level.used, Reserved: level.reserved,
	}
	if pci, c := s.d.pciBusID(h); c == success {
		d.PCI = pci
	}
	d.Processes, d.ProcessesGap = readProcesses(s.d, h, buffer)
	busy, _, c := s.d.rates(fnUtilisation, h)
	d.Utilisation = numbered(s.d, fnUtilisation, float64(busy), c)
	mode, c := s.d.number(fnComputeMode, h)
	d.ComputeMode = computeMode(s.d, mode, c)
	d.Calls = s.calls(h, d)
	return d
}

// computeMode names nvmlComputeMode_t.
func computeMode(d driver, mode uint32, c code) string {
	names := []string{"default", "exclusive thread", "prohibited", "exclusive process"}
	switch {
	case c != success:
		return gap(d, fnComputeMode, c).Gap
	case int(mode) < len(names):
		return names[mode]
	}
	return fmt.Sprintf("mode %d", mode)
}

// slices asks a GPU for its MIG slices. They have no index of their own.
func (s *session) slices(h handle, d *device.Surveyed, buffer *processBuffer) {
	on, _, c := s.d.pair(fnMIGMode, h)
	switch {
	case c != success:
		d.MIG = gap(s.d, fnMIGMode, c).Gap
		return
	case on == 0:
		d.MIG = device.MIGOff
		return
	}
	d.MIG = device.MIGOn
	n, c := s.d.number(fnMIGCount, h)
	if c != success {
		d.MIG = device.MIGOn + "; " + gap(s.d, fnMIGCount, c).Gap
		return
	}
	for i := range int(n) {
		slice, c := s.d.slice(h, i)
		if c != success {
			continue // NOT_FOUND: the place is empty
		}
		sub := s.surveyed(slice, -1, buffer)
		sub.Parent = d.UUID
		d.Slices = append(d.Slices, sub)
	}
}

// calls says what each function answers here, by its exported name.
func (s *session) calls(h handle, d device.Surveyed) []device.Call {
	state := readState(s.d, h)
	return []device.Call{
		s.memoryCall(fnMemoryV2, h),
		s.memoryCall(fnMemoryV1, h),
		s.told(fnCompute, "", fmt.Sprintf("%d listed", len(d.Processes)), d.ProcessesGap),
		s.answer(fnUtilisation, "", state.Utilisation, "%"),
		s.answer(fnPower, "", state.Power, "W"),
		s.answer(fnClock, " SM", state.SMClock, "MHz"),
		s.answer(fnClock, " memory", state.MemoryClock, "MHz"),
		s.told(fnThrottle, "", strings.Join(append([]string{"ok"}, state.Throttle...), ", "), state.ThrottleGap),
		s.answer(fnEnergy, "", s.energy(h), "mJ"),
	}
}

func (s *session) memoryCall(f function, h handle) device.Call {
	level, _ := readMemory(s.d, f, h, new(memoryInfo)) // the gap says what the code does
	return s.answer(f, "", level.used, "bytes used")
}

// answer is a call with its value or the reason why there is none. What tells the calls of
// one function apart stands behind its name.
func (s *session) answer(f function, what string, v metric.Value, unit string) device.Call {
	return s.told(f, what, strconv.FormatFloat(v.Number, 'f', -1, 64)+" "+unit, v.Gap)
}

func (s *session) told(f function, what, answer, gap string) device.Call {
	name := s.d.symbol(f)
	if gap != "" {
		return device.Call{Name: name + what, Gap: strings.TrimPrefix(gap, name+": ")}
	}
	return device.Call{Name: name + what, Answer: answer}
}
