package offsets

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A search is restarted with other scores, so that its answer hangs neither on one seed nor on one order: every second
// time they are random, and else those of an order, with the lowest candidates first. That order, by width and area, is
// one of Moffitt, "MiniMalloc", ASPLOS 2023.

// staticEach-th searches have the fixed order.
const staticEach = 4

// prepare makes the scores of the k-th search.
func (s *tree) prepare(r *rand.Rand, k int64) {
	if k%staticEach != staticEach-1 {
		s.shuffle(r)
		return
	}
	s.lowest = true
	width := func(i int32) int64 { return int64(s.in.items[i].end - s.in.items[i].first) }
	order := s.in.every()
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(width(a), width(b)), cmp.Compare(s.size[a], s.size[b]), cmp.Compare(b, a))
	})
	for rank, i := range order {
		s.score[i] = int64(rank)
	}
}

// chooseLowest takes the item with the lowest floor of those under which nothing else fits, among equals that with the
// best score.
func (s *tree) chooseLowest(from, to int32) int32 {
	best := int32(-1)
	for t := from; t < to; t++ {
		s.work += int64(len(s.at[t]))
		for _, b := range s.at[t] {
			switch {
			case s.in.items[b].first != t:
			case best >= 0 && (s.floor[b] > s.floor[best] ||
				s.floor[b] == s.floor[best] && s.score[b] <= s.score[best]):
			case s.rest(b) > s.floor[b]:
				best = b
			}
		}
	}
	return best
}

// shuffle draws new scores: a random mixture of size and duration, with noise. The
// ranges are those that needed the fewest nodes on minimalloc's instances.
func (s *tree) shuffle(r *rand.Rand) {
	s.lowest = false
	weight, noise := 192+r.Int64N(320), r.Int64N(3<<15)
	for i := range s.in.items {
		it := &s.in.items[i]
		normal := r.Int64N(2*noise+1) + r.Int64N(2*noise+1) + r.Int64N(2*noise+1) - 3*noise
		s.score[i] = (512-weight)*log2(uint64(it.size))/256 + weight*log2(uint64(it.end-it.first))/256 + normal
	}
}

// log2 of x in units of 2^-16, linear between powers of two.
func log2(x uint64) int64 {
	n := bits.Len64(x)
	if n == 0 {
		return 0
	}
	return int64(n-1)<<16 + int64(x<<(64-n)<<1>>48)
}
