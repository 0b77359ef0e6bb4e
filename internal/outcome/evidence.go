package outcome

// Evidence is all that is judged.
type Evidence struct {
	Ending       Ending
	MetricsFound bool // the trainer's final metrics
	Logs         LogEvidence
}

// LogEvidence is what the logs of all ranks say of a failure. It explains an ending and
// is no ending itself: a run may print a traceback and recover.
type LogEvidence struct {
	Failures []Failure // in the order in which they were seen; of very many, the first and the last ones
	Child    *Child    // what a launcher said of the process that failed first
	Tail     string    // the last lines of the last log that is not empty, without progress bars
	Notes    []string  // what stood in the way of reading
}

// Failure is one failure as one process printed it.
type Failure struct {
	Kind        Status // OOM, HostMemory, NCCLTimeout, Port, Usage, Killed, or Error
	Message     string // the line that decided the kind
	Text        string // the whole of it, without the prefixes of ranks
	Chain       []string
	Rank        *int // nil where the log does not say
	OutOfMemory *OutOfMemory
	Collective  *Collective

	Weak      bool // a mention in passing, not an exception or an exact message
	Launcher  bool // the launcher's own: it says that a child failed, not why
	Recovered bool // the training went on after it
}

// Child is what a launcher printed of a failed process.
type Child struct {
	Rank     *int
	ExitCode int // negative: the number of a signal
}
