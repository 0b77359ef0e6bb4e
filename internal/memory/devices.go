package memory

import (
	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// Devices returns what is known of each device in the order in which the experiment sees
// them: what a sampler kept (s, may be nil), else what the figures of a log say.
func Devices(s *device.Summary, visible []device.Device, f NvidiaFigures) []device.Watched {
	if s != nil && len(s.Devices) > 0 {
		return s.Devices
	}
	if len(visible) == 0 {
		for _, d := range f.Devices {
			visible = append(visible, device.Device{Index: d.Index, UUID: d.UUID, Name: d.Name})
		}
	}
	var out []device.Watched
	for _, v := range visible {
		i := f.find(v)
		if i < 0 {
			continue
		}
		out = append(out, f.Devices[i].watched(v))
	}
	return out
}

// watched spells the figures of a log as those of a sampler. A log of memory alone does
// not know processes.
func (f DeviceFigures) watched(d device.Device) device.Watched {
	const none = "the log holds no processes"
	return device.Watched{
		Device: d, Source: f.Source,
		Baseline:    device.Moment{Used: inBytes(f.Baseline), ProcessesGap: none},
		Peak:        device.Moment{Used: inBytes(f.Peak), ProcessesGap: none},
		ProcessPeak: device.Moment{Used: metric.Missing(none), ProcessesGap: none},
		Mean:        inBytes(f.Mean), Samples: f.Samples, Unreadable: f.Unreadable,
	}
}

func inBytes(v metric.Value) metric.Value {
	if !v.Known() {
		return v
	}
	return metric.Of(v.Number * float64(unit.MiB))
}

// Inputs gathers what is known of each device for its ledger. uses are of the devices in
// their order, as Assign gives them; family are the pids of the experiment's processes.
func Inputs(devices []device.Watched, uses [][]TorchUse, torchGap string, family []int, spans []ProcessSpan) []LedgerInput {
	var all []int
	var seen []device.ProcessUse
	out := make([]LedgerInput, len(devices))
	for i, w := range devices {
		out[i] = LedgerInput{Watched: w, Torch: uses[i], TorchGap: torchGap, Family: family}
		all, seen = append(all, known(out[i])...), append(seen, lists(w)...)
	}
	for _, s := range spans {
		seen = append(seen, device.ProcessUse{PID: s.PID})
	}
	for i := range out {
		out[i].Listed = listsOneOf(seen, all)
	}
	return out
}

// Ledgers makes the ledger of each device.
func Ledgers(inputs []LedgerInput) []Ledger {
	var out []Ledger
	for _, in := range inputs {
		out = append(out, NewLedger(in))
	}
	return out
}

// Adopt takes over the doubts of ledgers where they are graver than the device's own.
func (f *NvidiaFigures) Adopt(ledgers []Ledger) {
	for _, l := range ledgers {
		i := f.find(device.Device{Index: l.Index, UUID: l.UUID})
		if i < 0 || l.Mark <= f.Devices[i].Mark || !f.Devices[i].Reserved.Known() {
			continue
		}
		for _, text := range l.Doubts {
			f.note(i, l.Mark, text)
		}
	}
}
