package outcome

import (
	"regexp"
	"strconv"
	"strings"
)

// The texts by which a kind is known are matched in lower case, and as plain substrings,
// since every line of a long log is asked. They name the kind of a failure, in the
// wording of every library seen so far, and not one message.

func hostTexts() []string {
	return []string{
		"defaultcpuallocator", "enforce fail at alloc_cpu", "std::bad_alloc",
		"cannot allocate memory", "can't allocate memory", "not enough memory: you tried to allocate",
		"java.lang.outofmemoryerror", "runtime: out of memory", "out of memory: cannot allocate",
		"resource_exhausted: out of memory allocating", "running low on memory",
		"oom_kill event", "oom-kill event", "oom killed", "out of memory: killed process",
	}
}

func deviceTexts() []string {
	return []string{
		"_status_alloc_failed", "cuda_error_out_of_memory", "cudaerrormemoryallocation",
		"hiperroroutofmemory", "resource_exhausted: out of memory", "oom when allocating",
		"cuda failure 2 'out of memory'", "cuda failure 'out of memory'", "hip failure 'out of memory'",
	}
}

func portTexts() []string {
	return []string{
		"eaddrinuse", "address already in use", "server socket has failed to listen",
		"server socket has failed to bind", "another process is utilizing it",
	}
}

var (
	memoryError   = regexp.MustCompile(`^(?:[\w.]+\.)?(?:_?Array|Arrow)?MemoryError\b`)
	deviceMemory  = regexp.MustCompile(`\b(?:cuda|hip|mps|xpu|npu|hpu|rocm|gpu|device)\b.{0,80}\bout of memory`)
	glooTimeout   = regexp.MustCompile(`timed out waiting \d+ms for (?:recv|send) operation`)
	portInUse     = regexp.MustCompile(`port \W?\d+\W? is already in use`)
	launcherWords = regexp.MustCompile(`^(?:[\w.]+\.)?(?:ChildFailedError|CalledProcessError|ProcessExitedException)\b`)
	exceptionLine = regexp.MustCompile(`^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?::|$)`)
)

// OfLauncher reports whether an exception is a launcher's own, which says that a child failed
// and not why.
func OfLauncher(exception string) bool { return launcherWords.MatchString(exception) }

// classify names the kind that a line is evidence of. Exact says that the text is a
// program's own report of the failure; other texts may only mention it, unless they
// stand in an exception. The host's memory comes first, since its texts say "out of
// memory" too.
func classify(line string) (kind Status, exact bool) {
	lower := strings.ToLower(line)
	if isHostMemory(line, lower) {
		return HostMemory, complaint.MatchString(lower)
	}
	if device, exact := isDeviceMemory(lower); device {
		return OOM, exact
	}
	switch {
	case strings.Contains(lower, "collective operation timeout"),
		strings.Contains(lower, "timed out waiting") && glooTimeout.MatchString(lower):
		return NCCLTimeout, true
	case strings.Contains(lower, "operations have failed or timed out"):
		return NCCLTimeout, false
	case hasAny(lower, portTexts()),
		strings.Contains(lower, "is already in use") && portInUse.MatchString(lower):
		return Port, false
	case strings.Contains(line, "not used by the HfArgumentParser"),
		strings.HasPrefix(line, "ERROR: Could not consume arg"):
		return Usage, true
	}
	return Error, false
}

// complaint is what a program's own report of failed memory has and a mention in passing
// has not.
var complaint = regexp.MustCompile(`error|errno|fatal|bad_alloc|what\(\)|terminate|allocator|fork|mmap|failed|unable to`)

func isHostMemory(line, lower string) bool {
	if strings.Contains(lower, "in static tls block") {
		return false // A loader's complaint that has nothing to do with memory.
	}
	return hasAny(lower, hostTexts()) ||
		strings.Contains(lower, "oom when allocating") && strings.Contains(lower, "device:cpu") ||
		strings.Contains(lower, "memoryerror") && memoryError.MatchString(line)
}

func isDeviceMemory(lower string) (device, exact bool) {
	words := strings.Contains(lower, "out of memory")
	if hasAny(lower, deviceTexts()) || words && strings.Contains(lower, "tried to allocate") {
		return true, true
	}
	return strings.Contains(lower, "outofmemoryerror") || words && deviceMemory.MatchString(lower), false
}

func hasAny(line string, texts []string) bool {
	for _, text := range texts {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// isException reports whether a line is that of an exception.
func isException(line string) bool {
	return hasAny(line, []string{"Error", "Exception", "Interrupt", "Exit"}) && exceptionLine.MatchString(line)
}

// decide finds the line of a message that decides its kind.
func decide(message string) (kind Status, line string) {
	first, _, _ := strings.Cut(message, "\n")
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(line)
		if kind, _ := classify(line); kind != Error {
			return kind, line
		}
	}
	return Error, first
}

var (
	workOperation = regexp.MustCompile(`\bOpType=(\w+)`)
	workTimeout   = regexp.MustCompile(`\bTimeout\(ms\)=(\d{1,15})|Timed out waiting (\d{1,15})ms`)
	workRank      = regexp.MustCompile(`\b[Rr]ank (\d{1,6})\]`)
)

// collective reads what a watchdog printed of the operation; nil where it has nothing.
func collective(message string) *Collective {
	var c Collective
	if m := workOperation.FindStringSubmatch(message); m != nil {
		c.Operation = m[1]
	}
	if m := workTimeout.FindStringSubmatch(message); m != nil {
		c.TimeoutMS, _ = strconv.ParseInt(m[1]+m[2], 10, 64) // At most 15 digits.
	}
	if c == (Collective{}) {
		return nil
	}
	return &c
}

// rankIn finds the rank that a message of torch.distributed names.
func rankIn(message string) *int {
	m := workRank.FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	n, _ := strconv.Atoi(m[1]) // At most six digits.
	return &n
}
