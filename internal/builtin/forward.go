package builtin

import (
	"context"
	"math"
)

// blockState is what one block keeps of the forward pass for the way back.
type blockState struct {
	hat1, input1, inverse1 []float32 // first layer norm
	query, key, val        []float32
	probs, mixed           []float32 // attention
	hat2, input2, inverse2 []float32 // second layer norm
	hidden, active         []float32 // perceptron, before and after its activation
	low                    [][]float32
}

func newBlockState(b *block, a attention) *blockState {
	tokens := a.samples * a.length
	wide := tokens * a.width
	buffer := func(n int) []float32 { return make([]float32, n) }
	s := &blockState{
		hat1: buffer(wide), input1: buffer(wide), inverse1: buffer(tokens),
		query: buffer(wide), key: buffer(wide), val: buffer(wide),
		probs: buffer(a.samples * a.heads * a.length * a.length), mixed: buffer(wide),
		hat2: buffer(wide), input2: buffer(wide), inverse2: buffer(tokens),
		hidden: buffer(4 * wide), active: buffer(4 * wide),
	}
	for _, l := range b.linears() {
		s.low = append(s.low, buffer(tokens*l.rank()))
	}
	return s
}

// pass is one forward and backward pass over batches of a fixed shape, with all the
// memory that it needs. A block's state is allocated when the first pass reaches it,
// so memory grows with the work, as it does in eager frameworks.
type pass struct {
	model     *model
	workers   workers
	shape     attention
	positions []float32
	inputs    []byte
	targets   []byte
	stream    []float32 // the residual stream
	branch    []float32 // what a block adds to it
	states    []*blockState
	hat, last []float32 // last layer norm
	inverse   []float32
	headLow   []float32
	probs     []float32 // of the next token; after loss: the gradient of the logits
	back      *backState
}

func newPass(m *model, w workers, samples, length int) *pass {
	tokens := samples * length
	wide := tokens * m.width
	return &pass{
		model: m, workers: w,
		shape:     attention{samples: samples, length: length, heads: m.heads, width: m.width},
		positions: positions(length, m.width),
		inputs:    make([]byte, tokens), targets: make([]byte, tokens),
		stream: make([]float32, wide), branch: make([]float32, wide),
		states: make([]*blockState, len(m.blocks)),
		hat:    make([]float32, wide), last: make([]float32, wide), inverse: make([]float32, tokens),
		headLow: make([]float32, tokens*m.head.rank()),
		probs:   make([]float32, tokens*vocabulary),
	}
}

// maxPass is the most memory, in bytes, that a pass is let ask for. What is asked for
// below it may still be more than a machine has; this only keeps typing errors from
// ending in a crash of the runtime.
const maxPass = 1 << 40

// passBytes returns what the states of all blocks and the probabilities need.
func passBytes(s size, samples, length int) float64 {
	tokens := float64(samples) * float64(length)
	block := 16*float64(s.width) + float64(s.heads)*float64(length)
	return 4 * tokens * (float64(s.layers)*block + vocabulary)
}

func (p *pass) tokens() int { return len(p.inputs) }

// forward returns the mean loss of the batch in nats per byte. It ends early, with
// the context's error, between two blocks.
func (p *pass) forward(ctx context.Context) (float64, error) {
	p.embed()
	for i, b := range p.model.blocks {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if p.states[i] == nil {
			p.states[i] = newBlockState(b, p.shape)
		}
		p.block(b, p.states[i])
	}
	p.model.last.forward(p.workers, p.last, p.hat, p.inverse, p.stream)
	p.model.head.forward(p.workers, p.probs, p.last, p.headLow, p.tokens())
	return p.loss(), nil
}

func (p *pass) block(b *block, s *blockState) {
	w, n := p.workers, p.tokens()
	b.attentionNorm.forward(w, s.input1, s.hat1, s.inverse1, p.stream)
	b.query.forward(w, s.query, s.input1, s.low[0], n)
	b.key.forward(w, s.key, s.input1, s.low[1], n)
	b.val.forward(w, s.val, s.input1, s.low[2], n)
	p.shape.forward(w, s.mixed, s.probs, s.query, s.key, s.val)
	b.out.forward(w, p.branch, s.mixed, s.low[3], n)
	axpy(p.stream, 1, p.branch)
	b.mlpNorm.forward(w, s.input2, s.hat2, s.inverse2, p.stream)
	b.up.forward(w, s.hidden, s.input2, s.low[4], n)
	squaredReLU(w, s.active, s.hidden)
	b.down.forward(w, p.branch, s.active, s.low[5], n)
	axpy(p.stream, 1, p.branch)
}

// loss turns logits into probabilities and returns the mean negative log likelihood
// of the targets.
func (p *pass) loss() float64 {
	losses := make([]float64, p.shape.samples)
	p.workers.each(p.shape.samples, func(lo, hi int) {
		for sample := lo; sample < hi; sample++ {
			for t := sample * p.shape.length; t < (sample+1)*p.shape.length; t++ {
				losses[sample] += crossEntropy(p.probs[t*vocabulary:(t+1)*vocabulary], p.targets[t])
			}
		}
	})
	var sum float64
	for _, l := range losses {
		sum += l
	}
	return sum / float64(p.tokens())
}

// crossEntropy works from the logits, since a probability may round to zero.
func crossEntropy(logits []float32, target byte) float64 {
	chosen, top := float64(logits[target]), logits[0]
	for _, v := range logits {
		top = max(top, v)
	}
	softmax(logits)
	// The largest probability is 1 / sum of exp(logit - top).
	var best float32
	for _, v := range logits {
		best = max(best, v)
	}
	return float64(top) - chosen - math.Log(float64(best))
}
