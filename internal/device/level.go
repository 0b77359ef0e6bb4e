package device

import "tunebench/internal/metric"

// Level is the memory in use on one device, or the reason why it could not be told.
type Level struct {
	Index int
	Used  metric.Value // in bytes
}
