package trainer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/metric"
)

func TestTheStepInATail(t *testing.T) {
	t.Parallel()
	loss := func(text string, n float64) metric.Value {
		v := metric.Of(n)
		v.Text = text
		return v
	}
	none := metric.Missing("no loss was printed lately")
	tests := []struct {
		name, tail string
		want       Step
		ok         bool
	}{
		{"a bar", " 85%|████████▌ | 17/20 [00:17<00:02, 1.14it/s]", Step{17, 20, none}, true},
		{"the last of several", "\r  5%|▌         | 1/20 [00:03<01:02,  3.27s/it]\r 10%|█         | 2/20 [00:04<00:33,  1.85s/it]", Step{2, 20, none}, true},
		{"wiped by blanks", " 50%|█████     | 10/20 [00:10<00:08,  1.12it/s]\r          \r\r 50%|█████     | 10/20 [00:10<00:08,  1.12it/s]\r", Step{10, 20, none}, true},
		{"a bar that is not whole yet", "\r 10%|#         | 2/20 [00:04<00:33,  1.85s/it]\r 15%|#5        | 3/", Step{2, 20, none}, true},
		{"before the first step", "\r  0%|          | 0/20 [00:00<?, ?it/s]", Step{0, 20, none}, true},
		{"behind a rank", "[rank0]:  15%|#5        | 3/20 [00:04<00:33,  1.85s/it]", Step{3, 20, none}, true},
		{"behind a task number", "0:  15%|#5        | 3/20 [00:04<00:33,  1.85s/it]", Step{3, 20, none}, true},
		{"right before a dict", "100%|##########| 100/100 [03:11<00:00,  1.91s/it]{'train_runtime': 1.0}", Step{100, 100, none}, true},
		{"shards being loaded", "Loading checkpoint shards:  43%|####3     | 3/7 [00:31<00:41, 10.20s/it]", Step{Loss: none}, false},
		{"a data set being mapped", "\rMap (num_proc=4):  43%|####3     | 300/700 [00:31<00:41, 10.20 examples/s]", Step{Loss: none}, false},
		{"a described bar whose label ends in a number", "Epoch 1:  43%|####3     | 3/7 [00:31<00:41, 10.20s/it]", Step{Loss: none}, false},
		{"a described bar after the training's", "\r 10%|#         | 2/20 [00:04<00:33,  1.85s/it]\nSaving:  43%|####3     | 3/7 [00:31<00:41, 10.20s/it]", Step{2, 20, none}, true},
		{"the bar of an evaluation, drawn below", "\r 10%|#         | 2/20 [00:04<00:33,  1.85s/it]\n\r 50%|#####     | 4/8 [00:01<00:01,  4.0it/s]\x1b[A", Step{2, 20, none}, true},
		{"the loss of the last step", "{'loss': '2.31', 'epoch': '0.05'}\n{'loss': '2.28', 'epoch': '0.1'}\n", Step{0, 0, loss("2.28", 2.28)}, true},
		{"a last step that is cut off", "{'loss': 2.31, 'epoch': 0.05}\n{'loss': 2.2", Step{0, 0, loss("2.31", 2.31)}, true},
		{"bar and loss in one file", "\r 10%|#         | 2/20 [00:04<00:33,  1.85s/it]{'loss': 2.5}\r 10%|#  | 2/20 [00:04<00:33,  1.85s/it]", Step{2, 20, loss("2.5", 2.5)}, true},
		{"a loss that is none", "{'loss': nan}", Step{0, 0, metric.Value{Gap: "not finite: NaN", Text: "nan"}}, true},
		{"nothing", "", Step{Loss: none}, false},
		{"more steps than there are", "  0%|  | 21/20 [", Step{Loss: none}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, ok := LastStep([]byte(test.tail))
			if diff := cmp.Diff(test.want, got); diff != "" || ok != test.ok {
				t.Errorf("ok %v, want %v (-want +got):\n%s", ok, test.ok, diff)
			}
		})
	}
}

func FuzzLastStep(f *testing.F) {
	f.Add([]byte("\r 85%|████████▌ | 17/20 [00:17<00:02, 1.14it/s]"))
	f.Add([]byte("\x96\x88 | 1/7 [00\r 10%|# | 2/20 [{'loss': '1.5'}"))
	f.Add([]byte("Loading:  43%|####3     | 3/7 [00:31<00:41]{'loss': {'loss': [("))
	f.Fuzz(func(t *testing.T, tail []byte) {
		s, ok := LastStep(tail)
		if s.Step < 0 || s.Step > s.Total {
			t.Errorf("step %d of %d", s.Step, s.Total)
		}
		if !ok && (s.Total != 0 || s.Loss.Known()) {
			t.Errorf("%+v, and nothing was found", s)
		}
		const next = "\n 50%|#####     | 7/14 [00:01<00:01,  1.0it/s]\n"
		after, ok := LastStep(append(slices.Clip(tail), next...))
		if !ok || after.Step != 7 || after.Total != 14 {
			t.Errorf("a bar at the end was read as %+v", after)
		}
	})
}

func TestLinesAreSplitAtBothSeparators(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"no end", "a", []string{"a"}},
		{"both kinds", "a\rb\nc\r\nd\n", []string{"a", "b", "c", "d"}},
		{"blank lines are lines", "a\n\nb\r\r\nc", []string{"a", "", "b", "", "c"}},
		{"bytes that are no text", "\xffa\n\xe2\x96", []string{"\uFFFDa", "\uFFFD"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			if err := EachLine(strings.NewReader(test.text), func(l string) { got = append(got, l) }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongLineKeepsItsEnd(t *testing.T) {
	t.Parallel()
	var got []string
	text := strings.Repeat("a", 5*maxLine) + "end"
	if err := EachLine(strings.NewReader(text), func(l string) { got = append(got, l) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || len(got[0]) != maxLine || !strings.HasSuffix(got[0], "aend") {
		t.Errorf("%d lines, want one of %d bytes that ends as the text does", len(got), maxLine)
	}
}
