package builtin

import "math"

// tableRow returns which row of the table of that order belongs to position t. A sample
// is preceded by zero bytes. Several n-grams may share a row (FNV-1a hash).
func tableRow(order, rows int, sample []byte, t int) int {
	if order == 1 {
		return int(sample[t])
	}
	hash := uint32(2166136261)
	for i := t - order + 1; i <= t; i++ {
		var b byte
		if i >= 0 {
			b = sample[i]
		}
		hash = (hash ^ uint32(b)) * 16777619
	}
	return int((hash ^ hash>>16) % uint32(rows))
}

// positions returns the fixed sines and cosines that tell the places of a sample
// apart, at the scale of the embedding tables.
func positions(length, width int) []float32 {
	table := make([]float32, length*width)
	for t := range length {
		for i := range width {
			angle := float64(t) / math.Pow(10000, float64(i/2*2)/float64(width))
			table[t*width+i] = float32(0.05 * math.Sin(angle+float64(i%2)*math.Pi/2))
		}
	}
	return table
}

// embed begins the residual stream: for each token the sum of its place and of one row
// of each table.
func (p *pass) embed() {
	width, length := p.model.width, p.shape.length
	p.workers.each(p.shape.samples, func(lo, hi int) {
		for at := lo * length; at < hi*length; at++ {
			t := at % length
			row := p.stream[at*width : (at+1)*width]
			copy(row, p.positions[t*width:(t+1)*width])
			for i, table := range p.model.tables {
				r := tableRow(p.model.orders[i], table.rows, p.inputs[at-t:at-t+length], t)
				axpy(row, 1, table.value[r*width:(r+1)*width])
			}
		}
	})
}

// embedBackward adds each token's gradient to the rows that it was made of. Rows are
// shared between tokens, so this is not split among workers.
func (p *pass) embedBackward() {
	width, length := p.model.width, p.shape.length
	for i, table := range p.model.tables {
		if !table.trained() {
			continue
		}
		for at := range p.tokens() {
			t := at % length
			r := tableRow(p.model.orders[i], table.rows, p.inputs[at-t:at-t+length], t)
			axpy(table.grad[r*width:(r+1)*width], 1, p.back.stream[at*width:(at+1)*width])
		}
	}
}
