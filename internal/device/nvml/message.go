package nvml

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"tunebench/internal/device"
)

// request is the first line that the child reads. A second line, or the end of its
// input, ends it.
type request struct {
	Library  string          `json:"library,omitempty"` // empty: where the loader finds it
	List     bool            `json:"list,omitempty"`    // survey the machine and end
	Devices  []device.Device `json:"devices,omitempty"` // empty: all GPUs
	Interval time.Duration   `json:"interval_ns,omitempty"`
	Dir      string          `json:"dir,omitempty"`   // where the logs are made; empty: none are
	Again    bool            `json:"again,omitempty"` // the logs of an earlier child are gone on in
}

// reply is one line that the child writes; exactly one of them is set.
type reply struct {
	Machine *device.Machine `json:"machine,omitempty"`
	Ready   *device.Summary `json:"ready,omitempty"` // after the first sample
	State   *device.Summary `json:"state,omitempty"` // every second: what is left if it is the last
	Final   *device.Summary `json:"final,omitempty"`
	Error   string          `json:"error,omitempty"`   // nothing was watched
	NoNVML  bool            `json:"no_nvml,omitempty"` // beside Error: there is no library
}

// replies writes lines from several goroutines. That the other side is gone is not told:
// the end of the input says so, too.
type replies struct {
	mu sync.Mutex
	w  io.Writer
}

func (r *replies) send(m reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = json.NewEncoder(r.w).Encode(m)
}
