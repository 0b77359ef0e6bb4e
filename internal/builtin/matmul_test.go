package builtin

import (
	"math"
	"testing"
)

func TestMultiplyAgreesWithTheDefinition(t *testing.T) {
	t.Parallel()
	random := newRandom(3, 3)
	values := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(random.Float64() - 0.5)
		}
		return out
	}
	for _, shape := range [][3]int{{1, 1, 1}, {2, 4, 3}, {3, 5, 7}, {9, 6, 1}, {16, 16, 16}, {5, 3, 64}, {4, 0, 2}} {
		m, n, k := shape[0], shape[1], shape[2]
		for _, w := range []workers{1, 2, 3, 16} {
			a, b, c := values(m*k), values(n*k), values(m*n)
			before := append([]float32(nil), c...)
			w.multiply(product{c: c, a: a, b: b, m: m, n: n, k: k, scale: 0.5, add: true})
			for i := range m {
				for j := range n {
					want := float64(before[i*n+j])
					for l := range k {
						want += 0.5 * float64(a[i*k+l]) * float64(b[j*k+l])
					}
					if math.Abs(float64(c[i*n+j])-want) > 1e-5 {
						t.Errorf("%v, %d workers: element %d,%d is %v, want %v", shape, w, i, j, c[i*n+j], want)
					}
				}
			}
		}
	}
}

func TestTransposeTurnsRowsIntoColumns(t *testing.T) {
	t.Parallel()
	const m, n = 37, 65
	a, out := make([]float32, m*n), make([]float32, m*n)
	for i := range a {
		a[i] = float32(i)
	}
	workers(3).transpose(out, a, m, n)
	for i := range m {
		for j := range n {
			if out[j*m+i] != a[i*n+j] {
				t.Fatalf("element %d,%d is %v, want %v", j, i, out[j*m+i], a[i*n+j])
			}
		}
	}
}

func TestEachCoversTheRangeOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 5, 7, 64} {
		for _, w := range []workers{1, 2, 3, 8} {
			seen := make([]int, n)
			w.each(n, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					seen[i]++
				}
			})
			for i, count := range seen {
				if count != 1 {
					t.Errorf("%d workers over %d: item %d was done %d times", w, n, i, count)
				}
			}
		}
	}
}
