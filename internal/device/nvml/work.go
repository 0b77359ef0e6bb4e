package nvml

import (
	"fmt"
	"sync"
	"time"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/sampler"
)

// work is what is known of the watching at any time, also while a call hangs.
type work struct {
	mu       sync.Mutex
	session  *session
	devices  *sampler.Devices
	energies []metric.Value
	notes    []string
}

func (w *work) opened(s *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session = s
}

func (w *work) began(d *sampler.Devices, notes []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.devices, w.notes = d, append(w.notes, notes...)
}

func (w *work) finished(energies []metric.Value) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.energies = energies
}

func (w *work) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, text)
}

// summary returns all that is known by now.
func (w *work) summary() device.Summary {
	w.mu.Lock()
	defer w.mu.Unlock()
	var s device.Summary
	if w.devices != nil {
		s = w.devices.Summary()
	}
	if w.session != nil {
		s.Driver, s.Library = w.session.version, w.session.d.file()
	}
	s.Notes = append(s.Notes, w.notes...)
	for i := range w.energies {
		s.Devices[i].EnergyEnd = w.energies[i]
	}
	return s
}

// hung says which call does not return.
func (w *work) hung() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	what := "the loading of NVML"
	if w.session != nil {
		what = "a call of NVML"
		if name := w.session.d.calling(); name != "" {
			what = name
		}
	}
	if w.devices == nil {
		return what + " does not return"
	}
	last := w.devices.Summary().Ended
	if last.IsZero() {
		return what + " does not return; no sample was taken"
	}
	return fmt.Sprintf("%s does not return: nothing was seen of the last %s", what, time.Since(last).Round(time.Millisecond))
}
