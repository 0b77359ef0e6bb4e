package builtin

import "context"

// scratch holds the transposes that a projection's way back needs.
type scratch struct {
	weight    []float32
	x, dy     []float32
	low, dlow []float32
}

// backState is the memory of the backward pass; all blocks share it.
type backState struct {
	scratch *scratch
	stream  []float32 // gradient of the residual stream
	input   []float32 // gradient of a layer norm's output
	mixed   []float32
	hidden  []float32
	heads   attentionGrads
}

func newBackState(m *model, a attention) *backState {
	tokens := a.samples * a.length
	wide := tokens * a.width
	rank := 0
	for _, l := range m.linears() {
		rank = max(rank, l.rank())
	}
	outputs := max(4*a.width, vocabulary)
	return &backState{
		scratch: &scratch{
			weight: make([]float32, outputs*max(a.width, rank)),
			x:      make([]float32, 4*wide), dy: make([]float32, tokens*outputs),
			low: make([]float32, tokens*rank), dlow: make([]float32, tokens*rank),
		},
		stream: make([]float32, wide), input: make([]float32, wide),
		mixed: make([]float32, wide), hidden: make([]float32, 4*wide),
		heads: attentionGrads{
			dq: make([]float32, wide), dk: make([]float32, wide), dv: make([]float32, wide),
			spare: make([]float32, a.samples*a.heads*a.length),
		},
	}
}

// backward adds the gradients of share times the loss that forward returned to the
// trained parameters. Gradients of several passes so add up.
func (p *pass) backward(ctx context.Context, share float64) error {
	if p.back == nil {
		p.back = newBackState(p.model, p.shape)
	}
	p.lossBackward(float32(share / float64(p.tokens())))
	g := p.back
	clear(g.input)
	clear(g.stream)
	p.model.head.backward(p.workers, g.scratch, g.input, p.probs, p.last, p.headLow, p.tokens())
	p.model.last.backward(p.workers, g.stream, g.input, p.hat, p.inverse)
	for i := len(p.model.blocks) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.mlpBackward(p.model.blocks[i], p.states[i])
		p.attentionBackward(p.model.blocks[i], p.states[i])
	}
	p.embedBackward()
	return nil
}

// lossBackward turns probabilities into the gradient of the logits.
func (p *pass) lossBackward(scale float32) {
	p.workers.each(p.tokens(), func(lo, hi int) {
		for t := lo; t < hi; t++ {
			row := p.probs[t*vocabulary : (t+1)*vocabulary]
			row[p.targets[t]]--
			for i := range row {
				row[i] *= scale
			}
		}
	})
}

func (p *pass) mlpBackward(b *block, s *blockState) {
	w, n, g := p.workers, p.tokens(), p.back
	clear(g.hidden)
	b.down.backward(w, g.scratch, g.hidden, g.stream, s.active, s.low[5], n)
	squaredReLUBackward(w, g.hidden, s.hidden)
	clear(g.input)
	b.up.backward(w, g.scratch, g.input, g.hidden, s.input2, s.low[4], n)
	b.mlpNorm.backward(w, g.stream, g.input, s.hat2, s.inverse2)
}

func (p *pass) attentionBackward(b *block, s *blockState) {
	w, n, g := p.workers, p.tokens(), p.back
	clear(g.mixed)
	b.out.backward(w, g.scratch, g.mixed, g.stream, s.mixed, s.low[3], n)
	p.shape.backward(w, g.heads, g.mixed, s.probs, s.query, s.key, s.val)
	clear(g.input)
	b.query.backward(w, g.scratch, g.input, g.heads.dq, s.input1, s.low[0], n)
	b.key.backward(w, g.scratch, g.input, g.heads.dk, s.input1, s.low[1], n)
	b.val.backward(w, g.scratch, g.input, g.heads.dv, s.input1, s.low[2], n)
	b.attentionNorm.backward(w, g.stream, g.input, s.hat1, s.inverse1)
}
