package page

import (
	"strconv"

	"tunebench/internal/memory"
)

// ledger is what one device held at its peak and who held it, in bytes.
type ledger struct {
	Device string   `json:"dev"`
	Used   any      `json:"used"`
	Mark   string   `json:"mark"`
	Terms  []any    `json:"terms"` // baseline, allocated, slack, context, foreign, unexplained
	Notes  []string `json:"notes,omitempty"`
}

func makeLedger(l memory.Ledger) ledger {
	out := ledger{Device: "device " + strconv.Itoa(l.Index), Used: figure(l.Used), Mark: l.Mark.String()}
	if l.Index < 0 {
		out.Device = "device " + l.UUID
	}
	out.Terms = []any{figure(l.Baseline), figure(l.Allocated), figure(l.Slack), figure(l.Context), figure(l.Foreign), figure(l.Unexplained)}
	out.Notes = append(append(out.Notes, l.Doubts...), l.Remarks...)
	for _, s := range l.Shares {
		if s.Exception != "" {
			out.Notes = append(out.Notes, s.Label+" was ended by "+s.Exception)
		}
	}
	return out
}
