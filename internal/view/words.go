package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tunebench/internal/outcome"
	"tunebench/internal/progress"
	"tunebench/internal/table"
)

// Described reports whether what was to be run is known of a row.
func Described(r table.Row) bool {
	_, known := r.Cell("framework_config")
	return known
}

// Method is the way of tuning: the PEFT method or full, and the framework's name; nothing
// where it is not known or no method was asked for.
func Method(r table.Row) string {
	if !Described(r) {
		return ""
	}
	peft := r.Text("peft_method")
	if peft == "" || strings.EqualFold(peft, "none") {
		peft = "full"
	}
	if framework := r.Text("framework_config"); framework != "none" && framework != "" {
		return peft + "/" + framework
	}
	return peft
}

// Word is the word for how an experiment ended; of a signal its name says more.
func Word(r table.Row) string {
	if name := r.Text("signal"); r.Status == outcome.Signal && name != "" {
		return name
	}
	return progress.Word(r.Status)
}

// Reason is one line on why an experiment did not end ok; nothing for one that did.
func Reason(r table.Row) string {
	switch {
	case r.Status == outcome.OK:
		return ""
	case r.Reason != "":
		return r.Reason
	}
	if text := strings.TrimSpace(r.Text("error_messages")); text != "" {
		return text[strings.LastIndexByte(text, '\n')+1:]
	}
	return "no reason is known"
}

// Summary counts the experiments by the word for their end: 3 experiments: 2 ok, 1 OOM.
func Summary(t table.Table) string {
	counts := make(map[outcome.Status]int)
	for _, r := range t.Rows {
		counts[r.Status]++
	}
	parts := []string{fmt.Sprintf("%d %s", counts[outcome.OK], progress.Word(outcome.OK))}
	order := append(progress.Statuses(), outcome.Running, outcome.Incomplete)
	order = append(order, slices.Sorted(maps.Keys(counts))...) // words that only another version knows
	delete(counts, outcome.OK)
	for _, status := range order {
		if n := counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, progress.Word(status)))
		}
		delete(counts, status)
	}
	plural := "s"
	if len(t.Rows) == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d experiment%s: %s", len(t.Rows), plural, strings.Join(parts, ", "))
}
