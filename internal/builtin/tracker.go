package builtin

import (
	"fmt"
	"io"
	"runtime/debug"
)

// tracker measures the memory of the stages of a run, as the Hugging Face Trainer
// does when it is told not to skip that.
type tracker struct {
	skip   bool
	stderr io.Writer
	entry  entry // what was measured; a stage that could not be measured has no fields
}

func newTracker(skip bool, stderr io.Writer) *tracker {
	return &tracker{skip: skip, stderr: stderr}
}

// during runs act as the named stage. The memory that release drops counts for the
// stage's peak and not for what it leaves allocated; release may be nil.
func (t *tracker) during(name string, act func() error, release func()) error {
	if t.skip {
		return act()
	}
	w, err := watchMemory()
	if err != nil {
		fmt.Fprintf(t.stderr, "builtin-trainer: warning: no memory metrics of stage %s: %v\n", name, err)
		return act()
	}
	err = act()
	w.settle()
	if err != nil {
		return err
	}
	if release != nil {
		release()
		debug.FreeOSMemory()
	}
	s, err := w.end()
	if err != nil {
		fmt.Fprintf(t.stderr, "builtin-trainer: warning: no memory metrics of stage %s: %v\n", name, err)
		return nil
	}
	t.add(name, s)
	return nil
}

func (t *tracker) add(name string, s stage) {
	if name == "init" {
		t.entry = append(t.entry, field{"before_init_mem_cpu", s.begin})
	}
	t.entry = append(t.entry,
		field{name + "_mem_cpu_alloc_delta", s.alloc}, field{name + "_mem_cpu_peaked_delta", s.peaked})
}
