package local

import "golang.org/x/sys/unix"

// maxRSSUnit is the unit of ru_maxrss: kibibytes on Linux (getrusage(2)).
const maxRSSUnit = 1024

// becomeReaper has orphans of the trainer handed to this process, so that they can be
// waited for. Where the kernel refuses, PID 1 gets them, later.
func becomeReaper() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
