package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
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
	"tunebench/internal/view"
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
		if err := Terminal(&out, gathered(t), width, Options{}); err != nil {
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
	g := gathered(t)
	golden(t, RawSummaryFile+".golden", text(t, func(w io.Writer) error { return RawSummary(w, g) }))
	golden(t, BenchmarksFile+".golden", text(t, func(w io.Writer) error { return Benchmarks(w, g, Options{}) }))
	golden(t, MarkdownFile+".golden", Markdown(g, Options{}))
}

// text is what a format writes.
func text(t *testing.T, format func(io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := format(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAFileIsWrittenWholeOrLeftAsItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "report.md")
	write := func(text string, end error) error {
		return WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, end)
		})
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the format broke")
	if err := write("half", broken); !errors.Is(err, broken) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the file and the cause", err)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "first" {
		t.Errorf("the file holds %q, %v; want what was there", data, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder holds %v, want the file only", entries)
	}
}

func TestAReportOfNothingSaysSo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Terminal(&out, table.Table{}, 80, Options{}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"terminal": out.String(), "markdown": string(Markdown(table.Table{}, Options{}))} {
		if !strings.Contains(text, "0 experiments: 0 ok") {
			t.Errorf("%s does not count to 0:\n%s", name, text)
		}
	}
	data := text(t, func(w io.Writer) error { return Benchmarks(w, table.Table{}, Options{}) })
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
	raw := text(t, func(w io.Writer) error { return RawSummary(w, g) })
	compared := text(t, func(w io.Writer) error { return Benchmarks(w, g, Options{}) })
	all := text(t, func(w io.Writer) error { return Benchmarks(w, g, Options{WithFailed: true}) })
	if n := len(readCSV(t, raw)) - 1; n != len(g.Rows) {
		t.Errorf("%d rows in the summary, want all %d", n, len(g.Rows))
	}
	if n := len(readCSV(t, compared)) - 1; n != 3 {
		t.Errorf("%d rows among the compared, want the 3 that ended ok", n)
	}
	if rows := readCSV(t, all); len(rows)-1 != len(g.Rows) || !slices.Contains(rows[0], "status") {
		t.Errorf("with those that failed: %d rows under %q, want all %d with their status", len(rows)-1, rows[0], len(g.Rows))
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
	two := table.Table{Rows: []table.Row{row("2e-5", 1), row("2e-4", 2)}}
	data := text(t, func(w io.Writer) error { return Benchmarks(w, two, Options{}) })
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
	text := string(Markdown(g, Options{}))
	for _, want := range []string{"a/exp_0", "b/exp_0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not named in\n%s", want, text)
		}
	}
}

func TestNotesDoNotPushTheTableOutOfSight(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int]string{17: "[17] cause 16\n", 18: "[17] to [18]: see report.md or the column notes of raw_summary.csv\n"} {
		var g table.Table
		for i := range rows {
			g.Rows = append(g.Rows, table.Row{Experiment: fmt.Sprintf("exp_%d", i), Dir: fmt.Sprintf("r/exp_%d", i), Status: outcome.Error, Reason: fmt.Sprintf("cause %d", i)})
		}
		var out bytes.Buffer
		if err := Terminal(&out, g, 80, Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), want) || strings.Contains(out.String(), "cause 17") {
			t.Errorf("%d notes end with %q, want %q", rows, out.String(), want)
		}
	}
}

func TestKeptAndDroppedColumns(t *testing.T) {
	t.Parallel()
	row := func(rate string) table.Row {
		return table.Row{Experiment: "exp_" + rate, Dir: "r/exp_" + rate, Status: outcome.OK, Cells: []table.Cell{
			{Name: "framework_config", Kind: table.Setting, Text: "none"},
			{Name: "seed", Kind: table.Setting, Text: "7"},
			{Name: "learning_rate", Kind: table.Setting, Text: rate},
			{Name: "train_loss", Kind: table.Result, Number: true, Value: metric.Of(2)},
		}}
	}
	g := table.Table{Rows: []table.Row{row("1"), row("2")}}
	o := Options{Keep: []string{"see*"}, Drop: []string{"train_loss", "torch_dtype"}}
	data := text(t, func(w io.Writer) error { return Benchmarks(w, g, o) })
	want := []string{"framework_config", "learning_rate", "model_name_or_path", "num_gpus", "peft_method", "per_device_train_batch_size", "seed"}
	if diff := cmp.Diff(want, readCSV(t, data)[0]); diff != "" {
		t.Errorf("benchmarks (-want +got)\n%s", diff)
	}
	var terminal bytes.Buffer
	if err := Terminal(&terminal, g, 120, o); err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{"terminal": terminal.String(), "markdown": string(Markdown(g, o))} {
		if !strings.Contains(table, "learning_rate") || !strings.Contains(table, "seed") || strings.Contains(table, "loss  ") || strings.Contains(table, "`seed") {
			t.Errorf("%s has not the columns learning_rate and seed, or still the loss:\n%s", name, table)
		}
	}
}

func TestTheResultsFolderIsAColumnWhereThereAreSeveral(t *testing.T) {
	t.Parallel()
	row := func(results string) table.Row {
		return table.Row{Experiment: "exp_0", Dir: results + "/exp_0", Results: results, Status: outcome.OK, Cells: []table.Cell{
			{Name: "experiment", Text: "exp_0"}, {Name: "results", Kind: table.Setting, Text: "mine"}, {Name: "framework_config", Kind: table.Setting, Text: "none"},
		}}
	}
	for name, tc := range map[string]struct {
		rows []table.Row
		want string // of the column in each row
	}{
		"two folders": {[]table.Row{row("monday"), row("tuesday")}, "monday tuesday"},
		"one folder, whose setting of that name is left alone": {[]table.Row{row("monday"), row("monday")}, "mine mine"},
	} {
		g := table.Table{Rows: tc.rows}
		for file, data := range map[string][]byte{
			"raw":        text(t, func(w io.Writer) error { return RawSummary(w, g) }),
			"benchmarks": text(t, func(w io.Writer) error { return Benchmarks(w, g, Options{Keep: []string{"results"}}) }),
		} {
			cells := readCSV(t, data)
			at := slices.Index(cells[0], "results")
			if at < 0 || slices.Contains(cells[0][at+1:], "results") {
				t.Fatalf("%s, %s: columns %q", name, file, cells[0])
			}
			if got := cells[1][at] + " " + cells[2][at]; got != tc.want {
				t.Errorf("%s, %s: %q, want %q", name, file, got, tc.want)
			}
		}
	}
}

func TestNumbersForTheEye(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ got, want string }{
		"20 GiB":                               {view.Unit{}.Format(20 << 30), "20.00"},
		"a little memory is not shown as none": {view.Unit{}.Format(1 << 20), "<0.01"},
		"none is none":                         {view.Unit{}.Format(0), "0.00"},
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
		for line := range strings.Lines(string(Markdown(table.Table{Rows: []table.Row{row}}, Options{}))) {
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
