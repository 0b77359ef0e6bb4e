//go:build !linux || nonvml

package nvml

import (
	"fmt"
	"io/fs"
)

// load says why there is no NVML in this build. The tag nonvml makes a static binary on
// Linux: the loader of shared libraries is what needs libc.
func load(string) (driver, error) {
	return nil, fmt.Errorf("NVML can be asked on Linux only, by a build without the tag nonvml: %w", fs.ErrNotExist)
}
