package offsets

import (
	"cmp"
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
	taken   []piece // of the last query
	merged  []piece
	runs    []int // where sorted stretches of taken begin
	cost    int64 // entries read and moved since the last call of spent
	frame   int64
}

// entry repeats what a query reads of an item, to read it in one place.
type entry struct {
	piece
	span
}

// block is a range of bytes [at, end).
type block struct{ at, end int64 }

// piece is the range of an item.
type piece struct {
	block
	item int32
}

func newShelf(in *instance, offset []int64) *shelf {
	s := &shelf{in: in, offset: offset, shift: in.bucketShift()}
	s.buckets = make([][]entry, in.sections>>s.shift+1)
	return s
}

// bucketShift makes buckets about as wide as the mean lifetime.
func (in *instance) bucketShift() uint {
	return uint(bits.Len64(uint64(in.volume()) / uint64(max(1, len(in.items)))))
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
	e := s.entry(i)
	s.frame = max(s.frame, e.block.end)
	if it.size == 0 {
		return
	}
	for b := it.first >> s.shift; b <= (it.end-1)>>s.shift; b++ {
		list := s.buckets[b]
		low := above(list, e.at)
		s.cost += int64(2 + (len(list)-low)/8)
		s.buckets[b] = slices.Insert(list, low, e)
	}
}

func (s *shelf) entry(i int32) entry {
	it := &s.in.items[i]
	return entry{piece{block{s.offset[i], s.offset[i] + it.size}, i}, it.span}
}

// above is the index of the first entry that lies above an offset.
func above(list []entry, at int64) int {
	low, high := 0, len(list)
	for low < high {
		if half := (low + high) / 2; list[half].at <= at {
			low = half + 1
		} else {
			high = half
		}
	}
	return low
}

// fill is put for all items, for a shelf that is empty.
func (s *shelf) fill() {
	order := s.in.every()
	sortBy(order, s.in.watch, func(a, b int32) int { return cmp.Compare(s.offset[a], s.offset[b]) })
	for k, i := range order {
		it, e := &s.in.items[i], s.entry(i)
		s.in.watch.visit(k, len(order))
		s.frame = max(s.frame, e.block.end)
		if s.offset[i] < 0 { // it lies nowhere
			continue
		}
		for b := it.first >> s.shift; it.size > 0 && b <= (it.end-1)>>s.shift; b++ {
			s.buckets[b] = append(s.buckets[b], e)
		}
	}
}

// end of what is placed.
func (s *shelf) end(i int32) int64 { return s.offset[i] + s.in.items[i].size }

// remove undoes put.
func (s *shelf) remove(i int32) {
	it := &s.in.items[i]
	if it.size == 0 {
		return
	}
	for b := it.first >> s.shift; b <= (it.end-1)>>s.shift; b++ {
		list := s.buckets[b]
		at := above(list, s.offset[i]-1)
		for list[at].item != i {
			at++
		}
		s.cost += int64(2 + (len(list)-at)/8)
		s.buckets[b] = slices.Delete(list, at, at+1)
	}
}

// around lists what is taken during the life of it, by offset.
func (s *shelf) around(it *item) []piece {
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
	bucket := s.buckets[b]
	s.cost += int64(4 + len(bucket))
	begin := int32(0)
	if later {
		begin = b << s.shift
	}
	n := len(s.taken)
	taken := slices.Grow(s.taken, len(bucket))[:n+len(bucket)]
	first, end := it.span.first, it.span.end
	for k := range bucket {
		e := &bucket[k]
		taken[n] = e.piece
		// One more where e.first < end, first < e.end and begin <= e.first, without branches, which would be a toss-up.
		n += int(uint32((e.first-end)&(first-e.span.end)&(begin-1-e.first)) >> 31)
	}
	if s.in.alive != nil {
		n = len(s.taken) + len(slices.DeleteFunc(taken[len(s.taken):n], func(x piece) bool {
			return !s.in.conflict(it, &s.in.items[x.item])
		}))
	}
	s.taken = taken[:n]
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
		out = mergePieces(out, left, right)
	}
	s.runs = runs
	s.taken, s.merged = out, s.taken
}

// mergePieces appends two sorted lists as one.
func mergePieces(out, left, right []piece) []piece {
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

// spent is the work since it was asked last, in units of solver.tick.
func (s *shelf) spent() int64 {
	cost := s.cost
	s.cost = 0
	return cost
}
