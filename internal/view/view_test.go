package view

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tunebench/internal/memory"
	"tunebench/internal/metric"
	"tunebench/internal/outcome"
	"tunebench/internal/table"
)

// row is an experiment with settings, as name, value, name, value.
func row(name string, settings ...string) table.Row {
	r := table.Row{Experiment: name, Dir: "results/" + name, Status: outcome.OK}
	r.Cells = append(r.Cells, table.Cell{Name: "framework_config", Kind: table.Setting, Text: "none"}, table.Cell{Name: "experiment", Text: name})
	for i := 0; i < len(settings); i += 2 {
		r.Cells = append(r.Cells, table.Cell{Name: settings[i], Kind: table.Setting, Text: settings[i+1]})
	}
	return r
}

func with(r table.Row, name string, v metric.Value) table.Row {
	r.Cells = append(r.Cells, table.Cell{Name: name, Kind: table.Result, Number: true, Value: v})
	return r
}

func rowNames(t table.Table) string {
	var names []string
	for _, r := range t.Rows {
		names = append(names, r.Experiment)
	}
	return strings.Join(names, " ")
}

func TestRowsAreChosenByTheirValues(t *testing.T) {
	t.Parallel()
	all := table.Table{Rows: []table.Row{
		row("exp_0", "peft_method", "lora", "learning_rate", "2e-5", "target_modules", `["q_proj", "v_proj"]`),
		row("exp_1", "peft_method", "none", "learning_rate", "0.00002", "model_name_or_path", "mistralai/Mistral-7B"),
		row("exp_2", "peft_method", "lora", "learning_rate", "1e-4", "model_name_or_path", "TheBloke/Mistral-7B-GPTQ"),
	}}
	for where, want := range map[string]string{
		"peft_method=lora":                         "exp_0 exp_2",
		"peft_method!=lora":                        "exp_1",
		"learning_rate=2e-5":                       "exp_0 exp_1", // one number, two spellings
		"model=*Mistral*":                          "exp_1 exp_2",
		"model=*GPTQ":                              "exp_2",
		"model=":                                   "exp_0",
		`target_modules=["q_proj", "v_proj"]`:      "exp_0",
		"peft_method=lor":                          "",
		"peft_method=lora;learning_rate=1e-4":      "exp_2",
		"peft_method != lora":                      "exp_1",
		"experiment=exp_1":                         "exp_1",
		"target_modules=*q_proj*;peft_method=*":    "exp_0",
		"target_modules!=*;peft_method=lora":       "",
		"peft_method=none;learning_rate=0.0000200": "exp_1",
	} {
		var c Choice
		for _, text := range strings.Split(where, ";") {
			w, err := ParseCondition(text)
			if err != nil {
				t.Fatal(err)
			}
			c.Where = append(c.Where, w)
		}
		got, err := c.Choose(all)
		if err != nil || rowNames(got) != want {
			t.Errorf("%s: %q, %v; want %q", where, rowNames(got), err, want)
		}
	}
}

func TestRowsAreSortedAndWhatIsNotKnownComesLast(t *testing.T) {
	t.Parallel()
	all := table.Table{Rows: []table.Row{
		with(row("exp_10", "batch", "x", "per_device_train_batch_size", "16", "peft_method", "lora"), "train_loss", metric.Of(2)),
		with(row("exp_9", "per_device_train_batch_size", "8", "peft_method", "none"), "train_loss", metric.Missing("it failed")),
		with(row("exp_2", "per_device_train_batch_size", "8", "peft_method", "lora"), "train_loss", metric.Of(1.5)),
	}}
	for keys, want := range map[string]string{
		"":                 "exp_10 exp_9 exp_2",
		"batch":            "exp_9 exp_2 exp_10",
		"-batch":           "exp_10 exp_9 exp_2",
		"loss":             "exp_2 exp_10 exp_9",
		"-train_loss":      "exp_10 exp_2 exp_9",
		"experiment":       "exp_2 exp_9 exp_10",
		"method,-loss":     "exp_10 exp_2 exp_9",
		"batch,experiment": "exp_2 exp_9 exp_10",
	} {
		var c Choice
		for _, text := range strings.FieldsFunc(keys, func(r rune) bool { return r == ',' }) {
			k, err := ParseKey(text)
			if err != nil {
				t.Fatal(err)
			}
			c.Sort = append(c.Sort, k)
		}
		got, err := c.Choose(all)
		if err != nil || rowNames(got) != want {
			t.Errorf("sorted by %q: %q, %v; want %q", keys, rowNames(got), err, want)
		}
	}
}

func TestTheMemoryToSortByIsTheOneThatIsShown(t *testing.T) {
	t.Parallel()
	outside := with(row("exp_0", "num_gpus", "1"), memory.NvidiaReserved, metric.Of(30_000))
	inside := with(row("exp_1", "num_gpus", "1"), memory.TorchPeak, metric.Of(20<<30))
	host := with(row("exp_2", "num_gpus", "0"), memory.HostPeakPSS, metric.Of(1<<30))
	got, err := Choice{Sort: []Key{{Column: "memory"}}}.Choose(table.Table{Rows: []table.Row{outside, inside, host}})
	if err != nil || rowNames(got) != "exp_2 exp_1 exp_0" {
		t.Errorf("%q, %v; want the smallest first", rowNames(got), err)
	}
}

func TestAColumnThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	all := table.Table{Rows: []table.Row{row("exp_0", "peft_method", "lora")}}
	for name, err := range map[string]error{
		"peft_metod": chooseErr(Choice{Where: []Condition{{Column: "peft_metod"}}}, all),
		"lr":         chooseErr(Choice{Sort: []Key{{Column: "lr"}}}, all),
		"mem_*":      CheckColumns(all, []string{"peft*", "mem_*"}),
	} {
		var unknown *UnknownColumn
		if !errors.As(err, &unknown) || unknown.Name != name || len(unknown.Known) == 0 {
			t.Errorf("error %v, want one of the unknown column %s", err, name)
		}
	}
	if err := CheckColumns(all, []string{"peft*", "experiment"}); err != nil {
		t.Errorf("columns that are there: %v", err)
	}
}

func chooseErr(c Choice, t table.Table) error {
	_, err := c.Choose(t)
	return err
}

func TestWhatIsNoConditionOrKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "peft_method", "=lora", "!=lora", " =x"} {
		if w, err := ParseCondition(text); err == nil {
			t.Errorf("%q was read as %+v", text, w)
		}
	}
	for _, text := range []string{"", "-", " "} {
		if k, err := ParseKey(text); err == nil {
			t.Errorf("%q was read as %+v", text, k)
		}
	}
}

func TestAStarStandsForAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab/\[\]?]{0,4}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		x, y := word.Draw(t, "x"), word.Draw(t, "y")
		if !star(a+"*"+b+"*"+c, a+x+b+y+c) {
			t.Fatalf("%q does not meet %q", a+"*"+b+"*"+c, a+x+b+y+c)
		}
		if star(a, b) != (a == b) {
			t.Fatalf("%q meets %q though there is no star", a, b)
		}
	})
	for _, tc := range []struct{ pattern, text string }{{"a*a", "a"}, {"*b", "bc"}, {"a*b*c", "acb"}, {"ab*ba", "aba"}} {
		if star(tc.pattern, tc.text) {
			t.Errorf("%q meets %q", tc.pattern, tc.text)
		}
	}
}

func TestUnitsScaleAndALittleIsNotNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		unit  string
		bytes float64
		want  string
	}{
		{"GiB", 8 << 30, "8.00"}, {"", 8 << 30, "8.00"}, {"GB", 8 << 30, "8.59"}, {"MiB", 8 << 30, "8192"}, {"B", 8, "8"}, {"mib", 1 << 20, "1"},
		{"GiB", 1 << 10, "<0.01"}, {"MiB", 1 << 10, "<1"}, {"GiB", 0, "0.00"}, {"GiB", -3 << 30, "-3.00"},
	} {
		u, err := ParseUnit(tc.unit)
		if err != nil || u.Format(tc.bytes) != tc.want {
			t.Errorf("%v bytes in %q = %q, %v; want %q", tc.bytes, tc.unit, u.Format(tc.bytes), err, tc.want)
		}
	}
	for _, text := range []string{"TiB", "bytes", "G"} {
		if _, err := ParseUnit(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want one that names it", text, err)
		}
	}
}

func TestNamesTellRowsApart(t *testing.T) {
	t.Parallel()
	at := func(dirs ...string) table.Table {
		var t table.Table
		for _, dir := range dirs {
			t.Rows = append(t.Rows, table.Row{Experiment: dir[strings.LastIndexByte(dir, '/')+1:], Dir: dir})
		}
		return t
	}
	for _, tc := range []struct {
		t    table.Table
		want []string
	}{
		{at("r/exp_0", "r/exp_1"), []string{"exp_0", "exp_1"}},
		{at("r/exp_0", "s/exp_0"), []string{"r/exp_0", "s/exp_0"}},
		{at("monday/r/exp_0", "tuesday/r/exp_0"), []string{"monday/r/exp_0", "tuesday/r/exp_0"}},
		{at("r/exp_0", "r/exp_0"), []string{"r/exp_0", "r/exp_0 (2)"}},
		{at(), []string{}},
	} {
		if diff := cmp.Diff(tc.want, Names(tc.t)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestOnlySettingsThatTellRowsApartStandBesideThem(t *testing.T) {
	t.Parallel()
	scenario := func(r table.Row, name string) table.Row {
		r.Cells = append(r.Cells, table.Cell{Name: "scenario", Text: name})
		return r
	}
	for name, tc := range map[string]struct {
		rows []table.Row
		want []string
	}{
		"the method does": {[]table.Row{row("exp_0", "peft_method", "lora", "r", "8"), row("exp_1", "peft_method", "none")}, nil},
		"a setting does":  {[]table.Row{row("exp_0", "r", "8"), row("exp_1", "r", "16")}, []string{"r"}},
		"the scenario, where it makes fewer columns": {[]table.Row{scenario(row("exp_0", "r", "8", "s", "1"), "a"), scenario(row("exp_1", "r", "16", "s", "1"), "b"),
			scenario(row("exp_2", "r", "8", "s", "2"), "c")}, []string{"scenario"}},
		"no scenario, where a setting does":  {[]table.Row{scenario(row("exp_0", "r", "8"), "a"), scenario(row("exp_1", "r", "16"), "b")}, []string{"r"}},
		"of two that say the same the first": {[]table.Row{row("exp_0", "r", "8", "s", "1"), row("exp_1", "r", "16", "s", "2")}, []string{"r"}},
		"one that is not set differs":        {[]table.Row{row("exp_0", "r", "8"), row("exp_1")}, []string{"r"}},
		"repeats are alike":                  {[]table.Row{row("exp_0", "r", "8"), row("exp_1", "r", "8")}, nil},
		"a folder without a description":     {[]table.Row{row("exp_0", "r", "8"), {Experiment: "exp_1"}}, nil},
	} {
		if diff := cmp.Diff(tc.want, Telling(table.Table{Rows: tc.rows})); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestAMethodIsNamedAsFarAsItIsKnown(t *testing.T) {
	t.Parallel()
	framed := row("exp_0", "peft_method", "lora")
	framed.Cells[0].Text = "fast-kernels"
	for want, r := range map[string]table.Row{
		"full": row("exp_0"), "lora": row("exp_0", "peft_method", "lora"), "lora/fast-kernels": framed, "": {Experiment: "exp_0"},
	} {
		if got := Method(r); got != want {
			t.Errorf("method %q, want %q", got, want)
		}
	}
	if got := Method(row("exp_0", "peft_method", "None")); got != "full" {
		t.Errorf("None is %q, want full", got)
	}
}

func TestSummaryCountsEveryEnd(t *testing.T) {
	t.Parallel()
	var rows []table.Row
	for _, status := range []outcome.Status{outcome.Running, outcome.OOM, outcome.OK, "melted", outcome.OOM} {
		rows = append(rows, table.Row{Status: status})
	}
	if got, want := Summary(table.Table{Rows: rows}), "5 experiments: 1 ok, 2 OOM, 1 running, 1 MELTED"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
