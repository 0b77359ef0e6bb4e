// Package outcome judges how an experiment ended: the exit has the first word, the
// log only explains it.
//
// It has the words for the ways to end, the evidence that is judged, the reading of logs
// for evidence, and the judgement, a pure function. It starts and opens nothing itself.
package outcome

import "tunebench/internal/unit"

// Status is the word for how an experiment ended.
type Status string

// The ways to end. In a report Running and Incomplete stand for an experiment without
// a readable record.
const (
	OK          Status = "ok"           // exit status 0 and final metrics
	OOM         Status = "oom"          // a device ran out of memory
	HostMemory  Status = "host_memory"  // the host ran out of memory, with evidence
	Killed      Status = "killed"       // SIGKILL without evidence of the reason
	NCCLTimeout Status = "nccl_timeout" // a collective operation timed out
	Usage       Status = "usage"        // the trainer refused its arguments
	Port        Status = "port"         // the rendezvous port was in use
	Signal      Status = "signal"       // ended by another signal
	Timeout     Status = "timeout"      // tunebench ended it: --timeout or --stall
	Interrupted Status = "interrupted"  // the user ended it
	Error       Status = "error"        // any other failure
	NoMetrics   Status = "no_metrics"   // exit status 0 and no final metrics
	Running     Status = "running"
	Incomplete  Status = "incomplete"
)

// Ending is how the process ended, as the executor saw it.
type Ending struct {
	ExitCode   *int   `json:"exit_code"`                  // nil where a signal ended it or it never started
	Signal     string `json:"signal,omitempty"`           // SIGKILL, SIGSEGV, ...
	StartError string `json:"start_error,omitempty"`      // why it could not be started
	Stopped    string `json:"stopped,omitempty"`          // why tunebench ended it: one of the Stopped constants
	StopDetail string `json:"stop_detail,omitempty"`      // the figures behind Stopped, for people
	OOMKills   int    `json:"cgroup_oom_kills,omitempty"` // rise of the cgroup's oom_kill count during the run
}

// Why tunebench itself ended an experiment.
const (
	StoppedTimeout     = "timeout"
	StoppedStall       = "stall"
	StoppedInterrupted = "interrupted"
	StoppedHostMemory  = "host_memory_limit"
)

// OutOfMemory is what an allocator printed of a failed allocation; fields that it did
// not print are nil.
type OutOfMemory struct {
	Requested *unit.Bytes `json:"requested_bytes,omitempty"`
	Device    *int        `json:"device,omitempty"` // CUDA index inside the process
	Total     *unit.Bytes `json:"total_bytes,omitempty"`
	Free      *unit.Bytes `json:"free_bytes,omitempty"`
	InUse     *unit.Bytes `json:"in_use_bytes,omitempty"`    // this process, non-PyTorch memory included
	Allocated *unit.Bytes `json:"allocated_bytes,omitempty"` // by PyTorch
	Reserved  *unit.Bytes `json:"reserved_unallocated_bytes,omitempty"`
}

// Collective is what NCCL's watchdog printed of a timed-out operation.
type Collective struct {
	Operation string `json:"operation,omitempty"`  // BROADCAST, ALLREDUCE, ...
	TimeoutMS int64  `json:"timeout_ms,omitempty"` // milliseconds; 0 where not printed
}

// Outcome is the judgement on one experiment.
type Outcome struct {
	Status        Status       `json:"status"`
	Reason        string       `json:"reason,omitempty"`         // one line for people; empty for ok
	ErrorMessages string       `json:"error_messages,omitempty"` // the error text, whole, without rank prefixes
	Ending        Ending       `json:"ending"`
	Chain         []string     `json:"chain,omitempty"` // the exceptions of a chained failure, first raised first
	Ranks         []int        `json:"ranks,omitempty"` // the ranks that the evidence names, ascending
	OutOfMemory   *OutOfMemory `json:"out_of_memory,omitempty"`
	Collective    *Collective  `json:"collective,omitempty"`
	Notes         []string     `json:"notes,omitempty"` // doubts that failed nothing
}
