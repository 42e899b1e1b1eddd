package offsets

import (
	"cmp"
	"container/heap"
	"math"
)

// skyline fills the lowest valley of what is placed so far with the item that
// lives longest inside it, and lifts the valley to its lower side when none does:
// Burke, Kendall and Whitwell, "A new placement heuristic for the orthogonal
// stock-cutting problem", 2004, and for memory Sekiyama et al., "Profile-guided
// memory optimization for deep neural networks", 2018. It takes no holes and no pins.
type skyline struct {
	in      *instance
	offset  []int64
	start   []int32 // where the items of a section begin in sorted, and where the last one's end
	sorted  []int32 // items by their first section, by end
	below   []int32 // beside sorted, one more for each section: where to look on from an item that is placed
	head    []int32 // by section: so many at its beginning are placed
	waiting waiting
	valleys valleys
	cost    int64
}

// valley is a stretch of sections of one height between higher ones.
type valley struct {
	span
	height      int64
	left, right *valley
	gone        bool
}

type valleys []*valley

func (v valleys) Len() int { return len(v) }
func (v valleys) Less(i, j int) bool {
	return v[i].height < v[j].height || v[i].height == v[j].height && v[i].first < v[j].first
}
func (v valleys) Swap(i, j int) { v[i], v[j] = v[j], v[i] }
func (v *valleys) Push(x any)   { *v = append(*v, x.(*valley)) }
func (v *valleys) Pop() any {
	old := *v
	x := old[len(old)-1]
	*v = old[:len(old)-1]
	return x
}

// waiting are bounds for the items that are not placed, of stretches of sections in which they begin: a tree, the
// sections from half on.
type waiting struct {
	half int32
	life []int32 // the longest of them
	end  []int32 // the earliest end of them
}

// skylined places every item; with stop it may give up, and says whether it did not.
func (in *instance) skylined(offset []int64, tick func(units int64) bool, stop bool) bool {
	s := in.newSkyline(offset)
	left := len(s.sorted)
	s.push(&valley{span: span{0, int32(in.sections)}})
	for left > 0 {
		v := heap.Pop(&s.valleys).(*valley)
		if v.gone {
			continue
		}
		if i := s.longest(v); i >= 0 {
			s.put(v, i)
			left--
		} else {
			s.lift(v)
		}
		if late := tick(4*s.cost + 64); late && stop {
			return false
		}
		s.cost = 0
	}
	return true
}

func (in *instance) newSkyline(offset []int64) *skyline {
	for i := range in.items {
		if it := &in.items[i]; it.size == 0 {
			offset[i] = it.up(0)
		}
	}
	s := &skyline{in: in, offset: offset}
	s.sorted, s.start = in.grouped(false, false)
	for f := range in.sections {
		in.watch(unitsOfVisit)
		sortBy(s.sorted[s.start[f]:s.start[f+1]], in.watch, func(a, b int32) int {
			x, y := &in.items[a], &in.items[b]
			return cmp.Or(cmp.Compare(x.end, y.end), cmp.Compare(x.size, y.size), cmp.Compare(a, b))
		})
	}
	s.below, s.head = make([]int32, len(s.sorted)+in.sections), make([]int32, in.sections)
	for k := range s.below {
		s.below[k] = int32(k)
	}
	s.wait()
	return s
}

func (w *waiting) set(f, life, end int32) { w.life[w.half+f], w.end[w.half+f] = life, end }

func (w *waiting) join(n int32) {
	w.life[n], w.end[n] = max(w.life[2*n], w.life[2*n+1]), min(w.end[2*n], w.end[2*n+1])
}

// update is set, for a tree that is complete.
func (w *waiting) update(f, life, end int32) {
	w.set(f, life, end)
	for n := (w.half + f) / 2; n > 0; n /= 2 {
		w.join(n)
	}
}

// wait fills the tree; stretches without items have no life and never end.
func (s *skyline) wait() {
	w := &s.waiting
	for w.half = 1; int(w.half) < s.in.sections; {
		w.half *= 2
	}
	w.life, w.end = make([]int32, 2*w.half), make([]int32, 2*w.half)
	for f := range w.half {
		s.in.watch(unitsOfVisit)
		w.set(f, 0, math.MaxInt32)
		if int(f) < s.in.sections {
			w.set(f, s.lifeAt(f), s.endAt(f))
		}
	}
	for n := w.half - 1; n > 0; n-- {
		w.join(n)
	}
}

// lifeAt is the longest life of the items that wait in a section, 0 without one.
func (s *skyline) lifeAt(f int32) int32 {
	if k := s.last(f, math.MaxInt32); k > 0 {
		return s.in.items[s.sorted[s.start[f]+k-1]].end - f
	}
	return 0
}

// endAt is the earliest end of those items.
func (s *skyline) endAt(f int32) int32 {
	list := s.sorted[s.start[f]:s.start[f+1]]
	for base := s.start[f] + f + 1; int(s.head[f]) < len(list); s.head[f]++ {
		if at := base + s.head[f]; s.below[at] == at {
			return s.in.items[list[s.head[f]]].end
		}
	}
	return math.MaxInt32
}

func (s *skyline) push(v *valley) { heap.Push(&s.valleys, v) }

// best is an item that fits into a valley: the section that it begins in, its place there, its life.
type best struct{ section, place, life int32 }

// longest takes the longest-lived item inside a valley, -1 when there is none.
func (s *skyline) longest(v *valley) int32 {
	b := best{}
	s.search(1, span{0, s.waiting.half}, v, &b)
	if b.life == 0 {
		return -1
	}
	at := s.start[b.section] + b.section + b.place
	s.below[at] = at - 1
	s.waiting.update(b.section, s.lifeAt(b.section), s.endAt(b.section))
	return s.sorted[s.start[b.section]+b.place-1]
}

// search looks for a longer-lived one than b below a node of the tree.
func (s *skyline) search(node int32, has span, v *valley, b *best) {
	w := &s.waiting
	s.cost++
	switch {
	case has.end <= v.first || has.first >= v.end || w.end[node] > v.end,
		min(w.life[node], v.end-max(has.first, v.first)) <= b.life:
	case node >= w.half:
		if k := s.last(has.first, v.end); k > 0 {
			if life := s.in.items[s.sorted[s.start[has.first]+k-1]].end - has.first; life > b.life {
				*b = best{has.first, k, life}
			}
		}
	default:
		middle := (has.first + has.end) / 2
		s.search(2*node, span{has.first, middle}, v, b)
		s.search(2*node+1, span{middle, has.end}, v, b)
	}
}

// last is one more than the index of the last unplaced item that starts in section
// f and ends no later than end; 0 when there is none.
func (s *skyline) last(f, end int32) int32 {
	list, base := s.sorted[s.start[f]:s.start[f+1]], s.start[f]+f
	low, high := 0, len(list)
	for low < high {
		if half := (low + high) / 2; s.in.items[list[half]].end <= end {
			low = half + 1
		} else {
			high = half
		}
	}
	at := base + int32(low)
	for s.below[at] != at {
		s.below[at] = s.below[s.below[at]]
		at = s.below[at]
	}
	return at - base
}

// put places item i on the ground of a valley, which it may split.
func (s *skyline) put(v *valley, i int32) {
	it := &s.in.items[i]
	s.offset[i] = it.up(v.height)
	v.gone = true
	hill := &valley{span: it.span, height: s.offset[i] + it.size, left: v.left, right: v.right}
	if it.first > v.first {
		rest := &valley{span: span{v.first, it.first}, height: v.height, left: v.left}
		rest.join(v.left, hill)
		s.push(rest)
	} else if v.left != nil {
		v.left.right = hill
	}
	if it.end < v.end {
		rest := &valley{span: span{it.end, v.end}, height: v.height}
		rest.join(hill, v.right)
		s.push(rest)
	} else if v.right != nil {
		v.right.left = hill
	}
	s.push(s.level(hill))
}

func (v *valley) join(left, right *valley) {
	v.left, v.right = left, right
	if left != nil {
		left.right = v
	}
	if right != nil {
		right.left = v
	}
}

// level joins a stretch with neighbours of its height.
func (s *skyline) level(v *valley) *valley {
	if l := v.left; l != nil && l.height == v.height {
		l.gone = true
		v.first = l.first
		v.join(l.left, v.right)
	}
	if r := v.right; r != nil && r.height == v.height {
		r.gone = true
		v.end = r.end
		v.join(v.left, r.right)
	}
	return v
}

// lift raises a valley in which nothing fits to its lower side.
func (s *skyline) lift(v *valley) {
	height := none
	if v.left != nil {
		height = min(height, v.left.height)
	}
	if v.right != nil {
		height = min(height, v.right.height)
	}
	v.gone = true
	lifted := &valley{span: v.span, height: height}
	lifted.join(v.left, v.right)
	s.push(s.level(lifted))
}
