package builtin

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNumbersAreSpelledAsPythonSpellsThem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value any
		want  string
	}{
		{0.0, "0.0"}, {1.0, "1.0"}, {-2.5, "-2.5"}, {2e-05, "2e-05"}, {0.0001, "0.0001"},
		{0.00011, "0.00011"}, {1.5e-7, "1.5e-07"}, {123456789.0, "123456789.0"},
		{1e16, "1e+16"}, {9007199254740993.0, "9007199254740992.0"}, {0.30000000000000004, "0.30000000000000004"},
		{math.NaN(), "nan"}, {math.Inf(1), "inf"}, {math.Inf(-1), "-inf"},
		{int64(14537991168), "14537991168"}, {int64(-5), "-5"},
	} {
		if got := python(test.value); got != test.want {
			t.Errorf("%v is spelled %q, want %q", test.value, got, test.want)
		}
	}
}

func TestAnEntryKeepsItsOrderInBothForms(t *testing.T) {
	t.Parallel()
	e := entry{{"z", 2e-05}, {"a", int64(3)}, {"n", math.NaN()}}
	if diff := cmp.Diff("{'z': 2e-05, 'a': 3, 'n': nan}", e.String()); diff != "" {
		t.Errorf("Python (-want +got):\n%s", diff)
	}
	content, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"z":0.00002,"a":3,"n":"nan"}`, string(content)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestTheBarLooksLikeTqdm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		step, total int
		elapsed     time.Duration
		perStep     float64
		want        string
	}{
		{0, 20, 0, 0, "  0%|          | 0/20 [00:00<?, ?it/s]"},
		{1, 20, 3270 * time.Millisecond, 3.27, "  5%|▌         | 1/20 [00:03<01:02,  3.27s/it]"},
		{17, 20, 17 * time.Second, 1 / 1.14, " 85%|████████▌ | 17/20 [00:17<00:02,  1.14it/s]"},
		{20, 20, 20 * time.Second, 0.01, "100%|██████████| 20/20 [00:20<00:00, 100.00it/s]"},
		{1, 3, 3725 * time.Second, 3725, " 33%|███▎      | 1/3 [1:02:05<2:04:10, 3725.00s/it]"},
	} {
		if diff := cmp.Diff(test.want, bar(test.step, test.total, test.elapsed, test.perStep)); diff != "" {
			t.Errorf("bar (-want +got):\n%s", diff)
		}
	}
}

func TestTheLearningRateFollowsTheSchedule(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, schedule      string
		warmup, step, steps int
		want                float64
	}{
		{"warmup begins at zero", "linear", 10, 0, 100, 0},
		{"warmup is half way up", "linear", 10, 5, 100, 1},
		{"the peak follows the warmup", "linear", 10, 10, 100, 2},
		{"then it falls in a line", "linear", 10, 55, 100, 1},
		{"the last step is not zero", "linear", 0, 19, 20, 0.1},
		{"a run that ends in its warmup", "linear", 10, 4, 5, 0.8},
		{"constant", "constant", 0, 19, 20, 2},
		{"constant after a warmup", "constant_with_warmup", 4, 1, 20, 0.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := options{learningRate: 2, schedule: test.schedule, warmupSteps: test.warmup}
			if got := rateAt(o, test.step, test.steps); math.Abs(got-test.want) > 1e-12 {
				t.Errorf("rate %v, want %v", got, test.want)
			}
		})
	}
}

func TestStepsArePlannedAsTheTrainerPlansThem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		o       options
		samples int
		want    int
	}{
		{"max_steps wins", options{maxSteps: 5, epochs: 3, batch: 1, accumulation: 1}, 100, 5},
		{"epochs of whole batches", options{epochs: 2, batch: 10, accumulation: 1}, 100, 20},
		{"the last batch is not full", options{epochs: 1, batch: 8, accumulation: 1}, 100, 13},
		{"accumulation", options{epochs: 1, batch: 10, accumulation: 4}, 100, 2},
		{"at least one step an epoch", options{epochs: 3, batch: 10, accumulation: 40}, 100, 3},
		{"part of an epoch", options{epochs: 0.25, batch: 10, accumulation: 1}, 100, 3},
		{"no epochs", options{batch: 10, accumulation: 1}, 100, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := plannedSteps(test.o, test.samples); got != test.want {
				t.Errorf("%d steps, want %d", got, test.want)
			}
		})
	}
}
