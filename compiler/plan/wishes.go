package plan

import (
	"slices"

	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/view"
)

// wish is how the elements of a value should lie so that a view of it lies row by row in
// a storage of its own: an output, a part of a Concat, or a Reshape that strides cannot
// express otherwise. An operator that writes its result that way saves a Copy.
type wish struct {
	target int       // the view that lies row by row
	view   view.View // of the value
}

// findWishes looks for values that are better written in another order than row by row.
func (p *program) findWishes() {
	p.wishes = map[int]wish{}
	if p.variant.plain || p.variant.noViews {
		return
	}
	takers := p.takers()
	for _, v := range p.wanted() {
		base, w, ok := p.wishFor(v, takers)
		if _, has := p.wishes[base]; ok && !has {
			p.wishes[base] = w
		}
	}
}

// wanted lists values that have to lie row by row: outputs, parts of Concats, and what
// no view shows when everything else lies row by row.
func (p *program) wanted() []int {
	list := slices.Clone(p.c.Outputs)
	lies := make([]view.View, len(p.c.Values))
	for v := range lies {
		lies[v] = view.Contiguous(p.c.Values[v].Shape)
	}
	for i := range p.c.Nodes {
		n := &p.c.Nodes[i]
		switch p.stepOf(i).role {
		case joins:
			list = append(list, n.Inputs...)
		case shows:
			shown, ok := show(p.c, n, lies[n.Inputs[0]])
			if ok {
				lies[n.Outputs[0]] = shown
			} else {
				list = append(list, n.Outputs[0])
			}
		}
	}
	return list
}

// takers counts how often each value is read, shown or given out.
func (p *program) takers() []int {
	n := make([]int, len(p.c.Values))
	for i := range p.c.Nodes {
		for _, v := range p.c.Nodes[i].Inputs {
			if v >= 0 {
				n[v]++
			}
		}
	}
	for _, v := range p.c.Outputs {
		n[v]++
	}
	return n
}

// wishFor goes from v through views to the value that an operator writes. Nobody else may
// take anything on this way: other readers want it row by row.
func (p *program) wishFor(v int, takers []int) (base int, w wish, ok bool) {
	at := view.Contiguous(p.c.Values[v].Shape)
	x := v
	for producer := p.c.Values[x].Producer; ; producer = p.c.Values[x].Producer {
		if producer < 0 {
			return 0, wish{}, false
		}
		n := &p.c.Nodes[producer]
		if p.stepOf(producer).role != shows {
			break
		}
		x = n.Inputs[0]
		shape := p.c.Values[x].Shape
		shown, ok := show(p.c, n, view.Contiguous(shape))
		if !ok || takers[x] != 1 {
			return 0, wish{}, false
		}
		if at, ok = view.Under(shown, at, shape); !ok {
			return 0, wish{}, false
		}
	}
	if x == v || at.IsContiguous() || !p.writes(x, at) {
		return 0, wish{}, false
	}
	return x, wish{v, at}, true
}

// writes reports whether the operator that makes v may write it as a view says: one that
// computes elements by themselves in any order, others as long as rows stay rows. An
// operator that is not known writes row by row.
func (p *program) writes(v int, at view.View) bool {
	producer := p.c.Values[v].Producer
	n := &p.c.Nodes[producer]
	op, known := ops.Normal(n.Op)
	if !known || p.stepOf(producer).role != computes || n.Outputs[0] != v {
		return false
	}
	if op.Elementwise {
		return true
	}
	for i, d := range slices.Backward(at.Shape) {
		if d > 1 {
			return at.Strides[i] == 1
		}
	}
	return false
}

// grant lays v as it is wished, in a storage of the view that wants it.
func (l *layout) grant(v int, w wish) {
	l.storages = append(l.storages, storage{value: w.target, kind: Activation, bytes: l.c.Values[v].Bytes(), parent: -1,
		output: -1})
	l.put(v, place{len(l.storages) - 1, w.view})
}

// granted reports whether v lies already as is wished for another value.
func (l *layout) granted(v int, w wish) bool {
	at := l.at[v]
	return at.view.Same(w.view) && l.storages[at.storage].bytes == l.c.Values[v].Bytes()
}

// give makes the storage of v the output buffer that is asked for, so that nothing has to
// be copied. It returns false when v is not the whole of it, row by row, or when the
// storage cannot be given away.
func (l *layout) give(v, output int) bool {
	st := &l.storages[l.at[v].storage]
	if st.kind != Activation || !l.fills(v) {
		return false
	}
	st.kind, st.output = Output, output
	l.lastRead[v] = len(l.steps)
	l.final[l.origin(v)] = true
	return true
}

// origin returns the value that was written where v shows elements.
func (l *layout) origin(v int) int {
	for k := l.born[v]; k >= 0 && !l.written(v) && l.steps[k].role != joins; k = l.born[v] {
		v = l.steps[k].in[0]
	}
	return v
}
