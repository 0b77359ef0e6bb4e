package builtin

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// residentMemory returns the memory of this process that is in RAM, in bytes, from
// the second field of /proc/self/statm, which counts pages.
func residentMemory() (int64, error) {
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("reading the memory of this process: %w", err)
	}
	return parseResident(content, int64(os.Getpagesize()))
}

func parseResident(statm []byte, page int64) (int64, error) {
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0, fmt.Errorf("reading the memory of this process: %q has no second field", statm)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil || pages < 0 {
		return 0, fmt.Errorf("reading the memory of this process: %q is not a number of pages", fields[1])
	}
	return pages * page, nil
}

// stage is what the memory of the process did between two moments, in bytes, with
// the meaning that the Hugging Face memory tracker gives to these words.
type stage struct {
	begin  int64
	alloc  int64 // end minus begin; may be negative
	peaked int64 // highest minus end
}

// peakInterval is how often a stage looks at the memory.
const peakInterval = 2 * time.Millisecond

// watch is a stage that has not ended.
type watch struct {
	begin int64
	peak  atomic.Int64
	stop  chan struct{}
	done  chan struct{}
}

// watchMemory begins a stage. It fails where the system does not tell the memory of
// a process.
func watchMemory() (*watch, error) {
	begin, err := residentMemory()
	if err != nil {
		return nil, err
	}
	w := &watch{begin: begin, stop: make(chan struct{}), done: make(chan struct{})}
	w.peak.Store(begin)
	go w.follow()
	return w, nil
}

func (w *watch) follow() {
	defer close(w.done)
	ticker := time.NewTicker(peakInterval)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
			w.look()
		}
	}
}

func (w *watch) look() {
	if now, err := residentMemory(); err == nil && now > w.peak.Load() {
		w.peak.Store(now)
	}
}

// settle takes a last look, then ends the sampling. Whoever frees memory before the
// end of the stage calls it first.
func (w *watch) settle() {
	close(w.stop)
	<-w.done
	w.look()
}

// end returns the stage. It is called once, after settle.
func (w *watch) end() (stage, error) {
	now, err := residentMemory()
	if err != nil {
		return stage{}, err
	}
	return stage{begin: w.begin, alloc: now - w.begin, peaked: max(0, w.peak.Load()-now)}, nil
}
