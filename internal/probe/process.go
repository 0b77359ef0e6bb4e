package probe

import (
	"time"

	"tunebench/internal/metric"
)

// Process is what one Python process said about itself. Memory is in bytes.
type Process struct {
	File       string // the record's name
	PID        int    // as the process saw it: in a container another than outside
	PPID       int
	PIDs       []int // the pid in each namespace that the process could see, its own last
	Forked     bool  // a copy of a running process, not a new interpreter
	Started    time.Time
	Written    time.Time
	Complete   bool // written at the exit; otherwise the process was killed, or runs on, and its counters are lower bounds
	Replaced   bool // the process became another program, which left a later record
	Role       Role
	Place      *Place // nil where nothing gave the process a rank
	Argv       []string
	Executable string
	Python     string    // version
	Versions   []Version // in order of name: packages, cuda, driver
	Settings   []Setting // what was set of the variables that place and shape memory, in order of name
	HasTorch   bool
	Allocator  Allocator
	Devices    []Device // the devices that this process used through torch, in its order
	Exception  *Exception
	Exit       string       // what sys.exit was last called with; empty where it was not called
	HostPeak   metric.Value // largest resident set
	Trainer    *Trainer     // nil where no Hugging Face Trainer was made
	Errors     []string     // what the probe could not read in the process
}

// Role says what a process was to the experiment.
type Role string

// The roles.
const (
	RoleRank     Role = "rank"     // trains: it has torch, and a rank or no launcher above it that gave ranks
	RoleLauncher Role = "launcher" // starts ranks
	RoleWorker   Role = "worker"   // helps a rank: started by it
	RoleOther    Role = "other"    // no part in training that can be seen
)

// Place is a process's place among all ranks. LocalRank is -1 where it was not said.
type Place struct{ Rank, LocalRank, WorldSize int }

// Version is the version of a package, of CUDA or of the driver.
type Version struct{ Name, Version string }

// Setting is a variable with its value.
type Setting struct{ Name, Value string }

// Allocator is torch's allocator: native or cudaMallocAsync, and the text of its settings.
type Allocator struct {
	Backend  string `json:"backend"`
	Settings string `json:"settings"`
}

// Device is what torch held on one device in one process. Peaks are the largest of the
// whole process, whatever the program reset in between.
type Device struct {
	Index         int          `json:"index"` // among the devices visible to the process
	UUID          string       `json:"uuid"`  // GPU-... or MIG-...; empty before torch 2.4
	Name          string       `json:"name"`
	Total         metric.Value `json:"total"`
	Allocated     metric.Value `json:"allocated"`
	AllocatedPeak metric.Value `json:"allocated_peak"`
	Reserved      metric.Value `json:"reserved"`
	ReservedPeak  metric.Value `json:"reserved_peak"`
	Retries       metric.Value `json:"alloc_retries"` // a full cache was emptied to allocate once more
	OOMs          metric.Value `json:"ooms"`          // out-of-memory errors raised, caught ones too
	Resets        int          `json:"resets"`        // how often the program reset the peak counters
}

// Exception is what ended a process.
type Exception struct {
	Type    string `json:"type"`    // torch.OutOfMemoryError
	Message string `json:"message"` // whole
	Where   string `json:"where"`   // file:line of the innermost call
}

// Trainer is what the Hugging Face Trainer knew.
type Trainer struct {
	Stages metric.Set   // as the Trainer's tracker names them, train_mem_gpu_peaked_delta; empty without CUDA
	Source string       // who read the stages: probe or tracker
	Final  metric.Set   // the exact final metrics; empty where training did not end
	Log    []metric.Set // the log history, an entry each
	Count  int          // how many Trainers the process made; the figures are of the last that trained

	TrainBegin time.Time // when the last training called on_train_begin, by the host's clock; zero where it is not known
	TrainEnd   time.Time // when it called on_train_end; zero where it is not known, as of a training that did not end
}
