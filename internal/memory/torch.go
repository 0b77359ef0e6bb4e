package memory

import (
	"fmt"

	"tunebench/internal/metric"
)

// Stages says which of the Trainer's stages enter the maximum. Three answers were
// published for the same metrics.
type Stages string

// The three answers. Stage 0 ends when the Trainer is made, 1 when it is set up, 2 when
// training ends.
const (
	StagesSeed  Stages = "seed"  // 1 and 2: before 1 a model may stand whole that is sharded later
	StagesTrain Stages = "train" // 2 only, as the published tables have it
	StagesAll   Stages = "all"   // 0, 1 and 2
)

// ParseStages reads the name of a stage rule; an empty text is the default, seed.
func ParseStages(text string) (Stages, error) {
	switch s := Stages(text); s {
	case "":
		return StagesSeed, nil
	case StagesSeed, StagesTrain, StagesAll:
		return s, nil
	}
	return "", fmt.Errorf("unknown stage rule %q (seed, train or all)", text)
}

// The keys of Hugging Face's memory tracker, in bytes, of rank 0.
const (
	keyBefore      = "before_init_mem_gpu"
	keyInitAlloc   = "init_mem_gpu_alloc_delta"
	keyInitPeaked  = "init_mem_gpu_peaked_delta"
	keyTrainAlloc  = "train_mem_gpu_alloc_delta"
	keyTrainPeaked = "train_mem_gpu_peaked_delta"
)

// Torch computes what torch had allocated, in bytes, from the Trainer's final metrics.
// With running sums of the alloc deltas over the stages, allocated is the largest sum
// and peak the largest of a sum plus its stage's own peaked delta. A delta may be
// negative: what was there before the Trainer may be given back.
//
// Where the early stages were not reported the sums start at 0, which is a lower bound
// and said in doubts; where the training stage was not reported there is no figure.
func Torch(m metric.Set, stages Stages) (allocated, peak metric.Value, doubts []string) {
	train, _ := m.Get(keyTrainAlloc)
	if !train.Known() {
		return train, train, nil
	}
	before, beforeDoubt := early(m, keyBefore, "start unknown, lower bound")
	setup, setupDoubt := early(m, keyInitAlloc, "init stage unknown, taken for no change")
	if beforeDoubt == "" && setupDoubt != "" {
		doubts = append(doubts, setupDoubt)
	}
	if beforeDoubt != "" {
		doubts = append(doubts, beforeDoubt)
	}
	peaked, initPeaked := peakedDeltas(m)
	sums := []float64{before, before + setup, before + setup + train.Number}
	tops := []float64{before, before + setup + initPeaked, before + setup + train.Number + peaked.Number}
	first := firstStage(stages)
	allocated = atLeast(largest(sums[first:]), beforeDoubt)
	peak = atLeast(largest(tops[first:]), beforeDoubt)
	if !peaked.Known() {
		peak = peaked
	}
	return allocated, peak, doubts
}

// early returns a metric of an early stage, or 0 with the doubt that this raises.
func early(m metric.Set, key, doubt string) (float64, string) {
	v, _ := m.Get(key)
	if !v.Known() {
		return 0, fmt.Sprintf("%s: %s", doubt, v.Gap)
	}
	return v.Number, ""
}

// peakedDeltas returns the peaked deltas of training and of the set-up. The latter
// counts as 0 where it is missing: a stage's peak is never below its end.
func peakedDeltas(m metric.Set) (train metric.Value, init float64) {
	train, _ = m.Get(keyTrainPeaked)
	if v, _ := m.Get(keyInitPeaked); v.Known() {
		init = v.Number
	}
	return train, init
}

func firstStage(stages Stages) int {
	switch stages {
	case StagesAll:
		return 0
	case StagesTrain:
		return 2
	}
	return 1
}

func largest(values []float64) float64 {
	out := values[0]
	for _, v := range values[1:] {
		out = max(out, v)
	}
	return out
}

// atLeast keeps a lower bound only where it says something: with the start unknown a
// sum at or below 0 bounds nothing.
func atLeast(sum float64, unknownStart string) metric.Value {
	if unknownStart != "" && sum <= 0 {
		return metric.Missing(unknownStart + ", and the known stages only give memory back")
	}
	return metric.Of(sum)
}
