package nvml

import (
	"context"
	"fmt"

	"tunebench/internal/device"
	"tunebench/internal/metric"
)

// session is an initialised library.
type session struct {
	d       driver
	version string // of the driver; empty where it does not say
}

// open loads the library and initialises it.
func open(path string) (*session, error) {
	d, err := load(path)
	if err != nil {
		return nil, err
	}
	if err := fault(d, fnInit, d.do(fnInit)); err != nil {
		return nil, fmt.Errorf("initialise NVML: %w", err)
	}
	version, _ := d.text(fnDriverVersion, 0) // empty is told as empty
	return &session{d: d, version: version}, nil
}

func (s *session) close() { s.d.do(fnShutdown) }

// gpus returns the handles of all GPUs by index; one that cannot be had is 0, and
// problems says why.
func (s *session) gpus() (all []handle, problems []string, err error) {
	n, c := s.d.number(fnCount, 0)
	if err := fault(s.d, fnCount, c); err != nil {
		return nil, nil, fmt.Errorf("count the devices: %w", err)
	}
	for i := range int(n) {
		h, c := s.d.byIndex(i)
		if err := fault(s.d, fnByIndex, c); err != nil {
			h = 0
			problems = append(problems, fmt.Sprintf("device %d cannot be opened: %v", i, err))
		}
		all = append(all, h)
	}
	return all, problems, nil
}

// identity asks for the names of a device.
func (s *session) identity(h handle, index int) device.Device {
	d := device.Device{Index: index}
	if uuid, c := s.d.text(fnUUID, h); c == success {
		d.UUID = uuid
	}
	if name, c := s.d.text(fnName, h); c == success {
		d.Name = name
	}
	return d
}

// find opens the device that is meant: by UUID, of a GPU or a MIG slice, else by index.
func (s *session) find(want device.Device) (handle, error) {
	if want.UUID == "" {
		h, c := s.d.byIndex(want.Index)
		return h, fault(s.d, fnByIndex, c)
	}
	h, c := s.d.byUUID(want.UUID)
	return h, fault(s.d, fnByUUID, c)
}

// parent returns the UUID and the index of the GPU that a MIG slice is cut from; of a
// GPU itself there is none.
func (s *session) parent(h handle) (uuid string, index int, ok bool) {
	if !s.d.has(fnMIGParent) {
		return "", -1, false
	}
	gpu, c := s.d.parent(h)
	if c != success {
		return "", -1, false
	}
	uuid, _ = s.d.text(fnUUID, gpu)
	i, c := s.d.number(fnIndex, gpu)
	if c != success {
		return uuid, -1, true
	}
	return uuid, int(i), true
}

// watcher reads the devices of a run. It is the sampler's source.
type watcher struct {
	d       driver
	targets []target
	buffer  *processBuffer
}

// target is one device that is watched.
type target struct {
	h      handle
	open   bool
	lost   metric.Value // the reason, where the device could not be opened
	counts function     // fnMemoryV2 or fnMemoryV1
	info   *memoryInfo
}

// watch opens the devices and says who they are. One that cannot be opened is a gap, not
// an error, unless all are. A device gets the index that it was asked with; a MIG slice
// has none of its own and gets its GPU's, or where another device has that, the first
// free one behind all GPUs.
func (s *session) watch(want []device.Device) (*watcher, []device.Watched, error) {
	w := &watcher{d: s.d, buffer: newProcessBuffer(someProcesses)}
	var all []device.Watched
	var last error
	for _, d := range want {
		t, watched, err := s.target(d)
		if err != nil {
			last = err
		}
		w.targets = append(w.targets, t)
		all = append(all, watched)
	}
	if last != nil && w.opened() == 0 {
		return nil, nil, fmt.Errorf("open the devices: %w", last)
	}
	number(all)
	return w, all, nil
}

func (w *watcher) opened() (n int) {
	for _, t := range w.targets {
		if t.open {
			n++
		}
	}
	return n
}

func (s *session) target(want device.Device) (target, device.Watched, error) {
	h, err := s.find(want)
	if err != nil {
		lost := metric.Missing(err.Error())
		return target{lost: lost}, device.Watched{
			Device: want, Total: lost, Reserved: lost, EnergyStart: lost, EnergyEnd: lost,
		}, err
	}
	watched := device.Watched{Device: s.identity(h, want.Index)}
	if watched.UUID == "" {
		watched.UUID = want.UUID
	}
	if pci, c := s.d.pciBusID(h); c == success {
		watched.PCI = pci
	}
	watched.Index, watched.Parent = s.place(h, want, watched.UUID)
	counts, source, first := chooseMemory(s.d, h)
	watched.Source, watched.Total, watched.Reserved = source, first.total, first.reserved
	watched.EnergyStart = s.energy(h)
	watched.EnergyEnd = metric.Missing("the counter was not read at the end")
	return target{h: h, open: true, counts: counts, info: new(memoryInfo)}, watched, nil
}

// place returns the index of a device for the log, and the UUID of a slice's GPU.
func (s *session) place(h handle, want device.Device, uuid string) (index int, parent string) {
	if (device.Device{UUID: uuid}).IsMIG() {
		gpu, i, ok := s.parent(h)
		if ok && want.Index < 0 {
			return i, gpu
		}
		return want.Index, gpu
	}
	if i, c := s.d.number(fnIndex, h); c == success {
		return int(i), ""
	}
	return want.Index, ""
}

// number gives devices without an index, or with one that another has, a free one: a row
// of the log names its device by index only.
func number(all []device.Watched) {
	taken := map[int]bool{}
	free := len(all)
	for _, d := range all {
		free = max(free, d.Index+1)
	}
	for i := range all {
		if all[i].Index < 0 || taken[all[i].Index] {
			all[i].Index = free
			free++
		}
		taken[all[i].Index] = true
	}
}

// energy reads the counter of a device, in mJ since the driver was loaded. The call
// takes some 3 ms.
func (s *session) energy(h handle) metric.Value {
	e, c := s.d.long(fnEnergy, h)
	return numbered(s.d, fnEnergy, float64(e), c)
}

// Memory reads each device's counter.
func (w *watcher) Memory(_ context.Context, used []metric.Value) {
	for i := range w.targets {
		t := &w.targets[i]
		if used[i] = t.lost; t.open {
			level, _ := readMemory(w.d, t.counts, t.h, t.info) // the gap says what the code does
			used[i] = level.used
		}
	}
}

// Processes lists who holds memory on device i.
func (w *watcher) Processes(_ context.Context, i int) ([]device.ProcessUse, string) {
	t := &w.targets[i]
	if !t.open {
		return nil, t.lost.Gap
	}
	return readProcesses(w.d, t.h, w.buffer)
}

// State says what device i does.
func (w *watcher) State(_ context.Context, i int) device.State {
	t := &w.targets[i]
	if !t.open {
		return device.State{Utilisation: t.lost, Power: t.lost, SMClock: t.lost, MemoryClock: t.lost, ThrottleGap: t.lost.Gap}
	}
	return readState(w.d, t.h)
}

// energies reads every device's counter.
func (w *watcher) energies(s *session) []metric.Value {
	out := make([]metric.Value, len(w.targets))
	for i, t := range w.targets {
		if out[i] = t.lost; t.open {
			out[i] = s.energy(t.h)
		}
	}
	return out
}
