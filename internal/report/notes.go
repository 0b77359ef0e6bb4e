package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tunebench/internal/memory"
	"tunebench/internal/table"
	"tunebench/internal/view"
)

// The most that a report shows of the notes on one experiment; raw_summary.csv has all.
const (
	maxNotes     = 4
	maxNoteRunes = 300
)

// footnotes numbers notes, one number for equal texts.
type footnotes struct {
	texts []string
}

// mark returns the number of the note, or nothing for no note.
func (f *footnotes) mark(parts []string) string {
	text := noteText(parts)
	if text == "" {
		return ""
	}
	for i, known := range f.texts {
		if known == text {
			return strconv.Itoa(i + 1)
		}
	}
	f.texts = append(f.texts, text)
	return strconv.Itoa(len(f.texts))
}

func noteText(parts []string) string {
	var kept []string
	for i, part := range parts {
		if i == maxNotes {
			kept = append(kept, strconv.Itoa(len(parts)-maxNotes)+" more in "+RawSummaryFile)
			break
		}
		kept = append(kept, clip(plain(part)))
	}
	return strings.Join(kept, "; ")
}

func clip(text string) string {
	runes := []rune(text)
	if len(runes) <= maxNoteRunes {
		return text
	}
	return string(runes[:maxNoteRunes]) + "..."
}

// reason is the line that explains why an experiment did not end ok.
func (l line) reason() string {
	return clip(plain(view.Reason(l.row)))
}

// doubts are the notes on an experiment without the reason of its failure. Those on the
// host's memory stand only where that is the figure that is shown.
func (l line) doubts() []string {
	out := append([]string(nil), l.gaps...)
	for _, note := range l.row.Notes {
		if l.of.Source == view.FromHost || !strings.HasPrefix(note, table.HostNotes) {
			out = append(out, note)
		}
	}
	return out
}

// everything is the reason with the doubts.
func (l line) everything() []string {
	if reason := l.reason(); reason != "" {
		return append([]string{reason}, l.doubts()...)
	}
	return l.doubts()
}

// legend says what the memory column shows. Where the sources differ each has a
// letter, which marks its figures.
func legend(all []line, u view.Unit) (text string, letters map[view.Source]string) {
	var sources []string
	letters = make(map[view.Source]string)
	for _, source := range view.Sources() {
		if slices.ContainsFunc(all, func(l line) bool { return l.of.Source == source }) {
			letters[source] = string(source[:1])
			sources = append(sources, string(source))
		}
	}
	switch len(sources) {
	case 0:
		return "", nil
	case 1:
		return fmt.Sprintf("memory in %s: %s", u, sources[0]), nil
	}
	for i, source := range sources {
		sources[i] = source[:1] + " " + source
	}
	return fmt.Sprintf("memory in %s: %s", u, strings.Join(sources, ", ")), letters
}

// marks says what the signs before figures mean, as far as one stands there.
func marks(all []line) string {
	var found [memory.Contaminated + 1]bool
	for _, l := range all {
		found[l.of.Mark] = true
		for _, d := range l.row.Memory.Devices {
			found[d.Mark] = found[d.Mark] || l.largest != ""
		}
		for _, g := range l.row.Ledger {
			found[g.Mark] = true
		}
	}
	return marksOf(found[memory.Doubtful], found[memory.Contaminated])
}

func marksOf(doubtful, contaminated bool) string {
	var parts []string
	if doubtful {
		parts = append(parts, memory.Doubtful.String()+" doubtful: readings are missing or contradicted")
	}
	if contaminated {
		parts = append(parts, memory.Contaminated.String()+" contaminated: others than the experiment used the device")
	}
	return strings.Join(parts, ", ")
}

// deviceNames returns the models of all experiments, each once.
func deviceNames(all []line) string {
	var names []string
	seen := make(map[string]bool)
	for _, l := range all {
		if name := plain(l.row.Text(memory.DeviceName)); name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
