package builtin

import "sync"

// workers is how many goroutines share one piece of arithmetic.
type workers int

// each splits the range 0..n into one contiguous part per worker and waits for all.
// Parts begin at even numbers, so that a split does not change which rows share a
// tile, and with it no sum: results do not depend on the number of workers.
func (w workers) each(n int, f func(lo, hi int)) {
	part := (n + int(w) - 1) / int(w)
	part += part % 2
	if w <= 1 || part >= n {
		f(0, n)
		return
	}
	var group sync.WaitGroup
	for lo := 0; lo < n; lo += part {
		group.Go(func() { f(lo, min(lo+part, n)) })
	}
	group.Wait()
}

// product says what is multiplied: c (m x n) becomes scale * a (m x k) times the
// transpose of b (n x k), added to what is there if add is set. All are row-major.
// Both factors are read along their rows, which is the order that caches like.
type product struct {
	c, a, b []float32
	m, n, k int
	scale   float32
	add     bool
}

func (w workers) multiply(p product) {
	w.each(p.m, func(lo, hi int) { p.rows(lo, hi) })
}

func (p product) rows(lo, hi int) {
	i := lo
	for ; i+2 <= hi; i += 2 {
		p.rowPair(i)
	}
	for ; i < hi; i++ {
		p.row(i, 0)
	}
}

// rowPair computes two rows of c, in tiles of two by four that live in registers.
func (p product) rowPair(i int) {
	k := p.k
	a0, a1 := p.a[i*k:(i+1)*k], p.a[(i+1)*k:(i+2)*k]
	j := 0
	for ; j+4 <= p.n; j += 4 {
		b := p.b[j*k : (j+4)*k]
		t := tile(a0, a1, b[:k], b[k:2*k], b[2*k:3*k], b[3*k:])
		p.store(i*p.n+j, t[:4])
		p.store((i+1)*p.n+j, t[4:])
	}
	p.row(i, j)
	p.row(i+1, j)
}

// row computes the columns of row i from column j on, one at a time.
func (p product) row(i, j int) {
	k := p.k
	for ; j < p.n; j++ {
		sum := [1]float32{dot(p.a[i*k:(i+1)*k], p.b[j*k:(j+1)*k])}
		p.store(i*p.n+j, sum[:])
	}
}

func (p product) store(at int, values []float32) {
	c := p.c[at : at+len(values)]
	for i, v := range values {
		if p.add {
			c[i] += p.scale * v
		} else {
			c[i] = p.scale * v
		}
	}
}

// tile returns the eight inner products of two rows with four.
func tile(a0, a1, b0, b1, b2, b3 []float32) [8]float32 {
	n := len(a0)
	a1, b0, b1, b2, b3 = a1[:n], b0[:n], b1[:n], b2[:n], b3[:n]
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	for i, x := range a0 {
		y := a1[i]
		z := b0[i]
		s00 += x * z
		s10 += y * z
		z = b1[i]
		s01 += x * z
		s11 += y * z
		z = b2[i]
		s02 += x * z
		s12 += y * z
		z = b3[i]
		s03 += x * z
		s13 += y * z
	}
	return [8]float32{s00, s01, s02, s03, s10, s11, s12, s13}
}

func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var sum float32
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// axpy adds scale * x to y.
func axpy(y []float32, scale float32, x []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += scale * v
	}
}

// transpose writes the transpose of a (m x n) into out (n x m), in blocks that fit
// into the nearest cache.
func (w workers) transpose(out, a []float32, m, n int) {
	const block = 32
	w.each(n, func(lo, hi int) {
		for i0 := 0; i0 < m; i0 += block {
			i1 := min(i0+block, m)
			for j := lo; j < hi; j++ {
				row := out[j*m : (j+1)*m]
				for i := i0; i < i1; i++ {
					row[i] = a[i*n+j]
				}
			}
		}
	})
}
