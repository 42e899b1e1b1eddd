package offsets

import (
	"math/bits"
	"slices"
)

// shelf holds the items that are placed in one space, and finds room for more. Its
// buckets are stretches of consecutive sections; each lists the items alive in it
// by offset, so a query reads the buckets that its lifetime crosses.
type shelf struct {
	in      *instance
	offset  []int64 // by item, shared with the caller
	shift   uint    // log2 of the sections in a bucket
	buckets [][]int32
	taken   []block // of the last query
	frame   int64
}

// block is a range of bytes [at, end).
type block struct{ at, end int64 }

func newShelf(in *instance, offset []int64) *shelf {
	s := &shelf{in: in, offset: offset, shift: in.bucketShift()}
	s.buckets = make([][]int32, in.sections>>s.shift+1)
	return s
}

// bucketShift makes buckets about as wide as the mean lifetime.
func (in *instance) bucketShift() uint {
	total := int64(0)
	for i := range in.items {
		total += int64(in.items[i].end - in.items[i].first)
	}
	return uint(bits.Len64(uint64(total) / uint64(max(1, len(in.items)))))
}

func (s *shelf) reset() {
	for i := range s.buckets {
		s.buckets[i] = s.buckets[i][:0]
	}
	s.frame = 0
}

// put records that item i lies at offset[i].
func (s *shelf) put(i int32) {
	it := &s.in.items[i]
	s.frame = max(s.frame, s.offset[i]+it.size)
	if it.size == 0 {
		return
	}
	for b := it.first >> s.shift; b <= (it.end-1)>>s.shift; b++ {
		list := s.buckets[b]
		at, _ := slices.BinarySearchFunc(list, s.offset[i], func(x int32, key int64) int {
			if s.offset[x] <= key {
				return -1
			}
			return 1
		})
		s.buckets[b] = slices.Insert(list, at, i)
	}
}

// remove undoes put.
func (s *shelf) remove(i int32) {
	it := &s.in.items[i]
	if it.size == 0 {
		return
	}
	for b := it.first >> s.shift; b <= (it.end-1)>>s.shift; b++ {
		at := slices.Index(s.buckets[b], i)
		s.buckets[b] = slices.Delete(s.buckets[b], at, at+1)
	}
}

// around lists what is taken during the life of it, by offset.
func (s *shelf) around(it *item) []block {
	s.taken = s.taken[:0]
	low, high := it.first>>s.shift, (it.end-1)>>s.shift
	for b := low; b <= high; b++ {
		for _, x := range s.buckets[b] {
			other := &s.in.items[x]
			// What spans several buckets counts in the first of them.
			if b > low && other.first>>s.shift < b || !s.in.conflict(it, other) {
				continue
			}
			s.taken = append(s.taken, block{s.offset[x], s.offset[x] + other.size})
		}
	}
	if low != high {
		slices.SortFunc(s.taken, func(a, b block) int {
			if a.at < b.at {
				return -1
			}
			return 1
		})
	}
	return s.taken
}

// lowest is the lowest offset at which it fits.
func (s *shelf) lowest(it *item) int64 {
	at := it.up(0)
	if it.size == 0 {
		return at
	}
	for _, taken := range s.around(it) {
		if taken.at-at >= it.size {
			break
		}
		if taken.end > at {
			at = it.up(taken.end)
		}
	}
	return at
}

// tightest is the offset of the smallest hole that holds it; above everything when
// none does.
func (s *shelf) tightest(it *item) int64 {
	at := it.up(0)
	if it.size == 0 {
		return at
	}
	best, room := int64(-1), int64(-1)
	for _, taken := range s.around(it) {
		if hole := taken.at - at; hole >= it.size && (room < 0 || hole < room) {
			best, room = at, hole
		}
		if taken.end > at {
			at = it.up(taken.end)
		}
	}
	if best >= 0 {
		return best
	}
	return at
}

// free says whether it may lie at offset at.
func (s *shelf) free(it *item, at int64) bool {
	if it.size == 0 {
		return true
	}
	for _, taken := range s.around(it) {
		if taken.at < at+it.size && at < taken.end {
			return false
		}
	}
	return true
}
