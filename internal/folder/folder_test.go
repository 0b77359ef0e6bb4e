package folder_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tunebench/internal/folder"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func TestAFolderIsOpenedAndALinkInItsPlaceIsNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret", "stderr"), "secret")
	write(t, filepath.Join(dir, "results", "exp_0", "stderr"), "mine")
	write(t, filepath.Join(dir, "results", "exp_3"), "a file")
	link(t, filepath.Join(dir, "secret"), filepath.Join(dir, "results", "exp_1"))
	link(t, "exp_0", filepath.Join(dir, "results", "exp_2"))
	open(t, filepath.Join(dir, "results", "exp_0"))
	for name, want := range map[string]string{
		"exp_1": "links are not followed", "exp_2": "links are not followed", "exp_3": "not a folder", "exp_4": "no such file",
	} {
		root, err := folder.Open(filepath.Join(dir, "results", name))
		if err == nil {
			_ = root.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %v, want that it says %q", name, err, want)
		}
	}
}

func TestOnlyRegularFilesOfTheFolderAreOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret"), "secret")
	own := filepath.Join(dir, "exp_0")
	write(t, filepath.Join(own, "log"), "mine")
	write(t, filepath.Join(own, "below", "log"), "mine")
	link(t, filepath.Join(dir, "secret"), filepath.Join(own, "absolute"))
	link(t, "../secret", filepath.Join(own, "up"))
	link(t, "log", filepath.Join(own, "inside"))
	if err := syscall.Mkfifo(filepath.Join(own, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	root := open(t, own)
	for _, name := range []string{"absolute", "up", "inside", "pipe", "below", "none", "../secret", filepath.Join(dir, "secret"), ""} {
		if file, err := folder.File(root, name); err == nil {
			_ = file.Close()
			t.Errorf("File(%q) was opened", name)
		}
	}
	file, err := folder.File(root, "log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if data, err := io.ReadAll(file); err != nil || string(data) != "mine" {
		t.Errorf("the log holds %q, %v", data, err)
	}
}

func TestTheEndOfAFileSaysWhetherItIsAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "stderr"), "0123456789")
	write(t, filepath.Join(dir, "empty"), "")
	root := open(t, dir)
	for _, tc := range []struct {
		name string
		most int64
		want string
		cut  bool
	}{{"stderr", 4, "6789", true}, {"stderr", 10, "0123456789", false}, {"stderr", 99, "0123456789", false}, {"empty", 4, "", false}} {
		got, cut, err := folder.End(root, tc.name, tc.most)
		if got != tc.want || cut != tc.cut || err != nil {
			t.Errorf("the last %d bytes of %s = %q, cut %v, %v; want %q, %v", tc.most, tc.name, got, cut, err, tc.want, tc.cut)
		}
	}
	if _, _, err := folder.End(root, "none", 4); err == nil {
		t.Error("a file that is not there has an end")
	}
}
