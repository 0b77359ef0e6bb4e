package outcome

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// live returns the failures that may be the cause: not the launcher's own, not those
// that the training went on after, and mentions in passing only where there is no
// exact report.
func live(logs LogEvidence) []Failure {
	var exact, weak []Failure
	for _, f := range logs.Failures {
		switch {
		case f.Launcher || f.Recovered:
		case f.Weak:
			weak = append(weak, f)
		default:
			exact = append(exact, f)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return weak
}

// chosen returns the failure that stands for a kind. Errors of no kind are told by the
// first rank whose own hook printed one, or else by the last exception, since those
// before it may have been caught.
func chosen(logs LogEvidence, kind Status) *Failure {
	var last *Failure
	for _, f := range live(logs) {
		if f.Kind != kind {
			continue
		}
		if kind != Error || (f.Rank != nil && !consequence.MatchString(f.Message)) {
			return &f
		}
		if last == nil || !consequence.MatchString(f.Message) {
			last = &f
		}
	}
	return last
}

// consequence is what a rank says when another one is gone.
var consequence = regexp.MustCompile(`DistBackendError|DistNetworkError|DistStoreError|` +
	`Connection (?:closed|reset|refused)|[Bb]roken pipe|Socket closed|SignalException|KeyboardInterrupt|heartbeat`)

// ownException reports whether a rank ended by an exception of its own before another
// one timed out waiting for it.
func ownException(logs LogEvidence) bool {
	for _, f := range live(logs) {
		if f.Kind == NCCLTimeout {
			return false
		}
		if f.Kind == Error && f.Rank != nil && !consequence.MatchString(f.Message) {
			return true
		}
	}
	return false
}

// explained reports whether an exception tells more than the signal of a child that the
// launcher may itself have sent.
func explained(logs LogEvidence) bool {
	f := chosen(logs, Error)
	return f != nil && !f.Weak && logs.Child != nil && signalName(logs.Child.ExitCode) == "SIGTERM"
}

func mentions(logs LogEvidence, kind Status) bool {
	return slices.ContainsFunc(logs.Failures, func(f Failure) bool { return f.Kind == kind })
}

// reason is one line for people.
func reason(e Evidence, status Status) string {
	how := ending(e)
	if e.MetricsFound {
		how += " after final metrics"
	}
	switch status {
	case Killed:
		return how + ", possibly host memory"
	case Signal:
		return how + said(e.Logs)
	case HostMemory:
		if e.Ending.OOMKills > 0 {
			return how + ": " + kernelKills(e.Ending)
		}
	}
	if f := chosen(e.Logs, status); f != nil && status != Error {
		return oneLine(f.Message)
	}
	return how + said(e.Logs)
}

// ending says how the process ended: its own signal or exit, and that of the child that
// failed first.
func ending(e Evidence) string {
	how := "it is not known how it ended"
	code := e.Ending.ExitCode
	switch {
	case e.Ending.Signal != "":
		how = signalText(e.Ending.Signal)
	case code != nil && signalName(*code) != "":
		how = fmt.Sprintf("exit %d: %s", *code, signalText(signalName(*code)))
	case code != nil:
		how = fmt.Sprintf("exit %d", *code)
	}
	if child := e.Logs.Child; child != nil && child.ExitCode != 0 {
		how += ": " + childEnding(*child)
	}
	return how
}

func childEnding(c Child) string {
	who := "a child"
	if c.Rank != nil {
		who = fmt.Sprintf("rank %d", *c.Rank)
	}
	if name := signalName(c.ExitCode); name != "" {
		return who + " was ended by " + signalText(name)
	}
	return fmt.Sprintf("%s ended with exit %d", who, c.ExitCode)
}

// said quotes the log where it has something to say.
func said(logs LogEvidence) string {
	if f := chosen(logs, Error); f != nil {
		return ": " + oneLine(f.Message)
	}
	if l := live(logs); len(l) > 0 {
		return ": " + oneLine(l[len(l)-1].Message)
	}
	if line := lastWords(logs.Tail); line != "" && logs.Child == nil {
		return ": " + oneLine(line)
	}
	return ""
}

var troubleWord = regexp.MustCompile(`(?i)\berror\b|\bfatal\b|not found|exception|denied|invalid`)

func lastWords(tail string) string {
	lines := strings.Split(tail, "\n")
	for _, line := range slices.Backward(lines) {
		if troubleWord.MatchString(line) {
			return line
		}
	}
	return lines[len(lines)-1]
}

func logSays(logs LogEvidence) []string {
	for _, kind := range []Status{OOM, HostMemory, NCCLTimeout, Port, Usage, Error} {
		if f := chosen(logs, kind); f != nil && !f.Weak {
			return []string{"the log says: " + oneLine(f.Message)}
		}
	}
	return nil
}

// messages puts the error text together: first the failures of the status, then the
// others; the launcher's and the log's last lines only where there is no better.
func messages(logs LogEvidence, status Status, tail bool) string {
	var first, others, launchers []string
	for _, f := range live(logs) {
		if f.Kind == status {
			first = append(first, f.Text)
		} else {
			others = append(others, f.Text)
		}
	}
	for _, f := range logs.Failures {
		if f.Launcher {
			launchers = append(launchers, f.Text)
		}
	}
	parts := append(first, others...)
	if len(parts) == 0 {
		parts = launchers
	}
	if len(parts) == 0 && tail {
		return logs.Tail
	}
	return strings.Join(distinct(parts), "\n\n")
}

func distinct(texts []string) []string {
	var out []string
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

func ranks(e Evidence, status Status) []int {
	var out []int
	for _, f := range live(e.Logs) {
		if f.Kind == status && f.Rank != nil {
			out = append(out, *f.Rank)
		}
	}
	if c := e.Logs.Child; len(out) == 0 && c != nil && c.Rank != nil {
		out = append(out, *c.Rank)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// valid bounds the texts and makes them UTF-8, as the record is JSON.
func valid(o Outcome) Outcome {
	o.Reason = oneLine(o.Reason)
	o.ErrorMessages = clip(o.ErrorMessages)
	for _, text := range []*string{&o.Ending.Signal, &o.Ending.StartError, &o.Ending.Stopped, &o.Ending.StopDetail} {
		*text = strings.ToValidUTF8(*text, "\uFFFD")
	}
	for i := range o.Notes {
		o.Notes[i] = oneLine(o.Notes[i])
	}
	return o
}
