package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/outcome"
	"tunebench/internal/page"
	"tunebench/internal/view"
)

// block is the JSON of a page.
func block(t *testing.T, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, `<script type="application/json" id="data">`)
	data, _, closed := strings.Cut(rest, "</script>")
	if !ok || !closed {
		t.Fatal("the page has no block of data")
	}
	return data
}

func rows(t *testing.T, text string) []map[string]any {
	t.Helper()
	var d struct{ Rows []map[string]any }
	if err := json.Unmarshal([]byte(block(t, text)), &d); err != nil {
		t.Fatalf("the data are no JSON: %v", err)
	}
	return d.Rows
}

func TestNothingOfTheResultsBreaksOutOfItsBlock(t *testing.T) {
	t.Parallel()
	text := written(t, matrix(t))
	data := block(t, text)
	for _, bad := range []string{"<", ">", "&", "\u2028", "\u2029"} {
		if strings.Contains(data, bad) {
			t.Errorf("the block of data holds %q", bad)
		}
	}
	if strings.Contains(strings.Replace(text, data, "", 1), "owned") {
		t.Error("text of the results stands outside the block of data")
	}
	got := rows(t, text)[4]
	if diff := cmp.Diff(hostile, got["model"]); diff != "" {
		t.Errorf("the hostile model (-want +got):\n%s", diff)
	}
}

func TestThePolicyLetsNothingInButThePagesOwnScripts(t *testing.T) {
	t.Parallel()
	text := written(t, matrix(t))
	m := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("the page has no policy")
	}
	policy := html.UnescapeString(m[1])
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "connect-src") {
		t.Errorf("policy = %q", policy)
	}
	inline := regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(text, -1)
	if len(inline) != 4 {
		t.Fatalf("%d inline scripts and styles, want 4", len(inline))
	}
	for _, part := range inline {
		sum := sha256.Sum256([]byte(part[2]))
		if !strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("the policy does not name a %s that begins %.40q", part[1], part[2])
		}
	}
}

func TestThePageLoadsNothing(t *testing.T) {
	t.Parallel()
	text := written(t, matrix(t))
	outside := regexp.MustCompile(`(?i)<(?:script|img|iframe|link|object|embed|source|base)[^>]*\s(?:src|href|data)=["']?(?:[a-z]+:)?//`)
	if found := outside.FindString(text); found != "" {
		t.Errorf("the page refers to %q", found)
	}
	if strings.Contains(text, "@import") || strings.Contains(text, "url(") {
		t.Error("a style loads something")
	}
}

func TestAMissingFigureIsItsReasonAndNeverZero(t *testing.T) {
	t.Parallel()
	failed := rows(t, written(t, matrix(t)))[3]
	if failed["word"] != "OOM" || failed["reason"] != "CUDA out of memory" {
		t.Errorf("word %v, reason %v", failed["word"], failed["reason"])
	}
	for _, key := range []string{"tps", "loss", "tpeak", "talloc"} {
		if text, ok := failed[key].(string); !ok || text == "" {
			t.Errorf("%s = %v, want the reason why there is none", key, failed[key])
		}
	}
	if failed["mem"] != float64(80000<<20) {
		t.Errorf("memory = %v, want what was seen until it failed", failed["mem"])
	}
}

func TestTheLogsOfARowStandOnOneAxis(t *testing.T) {
	t.Parallel()
	curves := rows(t, written(t, matrix(t)))[0]["curves"].(map[string]any)
	series := curves["series"].([]any)
	if len(series) != 3 {
		t.Fatalf("%d series, want the device, PSS and RSS", len(series))
	}
	first := func(i int) float64 { return series[i].(map[string]any)["x"].([]any)[0].(float64) }
	if first(0) != 0 || first(1) != 0 {
		t.Errorf("the series begin at %v and %v ms, want 0 though the logs are of two time zones", first(0), first(1))
	}
	if diff := cmp.Diff([]any{8.0, 20.0}, curves["trained"]); diff != "" {
		t.Errorf("training of 12 s that ends with the run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{map[string]any{"n": 5.0, "s": 6.0}, map[string]any{"n": 10.0, "s": 12.0}}, curves["steps"]); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestALinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	secret := t.TempDir()
	put(t, secret, "passwd", "root:x:0:0:secret")
	run{status: outcome.Error, samples: 3, peak: 5, stderr: "root:x:0:0:secret"}.write(t, secret, 7)
	dir := t.TempDir()
	run{model: "m", status: outcome.Error, reason: "broken", samples: 3, peak: 5}.write(t, dir, 0)
	for name, target := range map[string]string{"exp_0/stderr": filepath.Join(secret, "passwd"), "exp_1": filepath.Join(secret, "exp_7")} {
		_ = os.Remove(filepath.Join(dir, name))
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(written(t, dir), "0:0:secret") {
		t.Error("the page holds what lies outside the results folder")
	}
}

func TestRowsOfSeveralFoldersHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	var dirs []string
	for _, name := range []string{"monday/r", "tuesday/r"} {
		dir := filepath.Join(base, name)
		run{model: "m", status: outcome.OK, samples: 3, peak: 5}.write(t, dir, 0)
		dirs = append(dirs, dir)
	}
	names := func(dirs ...string) []any {
		var out []any
		for _, r := range rows(t, written(t, dirs...)) {
			out = append(out, r["name"])
		}
		return out
	}
	if diff := cmp.Diff([]any{"exp_0"}, names(dirs[0])); diff != "" {
		t.Errorf("of one folder (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"monday/r/exp_0", "tuesday/r/exp_0"}, names(dirs...)); diff != "" {
		t.Errorf("of two folders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"exp_0"}, names(dirs[0], dirs[0])); diff != "" {
		t.Errorf("of one folder that was named twice (-want +got):\n%s", diff)
	}
}

func TestTheLivePageHoldsNoResultsAndMayAskItsServerOnly(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := page.Live(&out); err != nil {
		t.Fatal(err)
	}
	if got := block(t, out.String()); got != `{"live":true}` {
		t.Errorf("data = %s", got)
	}
	if p := page.Policy(true); !strings.Contains(p, "connect-src 'self';") {
		t.Errorf("policy = %q", p)
	}
}

func TestTheMakerRemembersWhatHasEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run{model: "m", status: outcome.Error, reason: "broken", samples: 3, peak: 5, stderr: "first"}.write(t, dir, 0)
	mib, err := view.ParseUnit("MiB")
	if err != nil {
		t.Fatal(err)
	}
	m := page.NewMaker(page.Options{Unit: mib})
	tail := func() string {
		data, err := m.Data(gather(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Unit string
			Rows []struct {
				Tail   string
				Curves any
			}
		}
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatal(err)
		}
		if d.Unit != "MiB" || d.Rows[0].Curves != nil {
			t.Errorf("unit %q, curves %v; want MiB and none", d.Unit, d.Rows[0].Curves)
		}
		return d.Rows[0].Tail
	}
	if got := tail(); got != "first" {
		t.Errorf("tail = %q", got)
	}
	put(t, filepath.Join(dir, "exp_0"), "stderr", "second")
	if got := tail(); got != "first" {
		t.Errorf("tail = %q, want the remembered one", got)
	}
	run{model: "m", status: outcome.Error, reason: "broken again", samples: 3, peak: 5, stderr: "third"}.write(t, dir, 0)
	if got := tail(); got != "third" {
		t.Errorf("tail = %q, want that of the new record", got)
	}
}

func TestCurvesAreFoundByNameOnly(t *testing.T) {
	t.Parallel()
	dir := matrix(t)
	gathered := gather(t, dir)
	for _, name := range []string{"", "exp_9", "../exp_0", "exp_0/../exp_0", dir} {
		if data, ok, _ := page.Curves(gathered, name); ok {
			t.Errorf("Curves(%q) = %.60s, want none", name, data)
		}
	}
	data, ok, err := page.Curves(gathered, "exp_0")
	if err != nil || !ok || !strings.Contains(string(data), `"device 0"`) {
		t.Errorf("Curves(exp_0) = %.60s, %v, %v", data, ok, err)
	}
}
