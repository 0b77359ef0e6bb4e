//go:build !linux

package nvml

import (
	"context"
	"time"
)

// waitPrecisely has nothing better than the runtime's timers here.
func waitPrecisely(time.Duration) func(context.Context, time.Time) { return nil }
