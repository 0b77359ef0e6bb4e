//go:build unix && !linux

package local

// maxRSSUnit is the unit of ru_maxrss: bytes on Darwin (getrusage(2)).
const maxRSSUnit = 1

// becomeReaper does nothing: only Linux hands orphans to a chosen process.
func becomeReaper() {}
