package builtin

import (
	"math"
	"testing"
)

// The expected values follow from the formula: with a constant gradient both bias
// corrected moments equal the gradient and its square in every step.
func TestAdamWithAConstantGradientTakesEqualSteps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name           string
		decays         bool
		grad, epsilon  float64
		steps          int
		want           float64
		decay, clipped float64
	}{
		{name: "one step of the rate's size", grad: 0.5, steps: 1, want: 1 - 0.1, clipped: 1},
		{name: "against the sign of the gradient", grad: -3, steps: 2, want: 1 + 0.2, clipped: 1},
		{name: "epsilon shortens steps of small gradients", grad: 0.01, epsilon: 0.01, steps: 1, want: 1 - 0.05, clipped: 1},
		{name: "decay pulls towards zero", grad: 1, decays: true, decay: 0.5, steps: 1, want: 0.95 - 0.1, clipped: 1},
		{name: "no decay where it does not apply", grad: 1, decay: 0.5, steps: 1, want: 1 - 0.1, clipped: 1},
		{name: "clipping scales the gradient", grad: 1, epsilon: 0.5, steps: 1, want: 1 - 0.1*0.5, clipped: 0.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newParameter("p", 1, chunk+3).fill(1)
			p.grad, p.decays = make([]float32, len(p.value)), test.decays
			o := adamW{beta1: 0.9, beta2: 0.999, epsilon: test.epsilon, decay: test.decay}
			for range test.steps {
				for i := range p.grad {
					p.grad[i] = float32(test.grad)
				}
				o.step(2, []*parameter{p}, 0.1, test.clipped)
			}
			for _, i := range []int{0, chunk - 1, chunk, chunk + 2} {
				if math.Abs(float64(p.value[i])-test.want) > 1e-4 || p.grad[i] != 0 {
					t.Errorf("value %d is %v, want %v; its gradient %v, want 0", i, p.value[i], test.want, p.grad[i])
				}
			}
		})
	}
}

func TestTheGradientNormIsThatOfAllGradientsTogether(t *testing.T) {
	t.Parallel()
	a, b := &parameter{grad: []float32{3, 0, 0}}, &parameter{grad: make([]float32, 2*chunk+1)}
	b.grad[2*chunk] = -4
	if got := gradientNorm(3, []*parameter{a, b}); got != 5 {
		t.Errorf("norm %v, want 5", got)
	}
}

func TestOnlyTooLargeGradientsAreClipped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ norm, limit, want float64 }{
		{0.5, 1, 1}, {1, 1, 1}, {4, 1, 0.25}, {4, 0, 1}, {math.NaN(), 1, 1},
	} {
		if got := clipScale(test.norm, test.limit); math.Abs(got-test.want) > 1e-6 {
			t.Errorf("norm %v, limit %v: scale %v, want %v", test.norm, test.limit, got, test.want)
		}
	}
}
