package outcome

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzJudge(f *testing.F) {
	f.Add(trace(full), "", 1, "", true)
	f.Add(elastic, shards, 1, "", false)
	f.Add(watchdog, newBar, 0, "SIGABRT", false)
	f.Add("usage: a\nb: error: c\n", "\xff\xfe", 2, "", false)
	f.Add(trace("MemoryError")+direct+trace(advice), goneOn, 137, "", true)
	f.Add(behind("[rank0]: ", trace(full)), trace(full)+goneOn, 0, "", true)
	f.Fuzz(func(t *testing.T, stdout, stderr string, code int, signal string, metrics bool) {
		e := Evidence{Ending: exit(code), MetricsFound: metrics}
		if signal != "" {
			e.Ending = Ending{Signal: signal}
		}
		e.Logs = ScanLogs(strings.NewReader(stdout), strings.NewReader(stderr))
		got := Judge(e)
		if ok := code == 0 && signal == "" && metrics; (got.Status == OK) != ok {
			t.Errorf("%s with exit %d, signal %q, metrics %v", got.Status, code, signal, metrics)
		}
		if got.Status == OK && (got.ErrorMessages != "" || got.Reason != "") || got.Status != OK && got.Reason == "" {
			t.Errorf("%s with reason %q and text %q", got.Status, got.Reason, got.ErrorMessages)
		}
		if !utf8.ValidString(fmt.Sprint(got)) {
			t.Errorf("not UTF-8: %q", fmt.Sprint(got))
		}
		if len(got.ErrorMessages) > maxText+100 || strings.Contains(got.Reason, "\n") {
			t.Errorf("%d bytes of text, reason %q", len(got.ErrorMessages), got.Reason)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Error(err)
		}
	})
}
