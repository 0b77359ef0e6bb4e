//go:build linux && !nonvml

package nvml

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library is NVML in memory. Functions are bound by address and called directly: one
// call costs some 0.2 us more than from C. Every structure that the library writes to
// lies on the heap, where it does not move.
type library struct {
	path    string
	address [functions]uintptr
	name    [functions]string
	busy    atomic.Int32 // the function that is being called, plus one
}

// places are the names under which the library is looked for: by the loader's own rules
// first, then where WSL and NixOS keep it. The name without a version is not among
// them: the toolkit has a library of that name in which every function fails.
func places() []string {
	return []string{
		"libnvidia-ml.so.1",
		"/usr/lib/wsl/lib/libnvidia-ml.so.1",
		"/run/opengl-driver/lib/libnvidia-ml.so.1",
	}
}

// load opens the library and looks up every function before it is bound: an old driver
// lacks some. An error wraps fs.ErrNotExist where there is no library.
func load(path string) (driver, error) {
	runtime.LockOSThread() // dlerror tells of the thread that dlopen ran on
	defer runtime.UnlockOSThread()
	tried := places()
	if path != "" {
		tried = []string{path}
	}
	// The loader keeps its error for each thread, so the thread that failed must ask for it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var errs []error
	for _, name := range tried {
		so, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return bind(so, name)
		}
		if !strings.Contains(err.Error(), "No such file") {
			errs = append(errs, fmt.Errorf("load NVML: %w", err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return nil, fmt.Errorf("no NVML library here (looked for %s): %w", strings.Join(tried, ", "), fs.ErrNotExist)
}

func bind(so uintptr, path string) (driver, error) {
	l := &library{path: path}
	for f := range functions {
		for _, name := range f.symbols() {
			if address, err := purego.Dlsym(so, name); err == nil && address != 0 {
				l.address[f], l.name[f] = address, name
				break
			}
		}
	}
	for _, f := range needed() {
		if !l.has(f) {
			return nil, fmt.Errorf("%s is no NVML library: it has no function %s", path, f.symbols()[0])
		}
	}
	return l, nil
}

func (l *library) has(f function) bool { return l.address[f] != 0 }
func (l *library) file() string        { return l.path }

func (l *library) symbol(f function) string {
	if l.name[f] != "" {
		return l.name[f]
	}
	return f.symbols()[0]
}

func (l *library) calling() string {
	if f := l.busy.Load(); f > 0 {
		return l.symbol(function(f - 1))
	}
	return ""
}

// call calls f. The directive keeps what the arguments point to where it is until the
// call returns, as it does for syscalls.
//
//go:uintptrescapes
func (l *library) call(f function, args ...uintptr) code {
	if l.address[f] == 0 {
		return noSuchSymbol
	}
	l.busy.Store(int32(f) + 1)
	r, _, _ := purego.SyscallN(l.address[f], args...)
	l.busy.Store(0)
	return code(uint32(r))
}

func (l *library) do(f function) code { return l.call(f) }

func (l *library) number(f function, h handle) (uint32, code) {
	n := new(uint32)
	if h == 0 {
		c := l.call(f, uintptr(unsafe.Pointer(n)))
		return *n, c
	}
	c := l.call(f, uintptr(h), uintptr(unsafe.Pointer(n)))
	return *n, c
}

func (l *library) long(f function, h handle) (uint64, code) {
	n := new(uint64)
	c := l.call(f, uintptr(h), uintptr(unsafe.Pointer(n)))
	return *n, c
}

func (l *library) pair(f function, h handle) (a, b uint32, c code) {
	n := new([2]uint32)
	c = l.call(f, uintptr(h), uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&n[1])))
	return n[0], n[1], c
}

func (l *library) rates(f function, h handle) (a, b uint32, c code) {
	n := new([2]uint32)
	c = l.call(f, uintptr(h), uintptr(unsafe.Pointer(n)))
	return n[0], n[1], c
}

func (l *library) ofType(f function, h handle, t uint32) (uint32, code) {
	n := new(uint32)
	c := l.call(f, uintptr(h), uintptr(t), uintptr(unsafe.Pointer(n)))
	return *n, c
}

// textSize is above every buffer size that nvml.h names for a text (96).
const textSize = 256

func (l *library) text(f function, h handle) (string, code) {
	buf := new([textSize]byte)
	var c code
	if h == 0 {
		c = l.call(f, uintptr(unsafe.Pointer(buf)), textSize-1)
	} else {
		c = l.call(f, uintptr(h), uintptr(unsafe.Pointer(buf)), textSize-1)
	}
	return cString(buf[:]), c
}

func cString(buf []byte) string {
	head, _, _ := bytes.Cut(buf, []byte{0})
	return strings.ToValidUTF8(string(head), "\ufffd")
}

func (l *library) memory(f function, h handle, m *memoryInfo) code {
	m.words = [5]uint64{}
	if f == fnMemoryV2 {
		*(*uint32)(unsafe.Pointer(m)) = memoryV2
	}
	if l.address[f] == 0 {
		return noSuchSymbol
	}
	// As call does it, but nothing is allocated thousands of times a second: the arguments
	// lie beside what they point to, which their use keeps.
	m.args = [2]uintptr{uintptr(h), uintptr(unsafe.Pointer(m))}
	l.busy.Store(int32(f) + 1)
	r, _, _ := purego.SyscallN(l.address[f], m.args[:]...)
	l.busy.Store(0)
	runtime.KeepAlive(m)
	return code(uint32(r))
}

func (l *library) processes(f function, h handle, p *processBuffer) (int, code) {
	p.clear()
	n := new(uint32)
	*n = uint32(p.entries())
	c := l.call(f, uintptr(h), uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(&p.bytes[0])))
	return int(*n), c
}

// pciInfo is nvmlPciInfo_t: the old text of 16 bytes, five numbers, the text of 32.
type pciInfo struct {
	legacy [16]byte
	_      [5]uint32
	busID  [32]byte
	_      [64]byte // room for a driver that knows of more
}

func (l *library) pciBusID(h handle) (string, code) {
	info := new(pciInfo)
	c := l.call(fnPCI, uintptr(h), uintptr(unsafe.Pointer(info)))
	return cString(info.busID[:]), c
}

func (l *library) byIndex(i int) (handle, code) {
	h := new(handle)
	c := l.call(fnByIndex, uintptr(i), uintptr(unsafe.Pointer(h)))
	return *h, c
}

func (l *library) byUUID(uuid string) (handle, code) {
	h := new(handle)
	name := append([]byte(uuid), 0)
	c := l.call(fnByUUID, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(h)))
	return *h, c
}

func (l *library) slice(parent handle, i int) (handle, code) {
	h := new(handle)
	c := l.call(fnMIGSlice, uintptr(parent), uintptr(i), uintptr(unsafe.Pointer(h)))
	return *h, c
}

func (l *library) parent(slice handle) (handle, code) {
	h := new(handle)
	c := l.call(fnMIGParent, uintptr(slice), uintptr(unsafe.Pointer(h)))
	return *h, c
}
