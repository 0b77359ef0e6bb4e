package page

// point is one reading of a series.
type point struct {
	ms  int64 // milliseconds since the first reading of the experiment
	kib int64
}

// bucket is the lowest and the highest of some points in a row.
type bucket struct{ low, high point }

func (b *bucket) join(other bucket) {
	if other.low.kib < b.low.kib {
		b.low = other.low
	}
	if other.high.kib > b.high.kib {
		b.high = other.high
	}
}

// thinner keeps at most limit points of a series of any length, in memory that does not
// grow with it: the first, the last, and the lowest and highest of each bucket. Whenever
// the buckets are full each two become one, so all but the last are of one size.
type thinner struct {
	limit   int // of points, 8 at the least
	first   point
	last    point
	seen    int64
	size    int64 // points of a full bucket
	filled  int64 // points in the last bucket
	buckets []bucket
}

func newThinner(limit int) *thinner { return &thinner{limit: max(limit, 8), size: 1} }

func (t *thinner) add(p point) {
	if t.seen == 0 {
		t.first = p
	}
	t.last = p
	t.seen++
	if n := len(t.buckets); n > 0 && t.filled < t.size {
		t.buckets[n-1].join(bucket{p, p})
		t.filled++
		return
	}
	if len(t.buckets) == t.most() {
		t.halve()
	}
	t.buckets = append(t.buckets, bucket{p, p})
	t.filled = 1
}

// most is how many buckets fit beside the first and the last point. It is even, so that
// full buckets pair up.
func (t *thinner) most() int { return (t.limit - 2) / 4 * 2 }

// halve makes one bucket of each two. All are full when it is called.
func (t *thinner) halve() {
	for i := 0; i < len(t.buckets)/2; i++ {
		b := t.buckets[2*i]
		b.join(t.buckets[2*i+1])
		t.buckets[i] = b
	}
	t.buckets = t.buckets[:len(t.buckets)/2]
	t.size *= 2
	t.filled = t.size
}

// points returns what was kept, in the order in which it was added.
func (t *thinner) points() []point {
	if t.seen == 0 {
		return nil
	}
	out := []point{t.first}
	for _, b := range t.buckets {
		a, z := b.low, b.high
		if z.ms < a.ms {
			a, z = z, a
		}
		out = appendNew(out, a)
		out = appendNew(out, z)
	}
	return appendNew(out, t.last)
}

// appendNew leaves out a point that was just appended.
func appendNew(points []point, p point) []point {
	if points[len(points)-1] == p {
		return points
	}
	return append(points, p)
}
