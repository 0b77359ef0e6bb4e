package progress

import (
	"encoding/json"
	"io"
	"sync"
)

// JSON writes each event as one line of JSON.
type JSON struct {
	mu sync.Mutex
	w  *json.Encoder
}

// NewJSON returns a listener that writes to w.
func NewJSON(w io.Writer) *JSON { return &JSON{w: json.NewEncoder(w)} }

// Event writes one line. A reader that went away does not end the run.
func (j *JSON) Event(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.w.Encode(e)
}
