package probe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/probe"
)

func TestInstallWritesAllThatTheHookImports(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "site")
	for range 2 { // a second time over the first
		if err := probe.Install(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"sitecustomize.py", "tunebench_probe/__init__.py", "tunebench_probe/files.py", "tunebench_probe/hooks.py",
		"tunebench_probe/record.py", "tunebench_probe/stage.py", "tunebench_probe/torch_part.py", "tunebench_probe/trainer_part.py",
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, want a file with something in it", name, err)
		}
	}
}

func TestInstallRefusesAFolderThatNoPathCanName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a"+string(os.PathListSeparator)+"b")
	if err := probe.Install(dir); err == nil || !strings.Contains(err.Error(), "PYTHONPATH") {
		t.Errorf("Install(%q) = %v, want an error that names PYTHONPATH", dir, err)
	}
}

func TestTheUsersOwnPathStaysBehindTheProbes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inherited []string
		want      string
	}{
		"none before":                       {[]string{"HOME=/root"}, "/site"},
		"an empty one is not the directory": {[]string{"PYTHONPATH="}, "/site"},
		"one folder":                        {[]string{"PYTHONPATH=/mine"}, "/site:/mine"},
		"the last setting counts":           {[]string{"PYTHONPATH=/old", "PYTHONPATH=/a:/b"}, "/site:/a:/b"},
		"the user's own empty element":      {[]string{"PYTHONPATH=:/a"}, "/site::/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[string]string{"PYTHONPATH": c.want, "TUNEBENCH_PROBE_DIR": "/out"}
			if diff := cmp.Diff(want, probe.Env("/site", "/out", c.inherited)); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnInterpreterThatIgnoresThePathIsNoticed(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"python -I train.py":                    "-I",
		"python3 -E train.py":                   "-E",
		"/opt/bin/python3.12 -S train.py":       "-S",
		"env A=1 nice python3 -uBI -m pkg":      "-I",
		"python -W ignore -X dev -E x.py":       "-E",
		"python -Wignore -sE x.py":              "-E",
		"python3.13t -I x.py":                   "-I",
		"pypy3 -I x.py":                         "-I",
		"python --check-hash-based-pycs x -I y": "-I",
		"python train.py -I -E -S":              "",
		"python -c pass -I":                     "",
		"python -m train -E":                    "",
		"python -u -X importtime train.py -S":   "",
		"python -WI train.py":                   "",
		"python -XE train.py":                   "",
		"python -s -B train.py":                 "",
		"python - -I":                           "",
		"python":                                "",
		"torchrun --nproc_per_node 2 train.py":  "",
		"sh -c exit":                            "",
		"":                                      "",
	} {
		got := probe.Ignored(strings.Fields(command))
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("Ignored(%q) = %q, want a sentence with %q", command, got, want)
		}
	}
}

func TestOnlyAnInterpreterItselfIsNoticedAsOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argv []string
		want string
	}{
		"the interpreter":                      {[]string{"/usr/bin/python3", "-E", "train.py"}, "/usr/bin/python3 is started with -E"},
		"behind a first line of a script":      {[]string{"/usr/bin/python3.11", "-I", "/usr/bin/tool"}, "-I"},
		"one that is asked for no site":        {[]string{"python", "-uS", "-c", "pass"}, "-S"},
		"a shell with a command":               {[]string{"sh", "-c", "python -E train.py"}, ""},
		"a shell whose command ends in python": {[]string{"sh", "-c", "exec /usr/bin/python", "-E"}, ""},
		"a shell with words of its own":        {[]string{"sh", "-c", "\"$@\"", "sh", "python", "-E", "train.py"}, ""},
		"a wrapper":                            {[]string{"env", "python", "-E", "train.py"}, ""},
		"an interpreter with the probe":        {[]string{"python", "train.py", "-E"}, ""},
		"nothing":                              {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := probe.IgnoredBy(c.argv); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("%q, want a sentence with %q", got, c.want)
			}
		})
	}
}

func FuzzIgnoredBy(f *testing.F) {
	f.Add("python\x00-E\x00x")
	f.Add("/usr/bin/python3.12\x00-uBI\x00-W\x00ignore\x00--\x00-c")
	f.Add("sh\x00-c\x00python -E")
	f.Fuzz(func(t *testing.T, cmdline string) {
		argv := strings.Split(cmdline, "\x00")
		got := probe.IgnoredBy(argv)
		if got != "" && (!strings.HasPrefix(got, argv[0]+" is started with -") || probe.Ignored(argv) != got) {
			t.Errorf("%q of %q", got, argv)
		}
	})
}
