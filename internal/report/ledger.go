package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/unit"
)

// ledgerLine is one holder of a device's memory: the device itself, or one process.
type ledgerLine struct {
	holder string
	cells  []string // as ledgerTerms names them
}

// ledgerTerms are the terms of a ledger in the order of their columns. Of a process used is
// what it held.
func ledgerTerms() []string {
	return []string{"used", "base", "alloc", "slack", "context", "foreign", "unexpl."}
}

// ledgerText says what the terms are.
const ledgerText = "used at the peak = base (before the start) + torch's alloc and slack (each at its own peak) + " +
	"context (CUDA, libraries and other memory of the processes) + foreign (other processes) + unexplained; in MiB"

// ledgerLines are the lines of one device: its own, and one for each process where there
// are several.
func ledgerLines(l memory.Ledger) []ledgerLine {
	cells := []string{l.Mark.String() + mebibytes(l.Used), mebibytes(l.Baseline), marked(l.AllocatedMark, l.Allocated)}
	for _, v := range []metric.Value{l.Slack, l.Context, l.Foreign, l.Unexplained} {
		cells = append(cells, mebibytes(v))
	}
	out := []ledgerLine{{holder: deviceOf(l), cells: cells}}
	if len(l.Shares) < 2 {
		return out
	}
	for _, s := range l.Shares {
		out = append(out, ledgerLine{holder: plain(s.Label), cells: []string{
			mebibytes(s.Held), "", marked(s.Mark, s.Allocated), mebibytes(s.Slack), mebibytes(s.Context), "", "",
		}})
	}
	return out
}

// marked is an amount behind its mark.
func marked(m memory.Mark, v metric.Value) string {
	if !v.Known() {
		return mebibytes(v)
	}
	return m.String() + mebibytes(v)
}

// tells reports whether a ledger says more than how much the device held.
func tells(l memory.Ledger) bool { return l.Allocated.Known() || l.Foreign.Known() }

// ledgerNotes say why terms are missing, and what a reader should know of the others.
func ledgerNotes(l memory.Ledger) []string {
	var out []string
	add := func(text string) {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	told := slices.Concat(l.Doubts, l.Remarks)
	terms := []metric.Value{l.Used, l.Baseline, l.Allocated, l.Slack, l.Context, l.Foreign, l.Unexplained}
	for i, name := range ledgerTerms() {
		v := terms[i]
		said := slices.ContainsFunc(out, func(s string) bool { return strings.HasSuffix(s, v.Gap) }) ||
			slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, v.Gap) })
		if !v.Known() && !said {
			add(name + ": " + v.Gap)
		}
	}
	if l.BeyondTorch.Known() && (!l.Context.Known() || !l.Foreign.Known()) {
		add(fmt.Sprintf("%s MiB of its growth are beyond what torch reserved, not told apart", mebibytes(l.BeyondTorch)))
	}
	for _, text := range told {
		add(text)
	}
	for _, s := range l.Shares {
		if s.Exception != "" {
			add(s.Label + " was ended by " + s.Exception)
		}
	}
	for i := range out {
		out[i] = deviceOf(l) + ": " + clip(plain(out[i]))
	}
	return out
}

func deviceOf(l memory.Ledger) string {
	if l.Index < 0 {
		return "device " + plain(l.UUID)
	}
	return "device " + strconv.Itoa(l.Index)
}

// mebibytes spells bytes in whole MiB, as the tools do that people compare them with.
func mebibytes(v metric.Value) string {
	if !v.Known() {
		return dash
	}
	n := math.Round(v.Number / float64(unit.MiB))
	if n == 0 {
		n = 0 // no -0
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

// writeLedgers writes the ledgers of all experiments as one table.
func writeLedgers(out *strings.Builder, all []line) {
	columns := []column{{header: "experiment"}, {header: "of"}}
	for _, term := range ledgerTerms() {
		columns = append(columns, column{header: term, right: true})
	}
	var notes []string
	rows := 0
	for _, l := range all {
		for _, g := range l.row.Ledger {
			if !tells(g) {
				continue
			}
			for _, line := range ledgerLines(g) {
				rows++
				for i, cell := range append([]string{l.experiment, line.holder}, line.cells...) {
					columns[i].cells = append(columns[i].cells, escape(cell))
				}
			}
			for _, note := range ledgerNotes(g) {
				notes = append(notes, fmt.Sprintf("- %s, %s\n", escape(l.experiment), code(note)))
			}
		}
	}
	if rows == 0 {
		return
	}
	fmt.Fprintf(out, "### Who held the devices\n\n%s.\n\n", strings.ToUpper(ledgerText[:1])+ledgerText[1:])
	g := newGrid(columns, leastMarkdown)
	for i := -2; i < rows; i++ {
		out.WriteString(g.markdownLine(i) + "\n")
	}
	out.WriteString("\n")
	for _, note := range notes {
		out.WriteString(note)
	}
	if len(notes) > 0 {
		out.WriteString("\n")
	}
}
