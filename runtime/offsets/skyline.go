package offsets

import (
	"cmp"
	"container/heap"
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
	byFirst [][]int32 // items by their first section, by end
	below   [][]int32 // beside byFirst: where to look on from an item that is placed
	valleys valleys
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

// skylined places every item.
func (in *instance) skylined(offset []int64) {
	s := &skyline{in: in, offset: offset, byFirst: make([][]int32, in.sections), below: make([][]int32, in.sections)}
	left := 0
	for i := range in.items {
		if it := &in.items[i]; it.size == 0 {
			offset[i] = it.up(0)
		} else {
			s.byFirst[it.first] = append(s.byFirst[it.first], int32(i))
			left++
		}
	}
	for f, list := range s.byFirst {
		slices.SortFunc(list, func(a, b int32) int {
			x, y := &in.items[a], &in.items[b]
			return cmp.Or(cmp.Compare(x.end, y.end), cmp.Compare(x.size, y.size), cmp.Compare(a, b))
		})
		s.below[f] = make([]int32, len(list)+1)
		for k := range s.below[f] {
			s.below[f][k] = int32(k)
		}
	}
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
	}
}

func (s *skyline) push(v *valley) { heap.Push(&s.valleys, v) }

// longest takes the longest-lived item inside a valley, -1 when there is none.
func (s *skyline) longest(v *valley) int32 {
	best, section, life := -1, int32(0), int32(0)
	for f := v.first; f < v.end && v.end-f > life; f++ {
		k := s.last(f, v.end)
		if k > 0 {
			if l := s.in.items[s.byFirst[f][k-1]].end - f; l > life {
				best, section, life = k-1, f, l
			}
		}
	}
	if best < 0 {
		return -1
	}
	s.below[section][best+1] = int32(best)
	return s.byFirst[section][best]
}

// last is one more than the index of the last unplaced item that starts in section
// f and ends no later than end; 0 when there is none.
func (s *skyline) last(f, end int32) int {
	list, below := s.byFirst[f], s.below[f]
	low, high := 0, len(list)
	for low < high {
		if half := (low + high) / 2; s.in.items[list[half]].end <= end {
			low = half + 1
		} else {
			high = half
		}
	}
	at := int32(low)
	for below[at] != at {
		below[at] = below[below[at]]
		at = below[at]
	}
	return int(at)
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
