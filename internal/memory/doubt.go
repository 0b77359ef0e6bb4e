package memory

import (
	"fmt"

	"tunebench/internal/device"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// noRows says why a log names no device at all.
func noRows(notes device.LogNotes, err error, exit string) string {
	reason := "the log is empty"
	switch {
	case err != nil:
		reason = fmt.Sprintf("reading the log: %v", err)
	case notes.Error != nil:
		reason = fmt.Sprintf("the log holds an error: %q in line %d", notes.Error.Text, notes.Error.Number)
	case notes.Cut != nil:
		reason = fmt.Sprintf("the log ends within line %d, before a first reading", notes.Cut.Number)
	case notes.Header:
		reason = "the log has a header and no reading"
	}
	if exit != "" {
		reason = fmt.Sprintf("%s; the logger ended by itself: %s", reason, exit)
	}
	return reason
}

// doubts gathers what a reader of the mean should know. Where there is no mean its gap
// says why, and only what the gap leaves out is added.
func doubts(f NvidiaFigures, notes device.LogNotes, err error, exit string) []string {
	var out []string
	if len(f.Devices) > 0 {
		out = append(out, endDoubts(notes, err, exit)...)
	}
	for _, d := range f.Devices {
		if f.Reserved.Known() && !d.Reserved.Known() {
			out = append(out, fmt.Sprintf("%s is left out of the mean: %s", d.label(), d.Reserved.Gap))
		}
		out = append(out, d.Notes...)
	}
	if n := notes.ForeignAll; n > 0 && notes.Error == nil {
		out = append(out, fmt.Sprintf("%d foreign %s in the log, first %q in line %d",
			n, plural(n, "line"), notes.Foreign[0].Text, notes.Foreign[0].Number))
	}
	return out
}

// endDoubts are the signs that readings are missing at the end of a log.
func endDoubts(notes device.LogNotes, err error, exit string) []string {
	var out []string
	switch {
	case err != nil:
		out = append(out, fmt.Sprintf("lower bound: the log could not be read to its end: %v", err))
	case notes.Error != nil && notes.ErrorLast:
		out = append(out, fmt.Sprintf("lower bound: the log ended in an error: %q in line %d", notes.Error.Text, notes.Error.Number))
	case notes.Error != nil:
		out = append(out, fmt.Sprintf("lower bound: an error stands in the log: %q in line %d", notes.Error.Text, notes.Error.Number))
	}
	if exit != "" {
		out = append(out, "lower bound: the logger ended by itself before the run did: "+exit)
	}
	return out
}

// Compare returns the doubts that the devices' log and torch's own peak (bytes, rank 0)
// raise together: torch counts without gaps and only its own process, so no device's
// true growth is below its peak.
func Compare(f NvidiaFigures, torchPeak metric.Value) []string {
	if !torchPeak.Known() || torchPeak.Number <= 0 {
		return nil
	}
	var out []string
	highest := metric.Missing("")
	for _, d := range f.Devices {
		if !d.Reserved.Known() {
			continue
		}
		if d.Reserved.Number == 0 {
			out = append(out, fmt.Sprintf(
				"device %d never grew while torch reported memory: the log may be of another device", d.Index))
		}
		if !highest.Known() || d.Reserved.Number > highest.Number {
			highest = d.Reserved
		}
	}
	if peak := torchPeak.Number / float64(unit.MiB); highest.Known() && highest.Number < peak {
		out = append(out, fmt.Sprintf(
			"the sampled growth of %.0f MiB is below torch's own peak of %.0f MiB: the sampler missed the peak",
			highest.Number, peak))
	}
	return out
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
