package host

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"tunebench/internal/unit"
)

// FreeDisk returns what an ordinary user may still write to the file system of path.
func FreeDisk(path string) (unit.Bytes, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, fmt.Errorf("reading the free disk space of %s: %w", path, err)
	}
	return unit.Bytes(s.Bavail) * unit.Bytes(s.Bsize), nil
}

// VisibleDeviceFiles returns how many GPUs have a device file here. In a container it
// may be fewer than the driver lists.
func VisibleDeviceFiles() (int, error) { return deviceFiles("/dev") }

// deviceFiles counts nvidia0, nvidia1, ...; nvidiactl and nvidia-uvm are no GPUs.
func deviceFiles(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("counting device files: %w", err)
	}
	n := 0
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "nvidia")
		if ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
			n++
		}
	}
	return n, nil
}
