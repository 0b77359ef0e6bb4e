package nvml

import (
	"context"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// silentUpTo is the interval up to which a thread sleeps without telling the runtime.
// Told, the runtime would wake another thread at each short sleep to do its work, which
// costs more processor time than the sleep. Not told of longer ones, it takes the sleeper
// for a busy goroutine and interrupts it every 10 ms, which costs more again.
const silentUpTo = 2 * time.Millisecond

// waitPrecisely returns a way to wait for the next of samples at that interval. It is
// some 60 us late and not up to a millisecond, as timers of the runtime are. It is for
// short waits, in a process that has little else to do; it does not look at the context.
//
// The goroutine that waits is bound to its thread, whose timer slack, 50 us by default,
// is set to the least.
func waitPrecisely(interval time.Duration) func(context.Context, time.Time) {
	bound, sleep := false, sleepTold
	if interval <= silentUpTo {
		sleep = sleepSilently
	}
	return func(_ context.Context, until time.Time) {
		if !bound {
			bound = true
			runtime.LockOSThread()
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // refused: later by that
		}
		for left := time.Until(until); left > 0; left = time.Until(until) {
			if sleep(left) {
				return
			}
		}
	}
}

// sleepTold sleeps for d, or less where a signal comes; whole says which.
func sleepTold(d time.Duration) (whole bool) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	return unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) == nil
}

// sleepSilently is sleepTold, but the runtime does not hear of it.
func sleepSilently(d time.Duration) (whole bool) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_, _, failed := unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return failed == 0
}
