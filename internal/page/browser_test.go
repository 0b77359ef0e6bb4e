package page_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Where the browser and its driver are, for the tests that look at the page; with the
// third variable they leave screenshots.
const (
	chromiumVariable   = "TUNEBENCH_TEST_CHROMIUM"
	playwrightVariable = "TUNEBENCH_TEST_PLAYWRIGHT"
	shotsVariable      = "TUNEBENCH_TEST_SHOTS"
)

func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	chromium, modules := os.Getenv(chromiumVariable), os.Getenv(playwrightVariable)
	if chromium == "" || modules == "" {
		t.Skipf("needs node, the path of Chromium in %s and a node_modules folder with playwright-core in %s", chromiumVariable, playwrightVariable)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(written(t, matrix(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	address := (&url.URL{Scheme: "file", Path: file}).String()
	out, err := exec.CommandContext(ctx, "node", "testdata/browser.cjs", modules, chromium, "file", address, os.Getenv(shotsVariable)).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("the page in a browser: %v", err)
	}
}
