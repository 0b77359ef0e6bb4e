package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tunebench/internal/experiment"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/record"
	"tunebench/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write makes one experiment that ended ok, with a short log.
func write(t *testing.T, dir, name, model string) {
	t.Helper()
	folder := filepath.Join(dir, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	log := "timestamp, name, index, memory.used [MiB]\n2026/12/01 05:09:15.000, G, 0, 0 MiB\n2026/12/01 05:09:16.000, G, 0, 900 MiB\n2026/12/01 05:09:17.000, G, 0, 100 MiB\n"
	host := "timestamp,processes,rss_bytes,pss_bytes\n2026-12-01T05:09:15Z,1,1000,900\n2026-12-01T05:09:17Z,1,2000,900\n"
	for file, text := range map[string]string{"gpu_memory_logs.csv": log, "host_memory_logs.csv": host, "stderr": ""} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := record.Record{
		Version: record.Version, Outcome: outcome.Outcome{Status: outcome.OK}, Duration: 2 * time.Second, Started: time.Date(2026, 12, 1, 5, 9, 15, 0, time.UTC),
		Metrics: metric.Set{}.With("train_loss", metric.Of(1)), Host: record.Host{MaxRSSOneProcess: metric.Missing("not waited for")},
		Experiment: experiment.Experiment{Version: 1, ID: name, Name: name, Trial: 1, NumGPUs: 1, Settings: []experiment.Setting{{Name: "model_name_or_path", Values: []string{model}}}},
	}
	if err := record.Write(folder, r); err != nil {
		t.Fatal(err)
	}
}

// serve serves the folder until the test ends.
func serve(t *testing.T, dir string) (url string) {
	t.Helper()
	l, err := web.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- web.Serve(ctx, l, web.Options{Dirs: []string{dir}}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return web.URL(l)
}

type reply struct {
	code   int
	header http.Header
	body   string
}

// ask makes one request on a connection of its own.
func ask(t *testing.T, method, url string, change func(*http.Request)) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	if change != nil {
		change(req)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

func TestTheServerAnswersThePageItsDataAndTheCurvesOfARow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "exp_0", "model-a")
	url := serve(t, dir)
	if r := ask(t, "GET", url, nil); r.code != 200 || !strings.Contains(r.body, `{"live":true}`) || strings.Contains(r.body, "model-a") {
		t.Errorf("the page: %d, %.80q", r.code, r.body)
	}
	data := ask(t, "GET", url+"data", nil)
	var d struct {
		Rows []struct{ Name, Model string }
	}
	if err := json.Unmarshal([]byte(data.body), &d); err != nil {
		t.Fatalf("the data: %d, %v: %.80q", data.code, err, data.body)
	}
	if diff := cmp.Diff([]struct{ Name, Model string }{{"exp_0", "model-a"}}, d.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if r := ask(t, "GET", url+"curves?row=exp_0", nil); r.code != 200 || !strings.Contains(r.body, `"device 0"`) {
		t.Errorf("the curves: %d, %.80q", r.code, r.body)
	}
}

func TestDataThatTheReaderHasAreNotSentAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "exp_0", "model-a")
	url := serve(t, dir)
	tag := ask(t, "GET", url+"data", nil).header.Get("ETag")
	known := func(r *http.Request) { r.Header.Set("If-None-Match", tag) }
	if r := ask(t, "GET", url+"data", known); r.code != http.StatusNotModified || r.body != "" {
		t.Errorf("with the tag: %d, %.80q", r.code, r.body)
	}
	write(t, dir, "exp_1", "model-b")
	deadline := time.Now().Add(10 * time.Second)
	for {
		r := ask(t, "GET", url+"data", known)
		if r.code == 200 && strings.Contains(r.body, "model-b") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a new experiment is not in the data: %d", r.code)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestWhatIsNotThePageIsNotServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "exp_0", "model-a")
	url := serve(t, dir)
	for _, path := range []string{
		"exp_0/results.json", "exp_0/", "results.json", "../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "data/../exp_0/stderr",
		"curves?row=../exp_0", "curves?row=" + dir, "curves", "favicon.ico", "data/", "debug/pprof/",
	} {
		if r := ask(t, "GET", url+path, nil); r.code == 200 {
			t.Errorf("GET /%s = 200, %.80q", path, r.body)
		}
	}
}

func TestOnlyTheMachineItselfIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "exp_0", "model-a")
	url := serve(t, dir)
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:9": 200, "127.0.0.1:8000": 200, "127.1.2.3": 200, "[::1]:80": 200,
		"evil.example": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:80": 421, "10.0.0.1": 421, "0.0.0.0": 421, "[::ffff:10.0.0.1]": 421,
	} {
		for _, path := range []string{"", "data", "curves?row=exp_0"} {
			if r := ask(t, "GET", url+path, func(r *http.Request) { r.Host = host }); r.code != want {
				t.Errorf("GET /%s of host %s = %d, want %d", path, host, r.code, want)
			}
		}
	}
}

func TestOnlyGETIsAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "exp_0", "model-a")
	url := serve(t, dir)
	for _, method := range []string{"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"} {
		if r := ask(t, method, url+"data", nil); r.code != http.StatusMethodNotAllowed || r.header.Get("Allow") != "GET" {
			t.Errorf("%s = %d, allowed %q", method, r.code, r.header.Get("Allow"))
		}
	}
}

func TestAnotherSiteMayLinkToThePageAndNotReadIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "exp_0", "model-a")
	url := serve(t, dir)
	for site, want := range map[string]map[string]int{
		"cross-site": {"cors": 403, "no-cors": 403, "navigate": 200}, "same-site": {"cors": 403}, "same-origin": {"cors": 200}, "none": {"navigate": 200},
	} {
		for mode, code := range want {
			r := ask(t, "GET", url+"data", func(r *http.Request) {
				r.Header.Set("Sec-Fetch-Site", site)
				r.Header.Set("Sec-Fetch-Mode", mode)
			})
			if r.code != code {
				t.Errorf("%s, %s = %d, want %d", site, mode, r.code, code)
			}
		}
	}
}

func TestEveryAnswerForbidsWhatItDoesNotNeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "exp_0", "model-a")
	url := serve(t, dir)
	for _, path := range []string{"", "data", "nothing"} {
		h := ask(t, "GET", url+path, nil).header
		policy := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none';") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("/%s: policy %q", path, policy)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("/%s: %s = %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestAListenerThatOthersReachIsRefused(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	err = web.Serve(t.Context(), l, web.Options{Dirs: []string{t.TempDir()}})
	if err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("Serve = %v, want a word on the loopback interface", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

func TestAFolderThatIsNotThereIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	l, err := web.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := web.Serve(t.Context(), l, web.Options{Dirs: []string{filepath.Join(t.TempDir(), "none")}}); err == nil {
		t.Error("Serve of a folder that is not there = nil")
	}
}

func TestALivePageInABrowser(t *testing.T) {
	t.Parallel()
	const chromiumVariable, playwrightVariable = "TUNEBENCH_TEST_CHROMIUM", "TUNEBENCH_TEST_PLAYWRIGHT"
	chromium, modules := os.Getenv(chromiumVariable), os.Getenv(playwrightVariable)
	if chromium == "" || modules == "" {
		t.Skipf("needs node, the path of Chromium in %s and a node_modules folder with playwright-core in %s", chromiumVariable, playwrightVariable)
	}
	dir := t.TempDir()
	write(t, dir, "exp_0", "model-a")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "../page/testdata/browser.cjs", modules, chromium, "live", serve(t, dir), os.Getenv("TUNEBENCH_TEST_SHOTS"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.Log(lines.Text())
		if lines.Text() == "READY" {
			write(t, dir, "exp_1", "model-b")
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the live page in a browser: %v", err)
	}
}
