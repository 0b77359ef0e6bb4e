package smi

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestFindLooksAlongThePath(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	make := func(dir string, mode os.FileMode) string {
		path := filepath.Join(root, dir, "nvidia-smi")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, first, second := make("plain", 0o644), make("a", 0o755), make("b", 0o755)
	list := func(paths ...string) string {
		text := "PATH="
		for i, p := range paths {
			if i > 0 {
				text += string(os.PathListSeparator)
			}
			text += filepath.Dir(p)
		}
		return text
	}
	for name, tc := range map[string]struct {
		environ []string
		want    string
	}{
		"the first folder that has it":    {[]string{list(first, second)}, first},
		"a file that cannot be run is no": {[]string{list(plain, second)}, second},
		"the last PATH counts":            {[]string{list(first), list(second)}, second},
		"a PATH without it":               {[]string{list(plain)}, ""},
		"no PATH":                         {[]string{"HOME=/"}, ""},
	} {
		got, err := Find(tc.environ)
		switch {
		case tc.want == "" && !errors.Is(err, os.ErrNotExist):
			t.Errorf("%s: error %v, want os.ErrNotExist", name, err)
		case tc.want != "" && (err != nil || got.Path != tc.want):
			t.Errorf("%s: %+v, %v; want %s", name, got, err, tc.want)
		}
	}
}
