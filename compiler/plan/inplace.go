package plan

import (
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/view"
)

// MayOverwrite reports whether the first result of an operator may take over the
// buffer of its argument with this number: graph.Operator.InPlace, which kernels hold
// to. A kernel of LRN, for one, has to keep the inputs of its window.
func MayOverwrite(op string, argument int) bool {
	o, _ := ops.Normal(op)
	return o.MayOverwrite(argument)
}

// overwrites returns the number of the argument whose place the first result of
// step k takes over, or -1.
func (l *layout) overwrites(k int) int {
	s := &l.steps[k]
	if l.variant.noInPlace || l.apart.inPlace[s.node] || l.alone[s.node] || len(s.out) == 0 || s.out[0] < 0 {
		return -1
	}
	best := -1
	for i, v := range s.in {
		if !MayOverwrite(s.op, i) || !l.dies(k, i) {
			continue
		}
		if l.fills(v) {
			return i
		}
		if best < 0 {
			best = i
		}
	}
	return best
}

// dies reports whether nobody needs argument i of step k, nor anything that shares
// elements with it, once the first result took its place.
func (l *layout) dies(k, i int) bool {
	s := &l.steps[k]
	v, y := s.in[i], s.out[0]
	if v < 0 || !l.fits(v, y) || l.lastTake[v] > k {
		return false
	}
	at := l.at[v]
	for _, u := range l.storages[at.storage].members {
		if l.lastTake[u] > k && !disjoint(at.view, l.at[u].view) {
			return false
		}
	}
	for j, u := range s.in {
		if u < 0 || l.at[u].storage != at.storage || disjoint(at.view, l.at[u].view) {
			continue
		}
		if !MayOverwrite(s.op, j) || !l.at[u].view.Same(at.view) {
			return false
		}
	}
	return true
}

// fits reports whether y can lie where v lies: the same elements in the same
// shape, in memory that may be written and that v does not keep alive for long.
func (l *layout) fits(v, y int) bool {
	a, b := &l.c.Values[v], &l.c.Values[y]
	st := &l.storages[l.at[v].storage]
	if !alike(a, b) || st.kind != Activation || repeats(l.at[v].view) {
		return false
	}
	if l.fills(v) {
		return true
	}
	if l.kept[y] {
		return false
	}
	last := 0
	for _, u := range st.members {
		last = max(last, l.lastUse[u])
	}
	return 2*a.Bytes() >= st.bytes || last >= l.lastUse[y]
}

// fills reports whether v is the whole of its storage, row by row.
func (l *layout) fills(v int) bool {
	at := l.at[v]
	return at.view.IsContiguous() && l.c.Values[v].Bytes() == l.storages[at.storage].bytes
}

// repeats reports whether some element of the buffer is shown more than once.
func repeats(v view.View) bool {
	for i, d := range v.Shape {
		if d > 1 && v.Strides[i] == 0 {
			return true
		}
	}
	return false
}
