package nvml

import "fmt"

// handle is an nvmlDevice_t, of a GPU or a MIG slice.
type handle uintptr

// driver is the loaded library. Its functions come in few shapes, so that each shape is
// written once; which function is meant says the first argument.
type driver interface {
	has(f function) bool
	symbol(f function) string // the exported name that f is bound to, or the newest where there is none
	file() string             // that was loaded
	calling() string          // the function that has not returned yet, or nothing

	do(f function) code                                   // f(void)
	number(f function, h handle) (uint32, code)           // f(h, *u32); h is left out where it is 0
	long(f function, h handle) (uint64, code)             // f(h, *u64)
	pair(f function, h handle) (a, b uint32, c code)      // f(h, *u32, *u32)
	rates(f function, h handle) (a, b uint32, c code)     // f(h, *struct of two u32)
	ofType(f function, h handle, t uint32) (uint32, code) // f(h, u32, *u32)
	text(f function, h handle) (string, code)             // f(h, *char, u32); h is left out where it is 0
	memory(f function, h handle, m *memoryInfo) code      // f(h, *nvmlMemory_t or *nvmlMemory_v2_t)
	processes(f function, h handle, p *processBuffer) (n int, c code)
	pciBusID(h handle) (string, code)
	byIndex(i int) (handle, code)
	byUUID(uuid string) (handle, code)
	slice(parent handle, i int) (handle, code)
	parent(slice handle) (handle, code)
}

// function is one thing that is asked of the library.
type function int

// What is asked. Each may have several exported names, by age of the driver.
const (
	fnInit function = iota
	fnShutdown
	fnDriverVersion
	fnCount
	fnByIndex
	fnByUUID
	fnIndex
	fnName
	fnUUID
	fnPCI
	fnMemoryV2
	fnMemoryV1
	fnCompute
	fnGraphics
	fnMIGMode
	fnMIGCount
	fnMIGSlice
	fnMIGParent
	fnUtilisation
	fnPower
	fnClock
	fnThrottle
	fnEnergy
	fnComputeMode
	functions // how many there are
)

// symbols returns the exported names of f, newest first. nvml.h maps the plain names to
// the newest by macros, so a library has names that no documentation shows.
func (f function) symbols() []string {
	switch f {
	case fnInit:
		return []string{"nvmlInit_v2", "nvmlInit"}
	case fnShutdown:
		return []string{"nvmlShutdown"}
	case fnDriverVersion:
		return []string{"nvmlSystemGetDriverVersion"}
	case fnCount:
		return []string{"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}
	case fnByIndex:
		return []string{"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}
	case fnByUUID:
		return []string{"nvmlDeviceGetHandleByUUID"}
	case fnIndex:
		return []string{"nvmlDeviceGetIndex"}
	case fnName:
		return []string{"nvmlDeviceGetName"}
	case fnUUID:
		return []string{"nvmlDeviceGetUUID"}
	case fnPCI:
		return []string{"nvmlDeviceGetPciInfo_v3"}
	case fnMemoryV2:
		return []string{"nvmlDeviceGetMemoryInfo_v2"} // since R510
	case fnMemoryV1:
		return []string{"nvmlDeviceGetMemoryInfo"}
	case fnCompute:
		// The first version returns entries of 16 bytes; see processBuffer.
		return []string{"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses"}
	case fnGraphics:
		return []string{"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses"}
	}
	return f.otherSymbols()
}

func (f function) otherSymbols() []string {
	switch f {
	case fnMIGMode:
		return []string{"nvmlDeviceGetMigMode"}
	case fnMIGCount:
		return []string{"nvmlDeviceGetMaxMigDeviceCount"}
	case fnMIGSlice:
		return []string{"nvmlDeviceGetMigDeviceHandleByIndex"}
	case fnMIGParent:
		return []string{"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"}
	case fnUtilisation:
		return []string{"nvmlDeviceGetUtilizationRates"}
	case fnPower:
		return []string{"nvmlDeviceGetPowerUsage"}
	case fnClock:
		return []string{"nvmlDeviceGetClockInfo"}
	case fnThrottle:
		// Renamed with R535; the old name stays.
		return []string{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}
	case fnEnergy:
		return []string{"nvmlDeviceGetTotalEnergyConsumption"}
	case fnComputeMode:
		return []string{"nvmlDeviceGetComputeMode"}
	}
	return nil
}

// needed are the functions without which nothing can be asked.
func needed() []function { return []function{fnInit, fnCount, fnByIndex, fnMemoryV1} }

// memoryInfo has room for both layouts. nvmlMemory_t is total, free, used, each of 64
// bits; nvmlMemory_v2_t is version (32 bits and as much padding), total, reserved, free,
// used.
type memoryInfo struct {
	words [5]uint64
	args  [2]uintptr // of the call that fills the words
}

// memoryV2 is nvmlMemory_v2: NVML_STRUCT_VERSION(Memory, 2), the size of the structure
// with the version in the highest byte.
const memoryV2 = 40 | 2<<24

// entrySize is that of the largest layout of an entry that drivers are known to write.
const entrySize = 32

// processBuffer is where the library writes a list of processes. An entry is pid (32
// bits and as much padding) and bytes (64 bits), and from the second version on two more
// numbers of 32 bits, the MIG instances: 16 or 24 bytes. Drivers 535.43 to 535.86 write
// 32 bytes under the same names (nvitop#79), and some write the 16 of the first version
// (nvitop#226). So the buffer has room for the largest, is filled with a mark, and how
// far the mark was overwritten tells the size.
type processBuffer struct{ bytes []byte }

const mark = 0xA5

func newProcessBuffer(entries int) *processBuffer {
	return &processBuffer{bytes: make([]byte, entries*entrySize)}
}

func (p *processBuffer) entries() int { return len(p.bytes) / entrySize }

func (p *processBuffer) clear() {
	for i := range p.bytes {
		p.bytes[i] = mark
	}
}

// stride returns the size of an entry, of which there are n > 0.
func (p *processBuffer) stride(n int) int {
	end := len(p.bytes)
	for end > 0 && p.bytes[end-1] == mark {
		end--
	}
	switch {
	case end > 32*n: // more than n entries can fill: the driver cleared the buffer first
		return 24
	case end > 24*n:
		return 32
	case end > 16*n:
		return 24
	}
	return 16
}

// Error is a call of the library that did not succeed.
type Error struct {
	Call string // the exported name
	code code
}

// Error says which call, and what its code means.
func (e *Error) Error() string {
	if text := e.code.words(); text != strange {
		return fmt.Sprintf("%s: %s", e.Call, text)
	}
	return fmt.Sprintf("%s: %s (%d)", e.Call, strange, e.code)
}

// fault returns the error of a call, nil for success.
func fault(d driver, f function, c code) error {
	if c == success {
		return nil
	}
	return &Error{Call: d.symbol(f), code: c}
}
