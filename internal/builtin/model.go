package builtin

import "math/rand/v2"

// vocabulary is the number of tokens: one for each value of a byte.
const vocabulary = 256

// normEpsilon keeps the variance of a layer norm away from zero.
const normEpsilon = 1e-5

// size says how large a model is.
type size struct {
	width  int   // of the residual stream
	layers int   // number of blocks
	heads  int   // attention heads of a block
	orders []int // one embedding table for each n: the last n bytes choose its row
	rows   int   // of each table of an order above one
}

// sizes lists the models by name. Most parameters lie in the tables of byte n-grams:
// looking up a row costs nothing, while its gradient and the optimizer's two moments
// cost as much memory as any other parameter. So a few seconds on one core show what
// separates full fine-tuning from adapters.
func sizes() map[string]size {
	return map[string]size{
		"builtin:tiny":  {width: 32, layers: 1, heads: 4, orders: []int{1, 2}, rows: 1 << 12},
		"builtin:small": {width: 64, layers: 2, heads: 8, orders: []int{1, 2, 3}, rows: 1 << 16},
		"builtin:large": {width: 64, layers: 10, heads: 16, orders: []int{1, 2, 3, 4}, rows: 1 << 16},
	}
}

// parameter is one tensor of weights, row-major. What training adds to it (gradient
// and moments) is allocated only where it is trained.
type parameter struct {
	name       string
	rows, cols int
	value      []float32
	grad       []float32 // nil: frozen
	mean       []float32 // Adam's first moment, from the first step on
	square     []float32 // Adam's second moment
	decays     bool      // weight decay applies
}

func newParameter(name string, rows, cols int) *parameter {
	return &parameter{name: name, rows: rows, cols: cols, value: make([]float32, rows*cols)}
}

// uniform fills the values evenly from the interval (-bound, bound).
func (p *parameter) uniform(random *rand.Rand, bound float64) *parameter {
	for i := range p.value {
		p.value[i] = float32(bound * (2*random.Float64() - 1))
	}
	p.decays = true
	return p
}

func (p *parameter) fill(value float32) *parameter {
	for i := range p.value {
		p.value[i] = value
	}
	return p
}

func (p *parameter) trained() bool { return p.grad != nil }

// norm is a layer norm's gain and shift.
type norm struct{ gain, shift *parameter }

// block is one transformer layer: attention, then a two-layer perceptron, each
// behind a layer norm and around a residual connection.
type block struct {
	attentionNorm, mlpNorm norm
	query, key, val, out   *linear
	up, down               *linear
}

// model is a causal language model over bytes.
type model struct {
	size
	tables []*parameter // as size.orders
	blocks []*block
	last   norm
	head   *linear
}

// newModel returns a model with weights drawn from the random numbers.
func newModel(s size, random *rand.Rand) *model {
	m := &model{size: s}
	for _, order := range s.orders {
		rows := s.rows
		if order == 1 {
			rows = vocabulary
		}
		name := "embed." + string(rune('0'+order))
		m.tables = append(m.tables, newParameter(name, rows, s.width).uniform(random, 0.05))
	}
	for range s.layers {
		m.blocks = append(m.blocks, newBlock(s.width, random))
	}
	m.last = newNorm("norm", s.width)
	m.head = newLinear("lm_head", vocabulary, s.width, random)
	return m
}

func newBlock(width int, random *rand.Rand) *block {
	return &block{
		attentionNorm: newNorm("input_norm", width),
		mlpNorm:       newNorm("post_attention_norm", width),
		query:         newLinear("q_proj", width, width, random),
		key:           newLinear("k_proj", width, width, random),
		val:           newLinear("v_proj", width, width, random),
		out:           newLinear("o_proj", width, width, random),
		up:            newLinear("up_proj", 4*width, width, random),
		down:          newLinear("down_proj", width, 4*width, random),
	}
}

func newNorm(name string, width int) norm {
	return norm{newParameter(name+".weight", 1, width).fill(1), newParameter(name+".bias", 1, width)}
}

func (b *block) linears() []*linear {
	return []*linear{b.query, b.key, b.val, b.out, b.up, b.down}
}

func (m *model) linears() []*linear {
	var all []*linear
	for _, b := range m.blocks {
		all = append(all, b.linears()...)
	}
	return append(all, m.head)
}

// parameters returns every tensor of the model, adapters included, in a fixed order.
func (m *model) parameters() []*parameter {
	all := append([]*parameter(nil), m.tables...)
	for _, b := range m.blocks {
		all = append(all, b.attentionNorm.gain, b.attentionNorm.shift, b.mlpNorm.gain, b.mlpNorm.shift)
	}
	all = append(all, m.last.gain, m.last.shift)
	for _, l := range m.linears() {
		all = append(all, l.parameters()...)
	}
	return all
}

// trained returns the parameters that have a gradient.
func (m *model) trained() []*parameter {
	var out []*parameter
	for _, p := range m.parameters() {
		if p.trained() {
			out = append(out, p)
		}
	}
	return out
}

// trainAll gives every parameter a gradient: full fine-tuning.
func (m *model) trainAll() {
	for _, p := range m.parameters() {
		p.grad = make([]float32, len(p.value))
	}
}

// adapt freezes the model and puts trained adapters of the given rank on the named
// projections.
func (m *model) adapt(targets map[string]bool, rank int, alpha float64, random *rand.Rand) {
	for _, l := range m.linears() {
		if targets[l.weight.name] {
			l.adapt(rank, float32(alpha/float64(rank)), random)
		}
	}
}
