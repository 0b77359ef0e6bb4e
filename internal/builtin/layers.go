package builtin

import "math"

// forward writes the normalised rows of x to hat and, with gain and shift, to y.
// The reciprocal deviations are kept in inverse.
func (n norm) forward(w workers, y, hat, inverse, x []float32) {
	width := n.gain.cols
	w.each(len(inverse), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row, h, out := x[r*width:(r+1)*width], hat[r*width:(r+1)*width], y[r*width:(r+1)*width]
			mean, variance := moments(row)
			inv := float32(1 / math.Sqrt(variance+normEpsilon))
			for i, v := range row {
				h[i] = (v - float32(mean)) * inv
				out[i] = h[i]*n.gain.value[i] + n.shift.value[i]
			}
			inverse[r] = inv
		}
	})
}

func moments(row []float32) (mean, variance float64) {
	for _, v := range row {
		mean += float64(v)
	}
	mean /= float64(len(row))
	for _, v := range row {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, variance / float64(len(row))
}

// backward adds to dx, and to the gradients of gain and shift, from dy.
func (n norm) backward(w workers, dx, dy, hat, inverse []float32) {
	width := n.gain.cols
	if n.gain.trained() {
		for at := 0; at < len(dy); at += width {
			for i, d := range dy[at : at+width] {
				n.gain.grad[i] += d * hat[at+i]
				n.shift.grad[i] += d
			}
		}
	}
	w.each(len(inverse), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			at, end := r*width, (r+1)*width
			n.rowBackward(dx[at:end], dy[at:end], hat[at:end], inverse[r])
		}
	})
}

func (n norm) rowBackward(dx, dy, hat []float32, inverse float32) {
	var sum, along float32
	for i, d := range dy {
		g := d * n.gain.value[i]
		sum += g
		along += g * hat[i]
	}
	sum /= float32(len(dy))
	along /= float32(len(dy))
	for i, d := range dy {
		dx[i] += inverse * (d*n.gain.value[i] - sum - hat[i]*along)
	}
}

// attention is causal self-attention over samples of one length. Its matrices are
// tokens x width; head h owns columns h*depth to (h+1)*depth.
type attention struct {
	samples, length, heads, width int
}

func (a attention) depth() int { return a.width / a.heads }

// at returns where the vector of a head at position t of a sample begins.
func (a attention) at(sample, head, t int) int {
	return (sample*a.length+t)*a.width + head*a.depth()
}

// forward computes out from q, k and v, and keeps the probabilities: samples x heads
// x length x length, zero where a later position would be looked at.
func (a attention) forward(w workers, out, probs, q, k, v []float32) {
	w.each(a.samples*a.heads, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a.headForward(i/a.heads, i%a.heads, out, probs[i*a.length*a.length:], q, k, v)
		}
	})
}

func (a attention) headForward(sample, head int, out, probs, q, k, v []float32) {
	depth := a.depth()
	scale := float32(1 / math.Sqrt(float64(depth)))
	for t := range a.length {
		row := probs[t*a.length : t*a.length+t+1]
		query := q[a.at(sample, head, t):][:depth]
		for s := range row {
			row[s] = scale * dot(query, k[a.at(sample, head, s):][:depth])
		}
		softmax(row)
		result := out[a.at(sample, head, t):][:depth]
		clear(result)
		for s, p := range row {
			axpy(result, p, v[a.at(sample, head, s):][:depth])
		}
	}
}

// backward writes dq, dk and dv from dout. Each worker needs rows of its own: spare
// has length floats for every head of every sample.
func (a attention) backward(w workers, g attentionGrads, dout, probs, q, k, v []float32) {
	w.each(a.samples*a.heads, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			spare := g.spare[i*a.length : (i+1)*a.length]
			a.headBackward(i/a.heads, i%a.heads, g, spare, dout, probs[i*a.length*a.length:], q, k, v)
		}
	})
}

type attentionGrads struct{ dq, dk, dv, spare []float32 }

func (a attention) headBackward(sample, head int, g attentionGrads, spare, dout, probs, q, k, v []float32) {
	depth := a.depth()
	scale := float32(1 / math.Sqrt(float64(depth)))
	for t := range a.length {
		clear(g.dq[a.at(sample, head, t):][:depth])
		clear(g.dk[a.at(sample, head, t):][:depth])
		clear(g.dv[a.at(sample, head, t):][:depth])
	}
	for t := range a.length {
		at := a.at(sample, head, t)
		row, dscore := probs[t*a.length:t*a.length+t+1], spare[:t+1]
		var mean float32
		for s, p := range row {
			from := a.at(sample, head, s)
			dscore[s] = dot(dout[at:at+depth], v[from:from+depth])
			mean += p * dscore[s]
			axpy(g.dv[from:from+depth], p, dout[at:at+depth])
		}
		for s, p := range row {
			from := a.at(sample, head, s)
			d := scale * p * (dscore[s] - mean)
			axpy(g.dq[at:at+depth], d, k[from:from+depth])
			axpy(g.dk[from:from+depth], d, q[at:at+depth])
		}
	}
}

// softmax replaces scores by probabilities.
func softmax(row []float32) {
	top := row[0]
	for _, v := range row {
		top = max(top, v)
	}
	var sum float32
	for i, v := range row {
		e := float32(math.Exp(float64(v - top)))
		row[i] = e
		sum += e
	}
	for i := range row {
		row[i] /= sum
	}
}

// squaredReLU is the activation of the perceptron: smooth enough to be checked by
// finite differences, and it needs no exponential.
func squaredReLU(w workers, out, in []float32) {
	w.each(len(in), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v := max(in[i], 0)
			out[i] = v * v
		}
	})
}

// squaredReLUBackward turns d from the gradient of the output into that of the input.
func squaredReLUBackward(w workers, d, in []float32) {
	w.each(len(in), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			d[i] *= 2 * max(in[i], 0)
		}
	})
}
