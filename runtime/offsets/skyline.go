package offsets

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// skyline fills the lowest valley of what is placed so far with the item that
// lives longest inside it, and lifts the valley to its lower side when none does:
// Burke, Kendall and Whitwell, "A new placement heuristic for the orthogonal
// stock-cutting problem", 2004, and for memory Sekiyama et al., "Profile-guided
// memory optimization for deep neural networks", 2018. It takes no holes and no pins.
type skyline struct {
	in      *instance
	offset  []int64
	order   []int32 // the items as they begin, and as they end
	start   []int32 // where those of a section begin in order, and where the last one's end
	half    int32   // waiting is a tree, with the items of order from half on
	waiting []waits
	valleys valleys
	cost    int64
}

// waits bounds the items below a node that are not placed: the longest life, and the earliest end.
type waits struct{ life, end int32 }

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

// skylined places every item, unless tick ends it. It says whether it came to the end.
func (in *instance) skylined(offset []int64, tick func(units int64) bool) bool {
	s := in.newSkyline(offset)
	s.push(&valley{span: span{0, int32(in.sections)}})
	for left := len(s.order); left > 0; {
		v := heap.Pop(&s.valleys).(*valley)
		if v.gone {
			continue
		}
		within := span{s.start[v.first], s.start[v.end]}
		if at, _ := s.longest(1, span{0, s.half}, within, v, 0); at >= 0 {
			s.put(v, s.order[at])
			s.leave(at)
			left--
		} else {
			s.lift(v)
		}
		if tick(4*s.cost + 64) {
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
	s := &skyline{in: in, offset: offset, half: 1}
	s.order, s.start = in.grouped(false, false)
	for f := range in.sections {
		in.watch(unitsOfVisit)
		sortBy(s.order[s.start[f]:s.start[f+1]], in.watch, func(a, b int32) int {
			x, y := &in.items[a], &in.items[b]
			return cmp.Or(cmp.Compare(x.end, y.end), cmp.Compare(x.size, y.size), cmp.Compare(a, b))
		})
	}
	for int(s.half) < len(s.order) {
		s.half *= 2
	}
	s.waiting = slices.Repeat([]waits{{0, math.MaxInt32}}, int(2*s.half))
	for k, i := range s.order {
		it := &in.items[i]
		s.waiting[s.half+int32(k)] = waits{it.end - it.first, it.end}
	}
	for node := s.half - 1; node > 0; node-- {
		s.join(node)
		in.watch(unitsOfVisit)
	}
	return s
}

func (s *skyline) join(node int32) {
	a, b := &s.waiting[2*node], &s.waiting[2*node+1]
	s.waiting[node] = waits{max(a.life, b.life), min(a.end, b.end)}
}

// leave takes an item off the tree that is placed.
func (s *skyline) leave(at int32) {
	node := s.half + at
	s.waiting[node] = waits{0, math.MaxInt32}
	for node /= 2; node > 0; node /= 2 {
		s.join(node)
	}
}

func (s *skyline) push(v *valley) { heap.Push(&s.valleys, v) }

// longest finds the item below a node, of those that begin within a valley, that lives longest inside it, and longer
// than another: its place in the order and its life; -1 where there is none.
func (s *skyline) longest(node int32, has, within span, v *valley, than int32) (at, life int32) {
	w := &s.waiting[node]
	s.cost++
	switch {
	case max(has.first, within.first) >= min(has.end, within.end), w.end > v.end, w.life <= than:
		return -1, than
	case node >= s.half:
		return node - s.half, w.life
	case v.end-s.in.items[s.order[max(has.first, within.first)]].first <= than: // it begins too late
		return -1, than
	}
	middle := (has.first + has.end) / 2
	at, life = s.longest(2*node, span{has.first, middle}, within, v, than)
	if right, more := s.longest(2*node+1, span{middle, has.end}, within, v, life); right >= 0 {
		return right, more
	}
	return at, life
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
