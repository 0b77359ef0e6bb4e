package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/table"
)

var update = flag.Bool("update", false, "write the golden files anew")

func gathered(t *testing.T) table.Table {
	t.Helper()
	g, err := table.Gather([]string{filepath.Join("testdata", "results")}, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update accepts it)\n%s", path, diff)
	}
}

func TestTheTerminalTableIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 160} {
		var out bytes.Buffer
		if err := Terminal(&out, gathered(t), width); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("terminal_%d.golden", width), out.Bytes())
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d runes are too many for %d: %s", n, width, line)
			}
		}
	}
}

func TestTheFilesOfAReportAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths, err := Write(dir, gathered(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, RawSummaryFile), filepath.Join(dir, BenchmarksFile), filepath.Join(dir, MarkdownFile)}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-want +got)\n%s", diff)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Base(path)+".golden", data)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != len(paths) {
		t.Errorf("the folder holds %v, want the %d files only", entries, len(paths))
	}
}

func TestAReportOfNothingSaysSo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Terminal(&out, table.Table{}, 80); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"terminal": out.String(), "markdown": string(Markdown(table.Table{}))} {
		if !strings.Contains(text, "0 experiments: 0 ok") {
			t.Errorf("%s does not count to 0:\n%s", name, text)
		}
	}
	data, err := Benchmarks(table.Table{})
	if err != nil {
		t.Fatal(err)
	}
	index := IndexColumns()
	slices.Sort(index)
	if diff := cmp.Diff([][]string{index}, readCSV(t, data)); diff != "" {
		t.Errorf("benchmarks (-want +got)\n%s", diff)
	}
}

// B21 and B28: a failed experiment has a row among all and none among the compared.
func TestOnlyWhatEndedOKIsCompared(t *testing.T) {
	t.Parallel()
	g := gathered(t)
	raw, err := RawSummary(g)
	if err != nil {
		t.Fatal(err)
	}
	compared, err := Benchmarks(g)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(readCSV(t, raw)) - 1; n != len(g.Rows) {
		t.Errorf("%d rows in the summary, want all %d", n, len(g.Rows))
	}
	if n := len(readCSV(t, compared)) - 1; n != 3 {
		t.Errorf("%d rows among the compared, want the 3 that ended ok", n)
	}
}

func TestSettingsOfOneValueLeaveAndResultsStay(t *testing.T) {
	t.Parallel()
	row := func(setting string, loss float64) table.Row {
		return table.Row{Status: outcome.OK, Cells: []table.Cell{
			{Name: "seed", Kind: table.Setting, Text: "7"},
			{Name: "learning_rate", Kind: table.Setting, Text: setting},
			{Name: "epoch", Kind: table.Result, Number: true, Value: metric.Of(0.07)},
			{Name: "train_mem_gpu_alloc_delta", Kind: table.Result, Number: true, Value: metric.Of(loss)},
			{Name: "train_loss", Kind: table.Result, Number: true, Value: metric.Of(loss)},
			{Name: "init_memory", Kind: table.Result, Number: true, Value: metric.Missing("never")},
		}}
	}
	data, err := Benchmarks(table.Table{Rows: []table.Row{row("2e-5", 1), row("2e-4", 2)}})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"epoch", "framework_config", "init_memory", "learning_rate", "model_name_or_path", "num_gpus", "peft_method", "per_device_train_batch_size", "torch_dtype", "train_loss"},
		{"0.07", "", "", "2e-5", "", "", "", "", "", "1"},
		{"0.07", "", "", "2e-4", "", "", "", "", "", "2"},
	}
	if diff := cmp.Diff(want, readCSV(t, data)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRowsOfSeveralFoldersNameTheirs(t *testing.T) {
	t.Parallel()
	g := table.Table{Rows: []table.Row{
		{Experiment: "exp_0", Dir: "a/exp_0", Status: outcome.OK}, {Experiment: "exp_0", Dir: "b/exp_0", Status: outcome.OK},
	}}
	text := string(Markdown(g))
	for _, want := range []string{"a/exp_0", "b/exp_0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not named in\n%s", want, text)
		}
	}
}

func TestNumbersForTheEye(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ got, want string }{
		"20 GiB":                               {gibibytes(20 << 30), "20.00"},
		"a little memory is not shown as none": {gibibytes(1 << 20), "<0.01"},
		"none is none":                         {gibibytes(0), "0.00"},
		"thousands of tokens":                  {speed(3215.7), "3216"},
		"tens of tokens":                       {speed(12.345), "12.3"},
		"few tokens":                           {speed(0.01234), "0.0123"},
		"a usual loss":                         {loss(1.79073961), "1.7907"},
		"a tiny loss is not shown as none":     {loss(0.00001234), "1.234e-05"},
		"a loss that blew up":                  {loss(123456), "1.235e+05"},
		"a name that fits":                     {shorten("abcdefgh", 8), "abcdefgh"},
		"a name that loses its middle":         {shorten("abcdefghij", 8), "abc..hij"},
		"a name in very little room":           {shorten("abcdefghij", 3), "abc"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
		})
	}
}

func TestModelsAreShortenedOnlyAsFarAsTheyDiffer(t *testing.T) {
	t.Parallel()
	all := []line{{model: "a/m"}, {model: "b/m"}, {model: "a/m"}, {model: "c/n"}, {model: "-"}}
	want := map[string]string{"a/m": "a/m", "b/m": "b/m", "c/n": "n", "-": "-"}
	if diff := cmp.Diff(want, shortModels(all)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMarkupInTextIsNoMarkup(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ got, want string }{
		"a bar in a cell":             {escape("a|b"), `a\|b`},
		"line ends in a cell":         {escape("a\r\nb\n"), "a b"},
		"an HTML tag in a cell":       {escape("<b>x"), "&lt;b>x"},
		"an underscore in a name":     {escape("gpt_big"), "gpt_big"},
		"underscores around a name":   {escape("__init__"), `\_\_init\_\_`},
		"stars and backticks":         {escape("*a* `b`"), "\\*a\\* \\`b\\`"},
		"a text without backticks":    {code("a"), "`a`"},
		"a text with a backtick":      {code("a `b`"), "`` a `b` ``"},
		"an escape sequence for eyes": {plain("a\x1b[31mb"), "a [31mb"},
		"bytes that are not UTF-8":    {plain("caf\xe9"), "caf\uFFFD"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.got != tt.want {
				t.Errorf("got %q, want %q", tt.got, tt.want)
			}
		})
	}
}

func TestManyNotesAreCutWithAWordOnTheRest(t *testing.T) {
	t.Parallel()
	got := noteText([]string{"a", "b", "c", "d", "e", "f"})
	if want := "a; b; c; d; 2 more in raw_summary.csv"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var f footnotes
	if a, b, c := f.mark([]string{"x"}), f.mark(nil), f.mark([]string{"x"}); a != "1" || b != "" || c != "1" {
		t.Errorf("marks %q %q %q, want 1, none and 1", a, b, c)
	}
}

func TestAMarkdownTableKeepsItsColumnsWhateverTheTextsAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		row := table.Row{Experiment: text.Draw(t, "experiment"), Status: outcome.Error, Reason: text.Draw(t, "reason"), Cells: []table.Cell{
			{Name: "framework_config", Kind: table.Setting, Text: text.Draw(t, "framework")},
			{Name: "model_name_or_path", Kind: table.Setting, Text: text.Draw(t, "model")},
		}}
		rows := 0
		for line := range strings.Lines(string(Markdown(table.Table{Rows: []table.Row{row}}))) {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			rows++
			bare := strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, "")
			if n := strings.Count(bare, "|"); n != 10 {
				t.Fatalf("%d bars, want 10: %s", n, line)
			}
		}
		if rows != 3 {
			t.Fatalf("%d lines of a table, want 3", rows)
		}
	})
}
