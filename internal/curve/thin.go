package curve

// thinner keeps at most max points of a row of any length. As long as there are no more,
// it keeps all. Then it keeps the first, the last, and the lowest and highest of each
// bucket of neighbours. When the buckets are used up each two become one, so that all but
// the last are of one size and no extreme is ever lost.
type thinner struct {
	max  int // 8 at the least
	rows int
	all  []Point // while they fit

	first, last Point
	buckets     []bucket
	size        int // points of a full bucket; 0 while all are kept
	filled      int // points of the last bucket
}

// bucket is the extremes of some points in a row, in their order.
type bucket struct {
	low, high Point
	lowFirst  bool
}

// minPoints is the least that a thinned curve can be made of.
const minPoints = 8

func newThinner(limit int) *thinner { return &thinner{max: max(limit, minPoints)} }

func (t *thinner) add(p Point) {
	t.rows++
	switch {
	case t.size > 0:
		t.fill(p)
	case len(t.all) < t.max:
		t.all = append(t.all, p)
	default:
		t.size, t.first = 1, t.all[0]
		for _, old := range t.all {
			t.fill(old)
		}
		t.fill(p)
		t.all = nil
	}
}

// fill puts a point into the last bucket, or into a new one where that is full.
func (t *thinner) fill(p Point) {
	t.last = p
	if n := len(t.buckets); n > 0 && t.filled < t.size {
		t.buckets[n-1].join(bucket{low: p, high: p, lowFirst: true})
		t.filled++
		return
	}
	if len(t.buckets) == t.most() {
		t.halve()
	}
	t.buckets = append(t.buckets, bucket{low: p, high: p, lowFirst: true})
	t.filled = 1
}

// most is how many buckets fit beside the first and the last point. It is even, so that
// full buckets pair up.
func (t *thinner) most() int { return (t.max - 2) / 4 * 2 }

// halve makes one bucket of each two. All are full when it is called.
func (t *thinner) halve() {
	for i := range len(t.buckets) / 2 {
		b := t.buckets[2*i]
		b.join(t.buckets[2*i+1])
		t.buckets[i] = b
	}
	t.buckets = t.buckets[:len(t.buckets)/2]
	t.size *= 2
	t.filled = t.size
}

// join takes in a bucket that follows.
func (b *bucket) join(next bucket) {
	lower, higher := next.low.V < b.low.V, next.high.V > b.high.V
	switch {
	case lower && higher:
		*b = next
	case lower:
		b.low, b.lowFirst = next.low, false
	case higher:
		b.high, b.lowFirst = next.high, true
	}
}

// points returns what was kept, in the order in which it was added.
func (t *thinner) points() []Point {
	if t.size == 0 {
		return t.all
	}
	out := []Point{t.first}
	for _, b := range t.buckets {
		one, two := b.low, b.high
		if !b.lowFirst {
			one, two = two, one
		}
		out = appendOther(appendOther(out, one), two)
	}
	return appendOther(out, t.last)
}

// appendOther leaves out a point that is the one before.
func appendOther(points []Point, p Point) []Point {
	if points[len(points)-1] == p {
		return points
	}
	return append(points, p)
}
