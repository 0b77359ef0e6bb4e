package outcome

import (
	"fmt"
	"strings"
)

const recoveredNote = "out-of-memory text in the log; the batch size may differ from what was asked"

// Judge says how an experiment ended. The exit has the first word, the log only explains
// it; the order of the questions is the argument:
//
//  1. What never started has nothing else to say, and what tunebench itself ended was
//     ended for tunebench's reason, whatever the processes printed while they died, and
//     also where they went with exit 0: such a run was cut short.
//  2. Exit 0 with final metrics is ok. Text in the log, a caught out-of-memory error
//     for one, makes a note and no failure. Exit 0 without metrics is no_metrics.
//  3. Everything else failed, and is never ok, though metrics were printed. After final
//     metrics the training fitted and ended, so that the log is no longer asked for a
//     cause: an out-of-memory status would deny what the metrics say.
//  4. A kill of this run's own cgroup together with SIGKILL is the kernel's word, and
//     comes before any text.
//  5. A device out of memory comes before what it does to others: the ranks that wait
//     for the one that died print timeouts, and its launcher kills them. The process'
//     own words of the host's memory come next, for the same reason, and then the
//     cgroup's count without a kill that was seen.
//  6. SIGKILL, of the process or of the first child that failed, comes before the
//     timeouts of the ranks that were left; why it was sent is not known.
//  7. A port in use and refused arguments are said by name at the start. A timed-out
//     collective is the last of the kinds, since any other failure of one rank ends
//     in one on another.
//  8. What is left is a signal by its name, or an error with the last exception.
func Judge(e Evidence) Outcome {
	o := Outcome{Ending: e.Ending}
	switch {
	case e.Ending.StartError != "":
		o.Status, o.Reason = Error, startReason(e.Ending.StartError)
		o.ErrorMessages = e.Ending.StartError
	case e.Ending.Stopped != "":
		o.Status, o.Reason = stopped(e.Ending)
		o.ErrorMessages = messages(e.Logs, o.Status, false)
		o.Notes = logSays(e.Logs)
	case exitedZero(e.Ending) && e.MetricsFound:
		o.Status = OK
		o.Notes = doubts(e)
	case exitedZero(e.Ending):
		o.Status, o.Reason = NoMetrics, "exit 0 without final metrics"+said(e.Logs)
		o.ErrorMessages = messages(e.Logs, NoMetrics, true)
	default:
		fail(&o, e)
	}
	o.Notes = append(o.Notes, e.Logs.Notes...)
	return valid(o)
}

func exitedZero(e Ending) bool {
	return e.ExitCode != nil && *e.ExitCode == 0 && e.Signal == ""
}

func startReason(text string) string {
	missing := strings.Contains(text, "executable file not found")
	if missing && !strings.Contains(text, "command not found") {
		return "command not found: " + text
	}
	return text
}

// stopped says why tunebench ended the run.
func stopped(e Ending) (Status, string) {
	status, reason := Error, "ended by tunebench: "+e.Stopped
	switch e.Stopped {
	case StoppedTimeout:
		status, reason = Timeout, "ended at its time limit"
	case StoppedStall:
		status, reason = Timeout, "ended, since nothing moved any more"
	case StoppedInterrupted:
		status, reason = Interrupted, "interrupted by the user"
	case StoppedHostMemory:
		status, reason = HostMemory, "ended at its limit of host memory"
	}
	if e.StopDetail != "" {
		reason += ": " + e.StopDetail
	}
	return status, reason
}

// fail judges a run that ended by itself and not well.
func fail(o *Outcome, e Evidence) {
	o.Status = cause(e)
	o.Reason = reason(e, o.Status)
	o.ErrorMessages = messages(e.Logs, o.Status, true)
	if f := chosen(e.Logs, o.Status); f != nil && !e.MetricsFound {
		o.OutOfMemory, o.Collective, o.Chain = f.OutOfMemory, f.Collective, f.Chain
	}
	o.Ranks = ranks(e, o.Status)
	if o.Status != OOM && mentions(e.Logs, OOM) {
		o.Notes = append(o.Notes, recoveredNote)
	}
	if o.Status != HostMemory && e.Ending.OOMKills > 0 {
		o.Notes = append(o.Notes, kernelKills(e.Ending))
	}
}

// Explain names the cause that logs tell of and one line on it, for a run that failed and of
// which it is not known how it ended.
func Explain(logs LogEvidence) (Status, string) {
	status := cause(Evidence{Logs: logs})
	if f := chosen(logs, status); f != nil {
		return status, oneLine(f.Message)
	}
	return status, oneLine(strings.TrimPrefix(said(logs), ": "))
}

// cause goes through points 4 to 8 of Judge's argument.
func cause(e Evidence) Status {
	signal := endingSignal(e)
	killed := signal == "SIGKILL"
	says := func(kind Status) bool { return !e.MetricsFound && chosen(e.Logs, kind) != nil }
	switch {
	case killed && e.Ending.OOMKills > 0:
		return HostMemory
	case says(OOM):
		return OOM
	case says(HostMemory), e.Ending.OOMKills > 0 && !e.MetricsFound:
		return HostMemory
	case killed:
		return Killed
	case says(Port):
		return Port
	case says(Usage):
		return Usage
	case says(NCCLTimeout) && ownException(e.Logs):
		return Error
	case says(NCCLTimeout):
		return NCCLTimeout
	case signal != "" && (e.Ending.Signal != "" || !explained(e.Logs)):
		return Signal
	}
	return Error
}

func doubts(e Evidence) []string {
	var notes []string
	if mentions(e.Logs, OOM) {
		notes = append(notes, recoveredNote)
	}
	if e.Ending.OOMKills > 0 {
		notes = append(notes, kernelKills(e.Ending))
	}
	return notes
}

func kernelKills(e Ending) string {
	return fmt.Sprintf("the kernel killed %d process(es) of its cgroup for want of host memory", e.OOMKills)
}
