package plan

import (
	"slices"

	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/view"
)

// slot is where in its parent a storage lies: its rows of this length begin at
// base and every pitch elements after it.
type slot struct {
	rows             int64
	row, pitch, base int64 // in elements
}

// through returns the view of the parent that shows what v shows of the storage.
// It returns false when the elements that a stride joins lie in different rows.
func (s slot) through(v view.View) (view.View, bool) {
	out := view.View{Shape: v.Shape, Strides: slices.Clone(v.Strides), Offset: v.Offset + s.base}
	if s.rows == 1 || v.Elements() == 0 {
		return out, true
	}
	column := v.Offset % s.row
	low, high := column, column
	for i, d := range v.Shape {
		if d == 1 {
			continue
		}
		down, along := v.Strides[i]/s.row, v.Strides[i]%s.row
		low += min((d-1)*along, 0)
		high += max((d-1)*along, 0)
		out.Strides[i] = down*s.pitch + along
	}
	out.Offset = s.base + v.Offset/s.row*s.pitch + column
	return out, low >= 0 && high < s.row
}

// resolve returns a place in a storage without a parent.
func (l *layout) resolve(at place) (place, bool) {
	for l.storages[at.storage].parent >= 0 {
		st := &l.storages[at.storage]
		v, ok := st.slot.through(at.view)
		if !ok {
			return at, false
		}
		at = place{st.parent, v}
	}
	return at, true
}

// gather decides for the parts of every Concat which of them are written straight
// into the result, and copies the others.
func (l *layout) gather() {
	for k := range l.steps {
		if l.steps[k].role == joins {
			l.gatherParts(k)
		}
	}
}

func (l *layout) gatherParts(k int) {
	s := &l.steps[k]
	parent, axis := l.at[s.out[0]].storage, l.c.Nodes[s.node].Attrs.Int("axis")
	var apart []int
	l.joined[k] = true
	for i, at := range l.starts(k) {
		size := l.c.Values[s.in[i]].Shape[axis]
		slot := slotOf(l.c.Values[s.out[0]].Shape, axis, at, size)
		if l.apart.concats[s.node] || l.apart.parts[[2]int{s.node, i}] ||
			!l.nest(s.in[i], parent, slot, [2]int{s.node, i}) {
			apart = append(apart, i)
		}
	}
	if len(apart) == len(s.in) && !l.chained[s.node] {
		l.joined[k] = false
		return
	}
	for _, i := range apart {
		v, at := s.in[i], l.starts(k)[i]
		part, _ := l.at[s.out[0]].view.Part(int(axis), at, l.c.Values[v].Shape[axis])
		l.copies[k] = append(l.copies[k], l.transfer(v, l.at[v], v, place{parent, part}))
	}
}

// starts returns where on the axis of a Concat each part begins.
func (l *layout) starts(k int) []int64 {
	s := &l.steps[k]
	axis := l.c.Nodes[s.node].Attrs.Int("axis")
	list := make([]int64, len(s.in))
	for i, v := range s.in[:len(s.in)-1] {
		list[i+1] = list[i] + l.c.Values[v].Shape[axis]
	}
	return list
}

// slotOf returns the slot of the elements from at on along an axis of a tensor.
func slotOf(whole []int64, axis, at, size int64) slot {
	rows, inner := int64(1), int64(1)
	for _, d := range whole[:axis] {
		rows *= d
	}
	for _, d := range whole[axis+1:] {
		inner *= d
	}
	return slot{rows: rows, row: size * inner, pitch: whole[axis] * inner, base: at * inner}
}

// nest makes the storage of v a slice of parent. It returns false, and changes
// nothing, where that cannot be.
func (l *layout) nest(v, parent int, to slot, part [2]int) bool {
	child := l.at[v].storage
	st := &l.storages[child]
	if st.kind != Activation || st.parent >= 0 || child == parent || l.kept[v] || !l.fills(v) {
		return false
	}
	inside := l.inside(child, nil)
	tops, ok := l.lifted(inside, to, parent)
	if !ok {
		return false
	}
	before := make(map[int]place, len(tops))
	for u, at := range tops {
		before[u], l.top[u] = l.top[u], at
	}
	st.parent, st.slot, st.part = parent, to, part
	if l.copiesLie(inside) && !l.clash(inside, parent) {
		l.storages[parent].nested = append(l.storages[parent].nested, child)
		return true
	}
	st.parent = -1
	for u, at := range before {
		l.top[u] = at
	}
	return false
}

// inside appends storage i and all that are nested in it.
func (l *layout) inside(i int, to []int) []int {
	to = append(to, i)
	for _, j := range l.storages[i].nested {
		to = l.inside(j, to)
	}
	return to
}

// lifted returns where the values of these storages lie in parent when their root
// becomes a slice of it; false when a view cannot be expressed there.
func (l *layout) lifted(inside []int, to slot, parent int) (map[int]place, bool) {
	tops := map[int]place{}
	for _, i := range inside {
		for _, v := range l.storages[i].members {
			shown, ok := to.through(l.top[v].view)
			if !ok || l.opaque(v) && !shown.IsContiguous() {
				return nil, false
			}
			tops[v] = place{parent, shown}
		}
	}
	return tops, true
}

// opaque reports whether v is the result of an operator that is not known, which writes
// row by row.
func (l *layout) opaque(v int) bool {
	k := l.born[v]
	return k >= 0 && l.written(v) && !ops.Known(l.steps[k].op)
}

// copiesLie reports whether what copies read and write of these storages can still
// be expressed.
func (l *layout) copiesLie(inside []int) bool {
	for _, i := range inside {
		for _, v := range l.storages[i].copied {
			if _, ok := l.resolve(place{i, v}); !ok {
				return false
			}
		}
	}
	return true
}

// clash reports whether a value in one of these storages would be overwritten by
// one in parent before its last use, or the other way round. Slices of parent
// beside them are not asked: they have no element in common.
func (l *layout) clash(inside []int, parent int) bool {
	for _, i := range inside {
		for _, v := range l.storages[i].members {
			for _, w := range l.storages[parent].members {
				if l.overwritten(v, w) || l.overwritten(w, v) {
					return true
				}
			}
		}
	}
	return false
}

// overwritten reports whether an instruction writes w over elements of v that are
// needed later.
func (l *layout) overwritten(v, w int) bool {
	if l.born[w] > l.lastRead[v] || !l.written(w) || l.separate(v, w) {
		return false
	}
	return l.anySource(v, func(source int) bool {
		return l.born[source] <= l.born[w] && source != w && !l.separate(source, w)
	})
}

// separate reports whether two values have no element of memory in common.
func (l *layout) separate(v, w int) bool {
	l.compared++
	a, b := &l.top[v], &l.top[w]
	return a.storage != b.storage || disjoint(a.view, b.view)
}

// written reports whether an instruction writes v as a whole.
func (l *layout) written(v int) bool {
	k := l.born[v]
	if k < 0 {
		return false
	}
	switch l.steps[k].role {
	case shows:
		return len(l.copies[k]) > 0
	case splits:
		return false
	case joins:
		return !l.joined[k]
	}
	return true
}

// anySource looks among the values whose writing gives v its elements: itself, what it
// is a view of, and for a Concat its parts as well.
func (l *layout) anySource(v int, is func(int) bool) bool {
	l.walk++
	open := append(l.open[:0], v)
	defer func() { l.open = open }()
	for len(open) > 0 {
		v := open[len(open)-1]
		open = open[:len(open)-1]
		if l.seen[v] == l.walk {
			continue
		}
		l.seen[v] = l.walk
		k := l.born[v]
		if k < 0 || l.written(v) && l.steps[k].role != joins {
			if is(v) {
				return true
			}
			continue
		}
		s := &l.steps[k]
		if s.role == joins {
			if is(v) {
				return true
			}
			open = append(open, s.in...)
		} else {
			open = append(open, s.in[0])
		}
	}
	return false
}
