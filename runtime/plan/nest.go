package plan

import (
	"slices"

	"tlruntime/runtime/plan/view"
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
		if l.apart.concats[s.node] || l.apart.parts[[2]int{s.node, i}] || !l.nest(s.in[i], parent, slot, [2]int{s.node, i}) {
			apart = append(apart, i)
		}
	}
	if len(apart) == len(s.in) {
		l.joined[k] = false
		return
	}
	for _, i := range apart {
		v, at := s.in[i], l.starts(k)[i]
		part, _ := slice(l.at[s.out[0]].view, axis, at, at+l.c.Values[v].Shape[axis])
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
	st.parent, st.slot, st.part = parent, to, part
	if l.lies(child) && !l.clash(child, parent) {
		return true
	}
	st.parent = -1
	return false
}

// lies reports whether every view of storage i and of what is nested in it can
// still be expressed.
func (l *layout) lies(i int) bool {
	for j := range l.storages {
		if !l.inside(j, i) {
			continue
		}
		for _, v := range l.storages[j].members {
			if _, ok := l.resolve(l.at[v]); !ok {
				return false
			}
		}
		for _, v := range l.storages[j].copied {
			if _, ok := l.resolve(place{j, v}); !ok {
				return false
			}
		}
	}
	return true
}

// inside reports whether storage i is, or is nested in, storage j.
func (l *layout) inside(i, j int) bool {
	for i != j && i >= 0 {
		i = l.storages[i].parent
	}
	return i == j
}

// clash reports whether a value in child, or in what is nested in it, would be
// overwritten by one in parent before its last use, or the other way round. Slices
// of parent beside child are not asked: they have no element in common with it.
func (l *layout) clash(child, parent int) bool {
	for i := range l.storages {
		if !l.inside(i, child) {
			continue
		}
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
	if !l.written(w) || l.born[w] > l.lastRead[v] || l.separate(v, w) {
		return false
	}
	for _, source := range l.sources(v, nil) {
		if source != w && l.born[source] <= l.born[w] && !l.separate(source, w) {
			return true
		}
	}
	return false
}

// separate reports whether two values have no element of memory in common.
func (l *layout) separate(v, w int) bool {
	a, _ := l.resolve(l.at[v])
	b, _ := l.resolve(l.at[w])
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

// sources appends the values whose writing gives v its elements: itself, what it
// is a view of, and for a Concat its parts as well.
func (l *layout) sources(v int, to []int) []int {
	k := l.born[v]
	if k < 0 || l.written(v) && l.steps[k].role != joins {
		return append(to, v)
	}
	s := &l.steps[k]
	if s.role == shows || s.role == splits {
		return l.sources(s.in[0], to)
	}
	for _, part := range s.in {
		to = l.sources(part, to)
	}
	return append(to, v)
}
