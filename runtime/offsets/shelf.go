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
	buckets [][]entry
	taken   []block // of the last query
	merged  []block
	runs    []int // where sorted stretches of taken begin
	cost    int64 // entries read and moved since the last call of spent
	frame   int64
}

// entry repeats what a query reads of an item, to read it in one place.
type entry struct {
	block
	span
	item int32
}

// block is a range of bytes [at, end).
type block struct{ at, end int64 }

func newShelf(in *instance, offset []int64) *shelf {
	s := &shelf{in: in, offset: offset, shift: in.bucketShift()}
	s.buckets = make([][]entry, in.sections>>s.shift+1)
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
	e := entry{block{s.offset[i], s.offset[i] + it.size}, it.span, i}
	s.frame = max(s.frame, e.block.end)
	if it.size == 0 {
		return
	}
	for b := it.first >> s.shift; b <= (it.end-1)>>s.shift; b++ {
		list := s.buckets[b]
		low, high := 0, len(list)
		for low < high {
			if half := (low + high) / 2; list[half].at <= e.at {
				low = half + 1
			} else {
				high = half
			}
		}
		s.cost += int64(2 + (len(list)-low)/8)
		s.buckets[b] = slices.Insert(list, low, e)
	}
}

// remove undoes put.
func (s *shelf) remove(i int32) {
	it := &s.in.items[i]
	if it.size == 0 {
		return
	}
	for b := it.first >> s.shift; b <= (it.end-1)>>s.shift; b++ {
		s.cost += int64(4 + len(s.buckets[b]))
		at := slices.IndexFunc(s.buckets[b], func(e entry) bool { return e.item == i })
		s.buckets[b] = slices.Delete(s.buckets[b], at, at+1)
	}
}

// around lists what is taken during the life of it, by offset.
func (s *shelf) around(it *item) []block {
	s.taken, s.runs = s.taken[:0], s.runs[:0]
	low, high := it.first>>s.shift, (it.end-1)>>s.shift
	for b := low; b <= high; b++ {
		before := len(s.taken)
		s.list(it, b, b > low)
		if before < len(s.taken) {
			s.runs = append(s.runs, before)
		}
	}
	for len(s.runs) > 1 {
		s.mergePairs()
	}
	return s.taken
}

// list appends what a bucket has during the life of it; what began in a bucket
// before has been listed there when it is not the first.
func (s *shelf) list(it *item, b int32, later bool) {
	s.cost += int64(4 + len(s.buckets[b]))
	begin := b << s.shift
	for k := range s.buckets[b] {
		e := &s.buckets[b][k]
		if e.first >= it.span.end || it.first >= e.span.end || later && e.first < begin {
			continue
		}
		if s.in.alive != nil && !s.in.conflict(it, &s.in.items[e.item]) {
			continue
		}
		s.taken = append(s.taken, e.block)
	}
}

// mergePairs halves the number of runs: sorted stretches of taken that begin at the indices in runs.
func (s *shelf) mergePairs() {
	s.cost += int64(len(s.taken))
	out, runs := s.merged[:0], s.runs[:0]
	for k := 0; k < len(s.runs); k += 2 {
		end := func(k int) int {
			if k < len(s.runs) {
				return s.runs[k]
			}
			return len(s.taken)
		}
		left, right := s.taken[s.runs[k]:end(k+1)], s.taken[end(k+1):end(k+2)]
		runs = append(runs, len(out))
		out = mergeBlocks(out, left, right)
	}
	s.runs = runs
	s.taken, s.merged = out, s.taken
}

// mergeBlocks appends two sorted lists as one.
func mergeBlocks(out, left, right []block) []block {
	for len(left) > 0 && len(right) > 0 {
		if left[0].at <= right[0].at {
			out, left = append(out, left[0]), left[1:]
		} else {
			out, right = append(out, right[0]), right[1:]
		}
	}
	return append(append(out, left...), right...)
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

// spent is the work since it was asked last, in units of solver.tick.
func (s *shelf) spent() int64 {
	cost := s.cost
	s.cost = 0
	return cost
}
