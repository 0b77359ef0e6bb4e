package builtin

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"time"

	"tunebench/internal/unit"
)

// training is one training run and what it has seen so far.
type training struct {
	options
	model   *model
	data    *dataset
	pass    *pass
	adam    adamW
	workers workers
	steps   int // to be done
	screen  *screen
	history []entry

	done      int     // steps
	tokens    int     // trained on
	totalLoss float64 // sum over the steps
	freshLoss float64 // sum over the steps since the last log line
	fresh     int     // number of these steps
}

func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	for _, w := range o.warnings {
		fmt.Fprintf(stderr, "builtin-trainer: warning: %s\n", w)
	}
	if o.outputDir != "" {
		if err := os.MkdirAll(o.outputDir, 0o755); err != nil {
			return fmt.Errorf("making the output folder: %w", err)
		}
	}
	text, err := readText(o.dataPath, o.dataField)
	if err != nil {
		return err
	}
	t := &training{options: o, model: newModel(sizes()[o.model], newRandom(o.seed, 2)), workers: workers(runtime.GOMAXPROCS(0))}
	tracker := newTracker(o.skipMemory, stderr)
	if err := tracker.during("init", func() error { return t.prepare(text, stdout, stderr) }, nil); err != nil {
		return err
	}
	var took time.Duration
	err = tracker.during("train", func() error {
		start := time.Now()
		defer func() { took = time.Since(start) }()
		return t.train(ctx)
	}, t.release)
	if err != nil {
		return err
	}
	return t.finish(took, tracker.entry)
}

// prepare does what comes between the loaded weights and the first step.
func (t *training) prepare(text []byte, stdout, stderr io.Writer) error {
	data, err := newDataset(text, t.length, t.seed)
	if err != nil {
		return err
	}
	if need := passBytes(t.model.size, t.batch, t.length); need > maxPass {
		return fmt.Errorf("a batch of %d samples of %d bytes needs %v of activations (use a smaller batch or --max_seq_length)",
			t.batch, t.length, unit.Bytes(need))
	}
	t.data = data
	t.steps = plannedSteps(t.options, data.samples())
	if t.steps == 0 {
		return usageError{"nothing to train: give --max_steps or --num_train_epochs above 0"}
	}
	if t.peft == "lora" {
		t.model.adapt(t.targets, t.rank, t.alpha, newRandom(t.seed, 3))
	}
	t.adam = adamW{beta1: t.beta1, beta2: t.beta2, epsilon: t.epsilon, decay: t.weightDecay}
	t.screen = newScreen(stdout, stderr, t.steps)
	return nil
}

// plannedSteps counts optimizer steps as the Hugging Face Trainer does: max_steps
// wins over epochs, and an epoch has at least one.
func plannedSteps(o options, samples int) int {
	if o.maxSteps > 0 {
		return o.maxSteps
	}
	batches := (samples + o.batch - 1) / o.batch
	return int(math.Ceil(o.epochs * float64(max(1, batches/o.accumulation))))
}

func (t *training) train(ctx context.Context) error {
	if t.peft == "" {
		t.model.trainAll()
	}
	t.pass = newPass(t.model, t.workers, t.batch, t.length)
	trained := t.model.trained()
	t.screen.start()
	defer t.screen.stop()
	for t.done < t.steps {
		if err := t.step(ctx, trained); err != nil {
			return fmt.Errorf("training stopped after %d of %d steps: %w", t.done, t.steps, err)
		}
	}
	return nil
}

// step does one optimizer step, over all of its batches.
func (t *training) step(ctx context.Context, trained []*parameter) error {
	var loss float64
	for range t.accumulation {
		t.data.fill(t.pass.inputs, t.pass.targets)
		l, err := t.pass.forward(ctx)
		if err != nil {
			return err
		}
		if err := t.pass.backward(ctx, 1/float64(t.accumulation)); err != nil {
			return err
		}
		loss += l / float64(t.accumulation)
	}
	norm := gradientNorm(t.workers, trained)
	rate := rateAt(t.options, t.done, t.steps)
	t.adam.step(t.workers, trained, rate, clipScale(norm, t.maxGradNorm))
	before := t.epoch()
	t.done++
	t.tokens += t.accumulation * t.pass.tokens()
	t.totalLoss += loss
	t.freshLoss += loss
	t.fresh++
	t.report(before, norm, rate)
	return nil
}

// epoch is how often the data was gone through.
func (t *training) epoch() float64 {
	return float64(t.done*t.batch*t.accumulation) / float64(t.data.samples())
}

// report moves the bar and prints a log line where one is due.
func (t *training) report(before, norm, rate float64) {
	due := t.logging == "steps" && t.done%t.loggingSteps == 0 ||
		t.logging == "epoch" && math.Floor(t.epoch()) > math.Floor(before)
	t.screen.advance(t.done)
	if !due {
		return
	}
	line := entry{
		{"loss", t.freshLoss / float64(t.fresh)}, {"grad_norm", norm}, {"learning_rate", rate},
		{"epoch", t.epoch()}, {"num_input_tokens_seen", int64(t.tokens)},
	}
	t.freshLoss, t.fresh = 0, 0
	t.log(line)
}

func (t *training) log(line entry) {
	t.screen.print(line)
	t.history = append(t.history, append(line, field{"step", int64(t.done)}))
}

// release drops what only the passes needed: the activations.
func (t *training) release() { t.pass = nil }

// finish prints the final metrics and writes them to the output folder.
func (t *training) finish(took time.Duration, memory entry) error {
	seconds := max(took.Seconds(), 1e-9)
	line := entry{
		{"train_runtime", seconds},
		{"train_samples_per_second", float64(t.done*t.batch*t.accumulation) / seconds},
		{"train_steps_per_second", float64(t.done) / seconds},
	}
	if t.perSecond {
		line = append(line, field{"train_tokens_per_second", float64(t.tokens) / seconds})
	}
	line = append(line, field{"train_loss", t.totalLoss / float64(t.done)})
	line = append(append(line, memory...), field{"epoch", t.epoch()}, field{"num_input_tokens_seen", int64(t.tokens)})
	t.log(line)
	if t.outputDir == "" {
		return nil
	}
	return writeResults(t, line)
}
