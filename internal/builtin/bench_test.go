package builtin

import (
	"context"
	"io"
	"runtime"
	"testing"
)

// BenchmarkStep times one optimizer step of the small model.
func BenchmarkStep(b *testing.B) {
	for _, bench := range []struct {
		name string
		args []string
	}{
		{"full, batch 4", []string{"--per_device_train_batch_size", "4"}},
		{"full, batch 8", []string{"--per_device_train_batch_size", "8"}},
		{"lora, batch 4", []string{"--per_device_train_batch_size", "4", "--peft_method", "lora"}},
		{"lora, batch 8", []string{"--per_device_train_batch_size", "8", "--peft_method", "lora"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			t := preparedForBench(b, bench.args)
			for b.Loop() {
				if err := t.step(context.Background(), t.model.trained()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(t.tokens)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

func preparedForBench(b *testing.B, args []string) *training {
	o, err := parseArgs(args)
	if err != nil {
		b.Fatal(err)
	}
	o.logging = "no"
	t := &training{options: o, model: newModel(sizes()[o.model], newRandom(1, 2)), workers: workers(runtime.GOMAXPROCS(0))}
	if err := t.prepare(embeddedText, io.Discard, io.Discard); err != nil {
		b.Fatal(err)
	}
	if t.peft == "" {
		t.model.trainAll()
	}
	t.screen.start()
	t.pass = newPass(t.model, t.workers, t.batch, t.length)
	return t
}

// BenchmarkMultiply times the kernel on a projection of 1024 tokens.
func BenchmarkMultiply(b *testing.B) {
	const m, n, k = 1024, 256, 64
	p := product{c: make([]float32, m*n), a: make([]float32, m*k), b: make([]float32, n*k), m: m, n: n, k: k, scale: 1}
	for b.Loop() {
		workers(1).multiply(p)
	}
	b.ReportMetric(2*m*n*k*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
