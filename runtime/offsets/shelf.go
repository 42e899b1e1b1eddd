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
	waiting []int32 // items by bucket, beside buckets that were not read yet
	from    []int32 // where those of a bucket begin in waiting; nil: none wait
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
	s.waiting, s.from = nil, nil
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
		list := s.bucket(b)
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

// fill is put for all items, for a shelf that is empty. A bucket is made when it is read first: who mends reads few.
func (s *shelf) fill() {
	s.from = make([]int32, len(s.buckets)+1)
	for b := range s.eachBucket {
		s.from[b+1]++
	}
	for b := range s.buckets {
		s.from[b+1] += s.from[b]
	}
	s.waiting = make([]int32, s.from[len(s.buckets)])
	next := slices.Clone(s.from)
	for b, i := range s.eachBucket {
		s.waiting[next[b]] = i
		next[b]++
	}
	for i := range s.in.items {
		s.frame = max(s.frame, s.end(int32(i)))
	}
}

// eachBucket yields every item that takes bytes with each bucket that it lives in.
func (s *shelf) eachBucket(yield func(bucket, item int32) bool) {
	for i := range s.in.items {
		it := &s.in.items[i]
		s.in.watch.visit(i, len(s.in.items))
		for b := it.first >> s.shift; it.size > 0 && b <= (it.end-1)>>s.shift; b++ {
			if !yield(b, int32(i)) {
				return
			}
		}
	}
}

// bucket lists what lives in a stretch of sections. What waits in it is where it was when the shelf was filled: what
// moves has been removed first.
func (s *shelf) bucket(b int32) []entry {
	if s.from != nil && s.buckets[b] == nil {
		s.open(b)
	}
	return s.buckets[b]
}

func (s *shelf) open(b int32) {
	waiting := s.waiting[s.from[b]:s.from[b+1]]
	list := make([]entry, len(waiting), len(waiting)+len(waiting)/8+4)
	for k, i := range waiting {
		list[k] = s.entry(i)
	}
	sortBy(list, s.in.watch, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	s.buckets[b] = list
}

// remove undoes put.
func (s *shelf) remove(i int32) {
	it := &s.in.items[i]
	if it.size == 0 {
		return
	}
	for b := it.first >> s.shift; b <= (it.end-1)>>s.shift; b++ {
		list := s.bucket(b)
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
	bucket := s.bucket(b)
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

// spent is the work since it was asked last, in units of solver.tick.
func (s *shelf) spent() int64 {
	cost := s.cost
	s.cost = 0
	return cost
}
