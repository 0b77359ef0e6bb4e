package tunebench_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the design: each package may import only packages of the layers before its
// own. docs/design.md says what each is for.
func layers() [][]string {
	return [][]string{
		{"metric", "unit"},
		{"builtin", "device", "experiment", "folder"},
		{"scenario", "trainer"},
		{"matrix", "outcome"},
		{"memory", "progress", "record", "sampler"},
		{"curve", "device/host", "device/nvml", "device/smi", "probe"},
		{"executor/local", "table"},
		{"runner", "timeline", "view"},
		{"page", "plot", "report"},
		{"live", "web"},
		{"cli"},
	}
}

// owners says which packages alone may use something that reaches out of the program.
// A key is an import path, or an import path with a name.
func owners() map[string][]string {
	return map[string][]string{
		"os/exec":                      {"device/nvml", "device/smi", "executor/local"},
		"go.yaml.in/yaml/v4":           {"scenario"},
		"net/http":                     {"web"},
		"github.com/ebitengine/purego": {"device/nvml"},
		"github.com/spf13/cobra":       {"cli"},
		"github.com/prometheus/procfs": {"device/host"},
		"os.Exit":                      {},
		"os.Getenv":                    {},
		"os.LookupEnv":                 {},
		"os.Environ":                   {},
	}
}

// TestImportsPointDownward reads every package and finds each import that the design forbids.
func TestImportsPointDownward(t *testing.T) {
	t.Parallel()
	rank := map[string]int{}
	for i, names := range layers() {
		for _, name := range names {
			rank[name] = i
		}
	}
	seen := map[string]bool{}
	eachFile(t, func(pkg, path string, file *ast.File) {
		seen[pkg] = true
		from, known := rank[pkg]
		if !known {
			t.Errorf("%s: package %s stands in no layer; give it one here and in docs/design.md", path, pkg)
			return
		}
		for _, imported := range imports(file) {
			to, ok := strings.CutPrefix(imported, "tunebench/internal/")
			if ok && rank[to] >= from {
				t.Errorf("%s: %s (layer %d) imports %s (layer %d); imports point downward only", path, pkg, from, to, rank[to])
			}
		}
	})
	for pkg := range rank {
		if !seen[pkg] {
			t.Errorf("layer %d names package %s, which does not exist", rank[pkg], pkg)
		}
	}
}

// TestReachingOutHasOwners finds the uses of processes, YAML, the network and the
// environment outside the packages that own them.
func TestReachingOutHasOwners(t *testing.T) {
	t.Parallel()
	eachFile(t, func(pkg, path string, file *ast.File) {
		for _, used := range append(imports(file), selectors(file)...) {
			allowed, owned := owners()[used]
			if owned && !slices.Contains(allowed, pkg) {
				t.Errorf("%s: package %s uses %s, which belongs to %v", path, pkg, used, allowed)
			}
		}
	})
}

// TestTheLayerTestSeesOffences holds the two tests above to a file that breaks the rules.
func TestTheLayerTestSeesOffences(t *testing.T) {
	t.Parallel()
	src := "package unit\nimport (\n\"os\"\n\"os/exec\"\n\"tunebench/internal/cli\"\n)\nvar _ = exec.Command\nfunc f() { os.Exit(1) }\nvar _ = cli.Main\n"
	file, err := parser.ParseFile(token.NewFileSet(), "unit.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := imports(file); !slices.Contains(got, "os/exec") || !slices.Contains(got, "tunebench/internal/cli") {
		t.Errorf("imports = %v, want os/exec and tunebench/internal/cli among them", got)
	}
	if got := selectors(file); !slices.Contains(got, "os.Exit") {
		t.Errorf("selectors = %v, want os.Exit among them", got)
	}
}

// eachFile calls f with every Go file below internal/ that is not a test.
func eachFile(t *testing.T, f func(pkg, path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel("internal", filepath.Dir(path))
		if err != nil {
			return err
		}
		f(filepath.ToSlash(pkg), path, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func imports(file *ast.File) []string {
	var paths []string
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// selectors returns the uses of names of imported packages as path.Name.
func selectors(file *ast.File) []string {
	byName := map[string]string{}
	for _, path := range imports(file) {
		byName[filepath.Base(path)] = path
	}
	var used []string
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if ident, ok := sel.X.(*ast.Ident); ok && byName[ident.Name] != "" {
			used = append(used, byName[ident.Name]+"."+sel.Sel.Name)
		}
		return true
	})
	return used
}
