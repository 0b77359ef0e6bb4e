package nvml

import (
	"context"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waitPrecisely returns a way to wait that is some 60 us late and not up to a
// millisecond, as timers of the runtime are, which sleep in whole milliseconds. The
// thread sleeps without telling the runtime: told, it would wake another thread each
// time to do its work, which costs twice the processor time of the sleep. So it is for
// short waits, in a process that has little else to do; it does not look at the context.
//
// The goroutine that waits is bound to its thread, whose timer slack, 50 us by default,
// is set to the least.
func waitPrecisely() func(context.Context, time.Time) {
	bound := false
	return func(_ context.Context, until time.Time) {
		if !bound {
			bound = true
			runtime.LockOSThread()
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // refused: later by that
		}
		for left := time.Until(until); left > 0; left = time.Until(until) {
			sleep(left)
		}
	}
}

// sleep sleeps for d, or less where a signal comes.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}
