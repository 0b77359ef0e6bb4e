package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CgroupOOMKills returns how many processes of tunebench's own cgroup the kernel has
// killed for want of memory since the cgroup was made. It is an error where the machine
// does not tell, as with cgroups of version 1.
func CgroupOOMKills() (int, error) { return oomKills("/proc/self/cgroup", "/sys/fs/cgroup") }

func oomKills(cgroupFile, mount string) (int, error) {
	f, err := os.Open(cgroupFile)
	if err != nil {
		return 0, fmt.Errorf("counting kills for want of memory: %w", err)
	}
	defer f.Close()
	path, ok, err := ParseCgroup(f)
	if err != nil || !ok {
		return 0, errors.Join(errors.New("counting kills for want of memory: no cgroup of version 2"), err)
	}
	events, err := os.Open(filepath.Join(mount, path, "memory.events"))
	if err != nil {
		return 0, fmt.Errorf("counting kills for want of memory: %w", err)
	}
	defer events.Close()
	kills, ok, err := ParseOOMKills(events)
	if err != nil || !ok {
		return 0, errors.Join(fmt.Errorf("counting kills for want of memory: %s does not tell", events.Name()), err)
	}
	return kills, nil
}
