package outcome

import (
	"regexp"
	"strconv"
	"strings"

	"tunebench/internal/unit"
)

const amount = `([\d.]+ ?(?:[KMGT]i?B|bytes|B)\b)`

// What PyTorch's allocator prints, in the wording since 2.0 and the one before, and what
// the allocators of Apple's GPUs and of XLA print.
var (
	oomRequested = regexp.MustCompile(`(?i)(?:tried to allocate|trying to allocate|out of memory allocating) ` + amount)
	oomDevice    = regexp.MustCompile(`\bGPU (\d{1,4})\b`)
	oomTotal     = regexp.MustCompile(amount + ` total capacity|total capacity of ` + amount)
	oomFree      = regexp.MustCompile(amount + ` (?:is )?free\b`)
	oomInUse     = regexp.MustCompile(`this process has ` + amount + ` memory in use`)
	oomAllocated = regexp.MustCompile(amount + ` (?:is allocated by PyTorch|already allocated)|MPS allocated: ` + amount)
	oomReserved  = regexp.MustCompile(amount + ` is reserved by PyTorch but unallocated`)
	oomHeld      = regexp.MustCompile(amount + ` reserved in total by PyTorch`)
)

// figures reads the amounts out of an allocator's message; nil where it has none.
func figures(message string) *OutOfMemory {
	binary := strings.Contains(message, "MPS ") // Its GB are 1024 to the third.
	read := func(pattern *regexp.Regexp) *unit.Bytes { return readAmount(pattern, message, binary) }
	o := OutOfMemory{
		Requested: read(oomRequested),
		Total:     read(oomTotal),
		Free:      read(oomFree),
		InUse:     read(oomInUse),
		Allocated: read(oomAllocated),
		Reserved:  read(oomReserved),
	}
	if m := oomDevice.FindStringSubmatch(message); m != nil {
		n, _ := strconv.Atoi(m[1]) // At most four digits.
		o.Device = &n
	}
	// The older wording counts the allocated part in.
	if held := read(oomHeld); held != nil && o.Allocated != nil && *held >= *o.Allocated {
		rest := *held - *o.Allocated
		o.Reserved = &rest
	}
	if o == (OutOfMemory{}) {
		return nil
	}
	return &o
}

func readAmount(pattern *regexp.Regexp, message string, binary bool) *unit.Bytes {
	m := pattern.FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	text := strings.TrimSuffix(strings.Join(m[1:], ""), "ytes")
	if binary && !strings.Contains(text, "i") && len(text) > 1 && strings.ContainsAny(text, "KMGT") {
		text = strings.TrimSuffix(text, "B") + "iB"
	}
	b, err := unit.ParseBytes(text)
	if err != nil {
		return nil
	}
	return &b
}
