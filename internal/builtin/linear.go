package builtin

import (
	"math"
	"math/rand/v2"
)

// linear is a projection without bias, with an optional low-rank adapter: for an
// input x it gives W x + scale * B (A x), as LoRA (Hu et al., 2021) does.
type linear struct {
	weight *parameter // outputs x inputs
	a      *parameter // rank x inputs; nil without an adapter
	b      *parameter // outputs x rank
	scale  float32    // alpha / rank
}

func newLinear(name string, outputs, inputs int, random *rand.Rand) *linear {
	bound := math.Sqrt(3 / float64(inputs))
	return &linear{weight: newParameter(name, outputs, inputs).uniform(random, bound)}
}

// adapt adds a trained adapter. B begins at zero, so that the adapted model begins
// as the model that it adapts.
func (l *linear) adapt(rank int, scale float32, random *rand.Rand) {
	inputs, outputs := l.weight.cols, l.weight.rows
	l.a = newParameter(l.weight.name+".lora_A", rank, inputs).uniform(random, math.Sqrt(3/float64(inputs)))
	l.b = newParameter(l.weight.name+".lora_B", outputs, rank)
	l.b.decays = true
	l.scale = scale
	l.a.grad = make([]float32, len(l.a.value))
	l.b.grad = make([]float32, len(l.b.value))
}

func (l *linear) parameters() []*parameter {
	if l.a == nil {
		return []*parameter{l.weight}
	}
	return []*parameter{l.weight, l.a, l.b}
}

// rank returns the adapter's rank, 0 without one.
func (l *linear) rank() int {
	if l.a == nil {
		return 0
	}
	return l.a.rows
}

// forward computes y (n x outputs) from x (n x inputs). What the adapter's first
// half gives is kept in low (n x rank) for the way back.
func (l *linear) forward(w workers, y, x, low []float32, n int) {
	in, out := l.weight.cols, l.weight.rows
	w.multiply(product{c: y, a: x, b: l.weight.value, m: n, n: out, k: in, scale: 1})
	if l.a == nil {
		return
	}
	r := l.rank()
	w.multiply(product{c: low, a: x, b: l.a.value, m: n, n: r, k: in, scale: 1})
	w.multiply(product{c: y, a: low, b: l.b.value, m: n, n: out, k: r, scale: l.scale, add: true})
}

// backward adds to dx (n x inputs) and to the gradients of what is trained, from dy
// (n x outputs) and what forward was given.
func (l *linear) backward(w workers, s *scratch, dx, dy, x, low []float32, n int) {
	in, out := l.weight.cols, l.weight.rows
	w.transpose(s.weight, l.weight.value, out, in)
	w.multiply(product{c: dx, a: dy, b: s.weight, m: n, n: in, k: out, scale: 1, add: true})
	if l.a == nil && !l.weight.trained() {
		return
	}
	w.transpose(s.dy, dy, n, out)
	w.transpose(s.x, x, n, in)
	if l.weight.trained() {
		w.multiply(product{c: l.weight.grad, a: s.dy, b: s.x, m: out, n: in, k: n, scale: 1, add: true})
	}
	if l.a != nil {
		l.adapterBackward(w, s, dx, dy, low, n)
	}
}

// adapterBackward expects the transposes of dy and x in the scratch.
func (l *linear) adapterBackward(w workers, s *scratch, dx, dy, low []float32, n int) {
	in, out, r := l.weight.cols, l.weight.rows, l.rank()
	w.transpose(s.low, low, n, r)
	w.multiply(product{c: l.b.grad, a: s.dy, b: s.low, m: out, n: r, k: n, scale: l.scale, add: true})
	w.transpose(s.weight, l.b.value, out, r)
	w.multiply(product{c: s.dlow, a: dy, b: s.weight, m: n, n: r, k: out, scale: l.scale})
	w.transpose(s.low, s.dlow, n, r)
	w.multiply(product{c: l.a.grad, a: s.low, b: s.x, m: r, n: in, k: n, scale: 1, add: true})
	w.transpose(s.weight, l.a.value, r, in)
	w.multiply(product{c: dx, a: s.dlow, b: s.weight, m: n, n: in, k: r, scale: 1, add: true})
}
