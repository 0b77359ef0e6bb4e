// Package nvml asks NVIDIA's management library, loaded at run time and without cgo:
// which devices there are, what is in use on them now, and, through a child process that
// runs beside an experiment, what was in use over time.
//
// It has the binding (driver.go, library_linux.go), the answers of the library as
// values or gaps (answer.go, ask.go), the survey of a machine (survey.go), the child
// that samples (serve.go) and the one who starts and ends it (logger.go). Every call of
// the library for others is made in the child: one that hangs or dies costs readings,
// not the experiment. What the readings mean is left to package memory.
//
// Names, numbers and layouts are those of nvml.h as NVIDIA publishes it with the CUDA
// toolkit (12.x); where drivers are known to differ from it, the place says so.
package nvml

// Command is the hidden command of the tunebench binary that runs Serve.
const Command = "sample-devices"

// code is an nvmlReturn_t.
type code uint32

// The return codes that something here depends on (nvmlReturn_enum); words knows others.
const (
	success          code = 0
	invalidArgument  code = 2
	notSupported     code = 3
	noPermission     code = 4
	notFound         code = 6
	insufficientSize code = 7
	driverNotLoaded  code = 9
	functionNotFound code = 13
	gpuIsLost        code = 15
	resetRequired    code = 16
	versionMismatch  code = 18
	argumentVersion  code = 25
	unknown          code = 999
)

// What is wrong with an answer that NVML itself finds right, above all of its codes.
const (
	noSuchSymbol code = 1<<30 + iota // the library does not have the function
	implausible
	notAvailable
)

// strange is said of a code that has no words here.
const strange = "an error that this version of tunebench does not know"

// words says what a code means. The names are those of nvmlReturn_enum.
func (c code) words() string {
	switch c {
	case success:
		return "success"
	case 1:
		return "the library was not initialised (UNINITIALIZED)"
	case invalidArgument:
		return "invalid argument (INVALID_ARGUMENT)"
	case notSupported:
		return "not supported by this device (NOT_SUPPORTED)"
	case noPermission:
		return "insufficient permissions (NO_PERMISSION)"
	case notFound:
		return "not found (NOT_FOUND)"
	case insufficientSize:
		return "buffer too small (INSUFFICIENT_SIZE)"
	case 8:
		return "external power is not attached (INSUFFICIENT_POWER)"
	case driverNotLoaded:
		return "the driver is not loaded (DRIVER_NOT_LOADED)"
	case 10:
		return "timed out (TIMEOUT)"
	case functionNotFound:
		return "the driver does not know the function (FUNCTION_NOT_FOUND)"
	case gpuIsLost:
		return "GPU is lost (GPU_IS_LOST)"
	case argumentVersion:
		return "the driver does not know this version of the structure (ARGUMENT_VERSION_MISMATCH)"
	}
	return c.rareWords()
}

func (c code) rareWords() string {
	switch c {
	case 11:
		return "the kernel found an interrupt problem with the GPU (IRQ_ISSUE)"
	case 12:
		return "a library of the driver was not found (LIBRARY_NOT_FOUND)"
	case 14:
		return "the GPU's inforom is corrupted (CORRUPTED_INFOROM)"
	case resetRequired:
		return "the GPU requires a reset (RESET_REQUIRED)"
	case 17:
		return "the operating system blocks the GPU (OPERATING_SYSTEM)"
	case versionMismatch:
		return "driver/library version mismatch: the driver was updated and not loaded anew (LIB_RM_VERSION_MISMATCH)"
	case 19:
		return "the GPU is in use (IN_USE)"
	case 20:
		return "out of memory (MEMORY)"
	case 21:
		return "no data (NO_DATA)"
	case 23:
		return "out of resources (INSUFFICIENT_RESOURCES)"
	case 26:
		return "the function is no longer served (DEPRECATED)"
	case 27:
		return "not ready (NOT_READY)"
	case 28:
		return "no GPU was found (GPU_NOT_FOUND)"
	case 29:
		return "not possible in this state (INVALID_STATE)"
	case unknown:
		return "unknown error (UNKNOWN)"
	}
	return c.ownWords()
}

func (c code) ownWords() string {
	switch c {
	case noSuchSymbol:
		return "this driver's library does not have the function"
	case implausible:
		return "the driver's answer cannot be true"
	case notAvailable:
		return "not available (NVML_VALUE_NOT_AVAILABLE)"
	}
	return strange
}

// cell spells the code as nvidia-smi would, for logs that imitate its own.
func (c code) cell() string {
	switch c {
	case notSupported, noSuchSymbol, functionNotFound:
		return "[Not Supported]"
	case noPermission:
		return "[Insufficient Permissions]"
	case gpuIsLost:
		return "[GPU is lost]"
	case resetRequired:
		return "[GPU requires reset]"
	case unknown:
		return "[Unknown Error]"
	}
	return ""
}
