package builtin

import "math"

// adamW is Adam with decoupled weight decay (Loshchilov and Hutter, 2019), with the
// arithmetic of torch.optim.AdamW.
type adamW struct {
	beta1, beta2 float64
	epsilon      float64
	decay        float64
	steps        int
}

// chunk is how many values are worked on at a time. It is fixed, so that the order
// of sums does not depend on the number of workers.
const chunk = 1 << 14

// step updates the parameters from their gradients and clears these. The moments
// are allocated on the first step, as torch does it.
func (o *adamW) step(w workers, params []*parameter, rate, gradScale float64) {
	o.steps++
	for _, p := range params {
		if p.mean == nil {
			p.mean = make([]float32, len(p.value))
			p.square = make([]float32, len(p.value))
		}
		w.each(chunks(len(p.value)), func(lo, hi int) {
			o.update(p, lo*chunk, min(hi*chunk, len(p.value)), rate, float32(gradScale))
		})
	}
}

func (o *adamW) update(p *parameter, lo, hi int, rate float64, gradScale float32) {
	value, grad, mean, square := p.value[lo:hi], p.grad[lo:hi], p.mean[lo:hi], p.square[lo:hi]
	b1, b2 := float32(o.beta1), float32(o.beta2)
	keep := float32(1)
	if p.decays {
		keep = float32(1 - rate*o.decay)
	}
	size := float32(rate / (1 - math.Pow(o.beta1, float64(o.steps))))
	correction := float32(1 / math.Sqrt(1-math.Pow(o.beta2, float64(o.steps))))
	epsilon := float32(o.epsilon)
	mean, square, grad = mean[:len(value)], square[:len(value)], grad[:len(value)]
	for i := range value {
		g := grad[i] * gradScale
		m := b1*mean[i] + (1-b1)*g
		s := b2*square[i] + (1-b2)*g*g
		root := float32(math.Sqrt(float64(s)))
		value[i] = keep*value[i] - size*m/(root*correction+epsilon)
		mean[i], square[i], grad[i] = m, s, 0
	}
}

func chunks(n int) int { return (n + chunk - 1) / chunk }

// gradientNorm returns the Euclidean norm over all gradients.
func gradientNorm(w workers, params []*parameter) float64 {
	var total float64
	for _, p := range params {
		sums := make([]float64, chunks(len(p.grad)))
		w.each(len(sums), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				sums[i] = squares(p.grad[i*chunk : min((i+1)*chunk, len(p.grad))])
			}
		})
		for _, s := range sums {
			total += s
		}
	}
	return math.Sqrt(total)
}

func squares(values []float32) float64 {
	var even, odd float64
	for len(values) >= 2 {
		even += float64(values[0]) * float64(values[0])
		odd += float64(values[1]) * float64(values[1])
		values = values[2:]
	}
	for _, v := range values {
		even += float64(v) * float64(v)
	}
	return even + odd
}

// clipScale is what gradients of that norm are multiplied with so that it stays
// within limit; no limit is 0.
func clipScale(norm, limit float64) float64 {
	if limit <= 0 || !(norm > limit) {
		return 1
	}
	return limit / (norm + 1e-6)
}

// rateAt returns the learning rate of a step, counted from 0: it climbs from 0 over
// the warmup, then stays or falls in a line to 0 after the last step.
func rateAt(o options, step, steps int) float64 {
	if step < o.warmupSteps {
		return o.learningRate * float64(step) / float64(o.warmupSteps)
	}
	if o.schedule == "constant_with_warmup" || o.schedule == "constant" {
		return o.learningRate
	}
	left := float64(steps-step) / float64(max(1, steps-o.warmupSteps))
	return o.learningRate * max(0, left)
}
