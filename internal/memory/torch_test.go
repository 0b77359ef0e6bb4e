package memory

import (
	"strings"
	"testing"

	"tunebench/internal/metric"
)

// deltas names the five metrics in the order of the stages.
func deltas(before, initAlloc, initPeaked, trainAlloc, trainPeaked any) metric.Set {
	var s metric.Set
	for i, v := range []any{before, initAlloc, initPeaked, trainAlloc, trainPeaked} {
		key := []string{keyBefore, keyInitAlloc, keyInitPeaked, keyTrainAlloc, keyTrainPeaked}[i]
		switch v := v.(type) {
		case int:
			s = s.With(key, metric.Of(float64(v)))
		case metric.Value:
			s = s.With(key, v)
		}
	}
	return s
}

func TestTorchFollowsTheStageRule(t *testing.T) {
	t.Parallel()
	none := any(nil)
	worked := deltas(36141687296, 0, 0, -17491768832, 26747825664)
	r6 := deltas(36000000000, -10000000000, 0, -7000000000, 2000000000)
	for name, tc := range map[string]struct {
		m           metric.Set
		stages      Stages
		alloc, peak string // the number, or what the gap says
		doubt       string
	}{
		"the worked example by the seed":        {worked, StagesSeed, "36141687296", "45397744128", ""},
		"the worked example by all stages":      {worked, StagesAll, "36141687296", "45397744128", ""},
		"the worked example by training alone":  {worked, StagesTrain, "18649918464", "45397744128", ""},
		"where all three part, seed":            {r6, StagesSeed, "26000000000", "26000000000", ""},
		"where all three part, train":           {r6, StagesTrain, "19000000000", "21000000000", ""},
		"where all three part, all":             {r6, StagesAll, "36000000000", "36000000000", ""},
		"B17 no start":                          {deltas(none, 300000000, 0, 900000000, 2000000000), StagesSeed, "1200000000", "3200000000", "start unknown, lower bound"},
		"B17 no start, all stages":              {deltas(none, 300000000, 0, 900000000, 2000000000), StagesAll, "1200000000", "3200000000", "start unknown, lower bound"},
		"B17 the start taken from elsewhere":    {deltas(500000000, 300000000, 0, 900000000, 2000000000), StagesSeed, "1700000000", "3700000000", ""},
		"B17 the training keys alone":           {deltas(none, none, none, 900000000, 2000000000), StagesSeed, "900000000", "2900000000", "start unknown, lower bound"},
		"B17 no start and memory given back":    {deltas(none, 0, 0, -900000000, 100000000), StagesTrain, "gap: only give memory back", "gap: only give memory back", "start unknown"},
		"B17 no start, the peak alone is known": {deltas(none, 0, 0, -900000000, 2000000000), StagesTrain, "gap: start unknown", "1100000000", "start unknown"},
		"B17 a start and no set-up":             {deltas(500000000, none, none, 900000000, 2000000000), StagesSeed, "1400000000", "3400000000", "init stage unknown"},
		"B18 a negative delta":                  {deltas(20000000000, 0, 0, -9000000000, 15000000000), StagesSeed, "20000000000", "26000000000", ""},
		"B18 a negative delta without a peak":   {deltas(20000000000, 0, 0, -9000000000, 0), StagesSeed, "20000000000", "20000000000", ""},
		"B18 a negative set-up":                 {deltas(20000000000, -5000000000, 1000000000, 1000000000, 0), StagesSeed, "16000000000", "16000000000", ""},
		"B18 a negative sum is not clamped":     {deltas(1000, 0, 0, -3000, 500), StagesTrain, "-2000", "-1500", ""},
		"an out-of-memory run reports nothing":  {nil, StagesSeed, "gap: train_mem_gpu_alloc_delta was not reported", "gap: not reported", ""},
		"a set-up alone is no training":         {deltas(1000, 10, 10, none, none), StagesSeed, "gap: not reported", "gap: not reported", ""},
		"no peaked delta of training":           {deltas(1000, 10, 10, 20, none), StagesSeed, "1030", "gap: train_mem_gpu_peaked_delta was not reported", ""},
		"a delta that is not finite":            {deltas(1000, 10, 10, metric.Missing("not finite: NaN"), 5), StagesSeed, "gap: not finite", "gap: not finite", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alloc, peak, doubts := Torch(tc.m, tc.stages)
			same(t, "allocated", alloc, tc.alloc)
			same(t, "peak", peak, tc.peak)
			if text := strings.Join(doubts, "\n"); !strings.Contains(text, tc.doubt) || (tc.doubt == "") != (text == "") {
				t.Errorf("doubts %q, want %q", text, tc.doubt)
			}
		})
	}
}

// same compares a value with its spelling, or with "gap: " and a part of the reason.
func same(t *testing.T, what string, got metric.Value, want string) {
	t.Helper()
	if reason, isGap := strings.CutPrefix(want, "gap: "); isGap {
		if got.Known() || !strings.Contains(got.Gap, reason) {
			t.Errorf("%s is %q (%q), want a gap with %q", what, got, got.Gap, reason)
		}
		return
	}
	if got.String() != want {
		t.Errorf("%s is %q (%q), want %q", what, got, got.Gap, want)
	}
}

func TestParseStagesKnowsThreeRulesAndTheDefault(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Stages{"": StagesSeed, "seed": StagesSeed, "train": StagesTrain, "all": StagesAll} {
		if got, err := ParseStages(text); got != want || err != nil {
			t.Errorf("ParseStages(%q) = %q, %v", text, got, err)
		}
	}
	if _, err := ParseStages("later"); err == nil {
		t.Error("an unknown rule was taken")
	}
}
