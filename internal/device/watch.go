package device

import (
	"time"

	"tunebench/internal/metric"
)

// Where the memory figures of a device come from. What one counter says differs from
// another by a constant, so figures of two sources are never subtracted from each other.
const (
	FromNVMLv2    = "nvml-v2"     // nvmlDeviceGetMemoryInfo_v2: without what the driver reserves, as nvidia-smi
	FromNVMLv1    = "nvml-v1"     // nvmlDeviceGetMemoryInfo: what the driver reserves counts as used
	FromProcesses = "per-process" // the device has no counter that can be read: only its processes' sums
)

// ProcessUse is the memory that one process holds on one device.
type ProcessUse struct {
	PID  int          `json:"pid"`
	Kind string       `json:"kind,omitempty"` // compute, graphics, or both with a plus
	Used metric.Value `json:"used_bytes"`
}

// Moment is the memory of one device at one moment, and who held it then. The list of
// processes is read right after the memory, some 5 us later.
type Moment struct {
	Used         metric.Value `json:"used_bytes"`
	Time         time.Time    `json:"time,omitzero"`
	Processes    []ProcessUse `json:"processes,omitempty"`
	ProcessesGap string       `json:"processes_gap,omitempty"` // why there is no list
}

// Watched is what was seen of one device while it was watched.
type Watched struct {
	Device
	Parent   string       `json:"parent_uuid,omitempty"` // of a MIG slice: the GPU that it is cut from
	PCI      string       `json:"pci_bus_id,omitempty"`
	Source   string       `json:"source"` // one of From...
	Total    metric.Value `json:"total_bytes"`
	Reserved metric.Value `json:"reserved_bytes"` // by the driver; FromNVMLv1 counts it as used without saying how much it is

	Baseline    Moment        `json:"baseline"`                // the first sample, whether it could be read or not
	Peak        Moment        `json:"peak"`                    // the largest reading, to the byte
	ProcessPeak Moment        `json:"process_peak"`            // the largest sum over the processes; read less often than memory
	Mean        metric.Value  `json:"mean_bytes"`              // weighted by time; over the time that could be read
	Samples     int           `json:"samples"`                 // readings with a number
	Unreadable  int           `json:"unreadable,omitempty"`    // readings without one
	Gaps        []string      `json:"gaps,omitempty"`          // why, each reason once
	LargestGap  time.Duration `json:"largest_gap_ns"`          // the longest time without a reading
	GapAt       time.Time     `json:"largest_gap_at,omitzero"` // when it began
	EnergyStart metric.Value  `json:"energy_start_mj"`         // the device's counter, in mJ; it is read at the start and the end only
	EnergyEnd   metric.Value  `json:"energy_end_mj"`
}

// Summary is all that the watching of a run's devices gave beside its logs.
type Summary struct {
	Driver     string        `json:"driver,omitempty"`  // version of the driver
	Library    string        `json:"library,omitempty"` // the file that NVML was loaded from
	Interval   time.Duration `json:"interval_ns"`       // as asked for
	Achieved   time.Duration `json:"achieved_ns"`       // the mean between samples; 0 before the second one
	Samples    int           `json:"samples"`           // samples taken, of all devices together; not rows written
	Lost       int           `json:"lost"`              // moments for which a sample was due and none was taken
	LargestGap time.Duration `json:"largest_gap_ns"`    // the longest time between two samples
	GapAt      time.Time     `json:"largest_gap_at,omitzero"`
	Started    time.Time     `json:"started,omitzero"` // the first sample
	Ended      time.Time     `json:"ended,omitzero"`   // the last sample
	Devices    []Watched     `json:"devices"`
	Exit       string        `json:"exit,omitempty"` // how the sampler ended, where it died or hung: what followed was not seen
	Notes      []string      `json:"notes,omitempty"`
}

// State is what a device does at one moment, apart from its memory.
type State struct {
	Utilisation metric.Value // % of the driver's last period in which a kernel ran
	Power       metric.Value // W
	SMClock     metric.Value // MHz
	MemoryClock metric.Value // MHz
	Throttle    []string     // what holds the clocks down, in words
	ThrottleGap string       // why that is not known
}
