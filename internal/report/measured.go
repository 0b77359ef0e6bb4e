package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/table"
	"tunebench/internal/unit"
	"tunebench/internal/view"
)

// Measured writes what was measured of one command, no line wider than width columns where
// the figures allow it: how it ended, the host's memory, each device's peak, and who held it.
func Measured(w io.Writer, row table.Row, width int) error {
	var out strings.Builder
	writeEnd(&out, row, width)
	writeHost(&out, row, width)
	writePeaks(&out, row, width)
	writeLedger(&out, row, width)
	writeMeasuredNotes(&out, row, width)
	_, err := io.WriteString(w, out.String())
	return err
}

// writeEnd says how the command ended and how long it took.
func writeEnd(out *strings.Builder, row table.Row, width int) {
	end := "exit status " + orDash(row.Text("exit_code"))
	if signal := row.Text("signal"); signal != "" {
		end = "ended by " + plain(signal)
	}
	if s := row.Number("duration_seconds"); s.Known() {
		end += " after " + time.Duration(s.Number*float64(time.Second)).Round(time.Millisecond).String()
	}
	writeWrapped(out, end, "  ", width)
	if row.Status != outcome.OK && row.Status != outcome.NoMetrics && row.Reason != "" && row.Reason != "exit "+row.Text("exit_code") {
		writeWrapped(out, clip(plain(row.Reason)), "  ", width)
	}
	for _, text := range row.Exceptions {
		if _, what, _ := strings.Cut(text, ": "); len(row.Exceptions) == 1 && what != "" && strings.Contains(row.Reason, what) {
			continue // the reason has said it
		}
		writeWrapped(out, clip(plain(text)), "  ", width)
	}
}

func writeHost(out *strings.Builder, row table.Row, width int) {
	figure := func(name string) string {
		if v := row.Number(name); v.Known() {
			return row.HostMark.String() + unit.Bytes(v.Number).String()
		}
		return dash
	}
	writeWrapped(out, fmt.Sprintf("host memory at its peak: %s (PSS), %s (RSS)", figure(memory.HostPeakPSS), figure(memory.HostPeakRSS)), "  ", width)
}

// writePeaks writes a line for each device.
func writePeaks(out *strings.Builder, row table.Row, width int) {
	if len(row.Memory.Devices) == 0 && row.Text("num_gpus") == "0" {
		writeWrapped(out, "no device was there to be watched", "  ", width)
		return
	}
	if len(row.Memory.Devices) == 0 {
		if _, asked := row.Cell(memory.NvidiaReserved); asked {
			writeWrapped(out, "no device memory: "+plain(row.Number(memory.NvidiaReserved).Gap), "  ", width)
		}
		return
	}
	columns := []column{{header: "device", least: minWord}, {header: "source"}, {header: "baseline", right: true},
		{header: "peak", right: true}, {header: "growth", right: true}, {header: "mean", right: true}, {header: "model", least: minModel}}
	for _, d := range row.Memory.Devices {
		growth := whole(d.Reserved)
		if d.Reserved.Known() {
			growth = d.Mark.String() + growth
		}
		for i, cell := range []string{d.ID(), orDash(d.Source), whole(d.Baseline), whole(d.Peak), growth, whole(d.Mean), orDash(d.Name)} {
			columns[i].cells = append(columns[i].cells, cell)
		}
	}
	out.WriteString("\n")
	writeWrapped(out, "device memory in MiB; "+paceText(row.Memory.Sampling)+"mean: over time", "  ", width)
	writeColumns(out, columns, len(row.Memory.Devices), width)
	if v := row.Number(memory.Energy); v.Known() {
		writeWrapped(out, "energy of the devices: "+speed(v.Number)+" J", "  ", width)
	}
}

// paceText says how the samples were taken, as far as it is known.
func paceText(s memory.Sampling) string {
	if s.Samples == 0 {
		return ""
	}
	text := fmt.Sprintf("%d samples", s.Samples)
	if s.Interval > 0 {
		text += " every " + s.Interval.String()
	}
	if s.Achieved > 0 {
		text += " (achieved: " + s.Achieved.Round(10*time.Microsecond).String() + ")"
	}
	return text + ", " + strconv.Itoa(s.Lost) + " lost; "
}

// whole spells MiB.
func whole(mib metric.Value) string {
	if !mib.Known() {
		return dash
	}
	return mebibytes(metric.Of(mib.Number * float64(unit.MiB)))
}

func writeLedger(out *strings.Builder, row table.Row, width int) {
	if !slices.ContainsFunc(row.Ledger, tells) {
		return
	}
	columns := []column{{header: "held by", least: minModel}}
	for _, term := range ledgerTerms() {
		columns = append(columns, column{header: term, right: true})
	}
	rows := 0
	for _, l := range row.Ledger {
		for _, line := range ledgerLines(l) {
			rows++
			for i, cell := range append([]string{line.holder}, line.cells...) {
				columns[i].cells = append(columns[i].cells, cell)
			}
		}
	}
	out.WriteString("\n")
	writeWrapped(out, ledgerText, "  ", width)
	writeColumns(out, columns, rows, width)
}

func writeColumns(out *strings.Builder, columns []column, rows, width int) {
	g := fit(columns, width)
	for i := -1; i < rows; i++ {
		out.WriteString(g.textLine(i) + "\n")
	}
}

// somebodys is the growth of a device, in bytes, from which on a reader asks who held it.
const somebodys = float64(16 * unit.MiB)

// writeMeasuredNotes writes what a reader should know: all of it, since there is no other
// place to look it up.
func writeMeasuredNotes(out *strings.Builder, row table.Row, width int) {
	var notes []string
	for _, d := range row.Memory.Devices {
		if !d.Reserved.Known() {
			notes = append(notes, "growth: "+d.Reserved.Gap)
		}
	}
	for _, name := range []string{memory.HostPeakPSS, memory.HostPeakRSS} {
		if v, there := row.Cell(name); there && !v.Value.Known() {
			notes = append(notes, "host memory: "+v.Value.Gap)
		}
	}
	notes = append(notes, slices.Concat(row.Notes, row.Remarks)...)
	for _, l := range row.Ledger {
		switch {
		case tells(l):
			notes = append(notes, ledgerNotes(l)...)
		case l.Growth.Known() && l.Growth.Number >= somebodys && l.Foreign.Gap != "":
			notes = append(notes, deviceOf(l)+": who held what it grew by is not known: "+l.Foreign.Gap)
		}
	}
	kept := saidOnce(notes)
	if len(kept) == 0 {
		return
	}
	out.WriteString("\n")
	if text := marks(lines(table.Table{Rows: []table.Row{row}}, view.Unit{})); text != "" {
		writeWrapped(out, text, "  ", width)
	}
	for _, n := range kept {
		writeWrapped(out, "- "+clip(plain(n)), "  ", width)
	}
}

// saidOnce leaves out a note whose words another one ends with: what it is about, before
// the first colon, may differ. Of two that say the same the first stays.
func saidOnce(notes []string) (kept []string) {
	said := func(i int) bool {
		body := withoutTopic(notes[i])
		for j, other := range notes {
			if j != i && strings.HasSuffix(other, body) && (j < i || !strings.HasSuffix(notes[i], withoutTopic(other))) {
				return true
			}
		}
		return false
	}
	for i, n := range notes {
		if !said(i) {
			kept = append(kept, n)
		}
	}
	return kept
}

// withoutTopic cuts off what a note is about.
func withoutTopic(note string) string {
	for _, topic := range []string{"growth: ", "GPU memory: ", "torch memory: ", "host memory: ", "probe: "} {
		if body, ok := strings.CutPrefix(note, topic); ok {
			return body
		}
	}
	return note
}
