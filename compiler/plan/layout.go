package plan

import (
	"slices"

	"tlruntime/compiler/view"
)

// storage is memory for one value and all that come to share it.
type storage struct {
	value   int // for which it was made
	kind    Kind
	bytes   int64
	members []int       // values that lie in it, in the order in which they came
	copied  []view.View // what copies read and write of it
	output  int         // Kind Output: index into Checked.Outputs

	parent int   // the storage in which it is a slice, or -1
	nested []int // those that are slices of it
	slot   slot
	part   [2]int // the node and the argument that it is there

	first, last int // steps; set by lifetimes for storages without a parent
}

// place is where a value lies.
type place struct {
	storage int
	view    view.View // over the storage
}

// transfer is a copy from one place to another.
type transfer struct {
	from, to place
	in, out  int // values
}

// layout says for each value of a program where it lies.
type layout struct {
	*program
	apart    *apartness
	storages []storage
	at       []place      // by value
	top      []place      // by value: the same, in the storage without a parent
	born     []int        // by value: the step that makes it, -1: there before the first
	over     []int        // by value: the argument in whose place it was written, or -1
	copies   [][]transfer // by step
	joined   []bool       // by step: a Concat of which parts were written in place
	lastRead []int        // the program's, and what copies read
	final    []bool       // by value: written where an output lies that is a view of it

	walk     int   // the number of the walk of anySource
	seen     []int // by value: the last walk that came by
	open     []int // values that a walk has before it; kept for the next one
	compared int   // pairs of values of which separate was asked
}

// apartness says what is kept apart although the variant would share it.
type apartness struct {
	inPlace map[int]bool    // nodes that do not write in place
	views   map[int]bool    // nodes whose view is copied
	concats map[int]bool    // nodes whose parts are all copied
	parts   map[[2]int]bool // {node, argument} of a Concat that is copied
}

// newLayout gives every value a place.
func newLayout(p *program, apart *apartness) *layout {
	n := len(p.c.Values)
	l := &layout{program: p, apart: apart, at: make([]place, n), top: make([]place, n), born: make([]int, n),
		over: make([]int, n), copies: make([][]transfer, len(p.steps))}
	l.joined, l.lastRead, l.final = make([]bool, len(p.steps)), slices.Clone(p.lastRead), make([]bool, n)
	l.seen = make([]int, n)
	for v := range l.at {
		l.at[v].storage, l.over[v], l.born[v] = -1, -1, -1
	}
	for _, v := range p.c.Inputs {
		l.store(v, Input)
	}
	for v := range p.c.Values {
		if p.c.Values[v].Constant != nil {
			l.store(v, Constant)
		}
	}
	for k := range p.steps {
		l.lay(k)
	}
	l.gather()
	return l
}

// store makes a storage for v alone.
func (l *layout) store(v int, kind Kind) int {
	value := &l.c.Values[v]
	l.storages = append(l.storages, storage{value: v, kind: kind, bytes: value.Bytes(), parent: -1, output: -1})
	l.put(v, place{len(l.storages) - 1, view.Contiguous(value.Shape)})
	return len(l.storages) - 1
}

func (l *layout) put(v int, at place) {
	l.at[v], l.top[v] = at, at
	l.storages[at.storage].members = append(l.storages[at.storage].members, v)
}

// lay places the results of step k.
func (l *layout) lay(k int) {
	s := &l.steps[k]
	for _, v := range s.out {
		if v >= 0 {
			l.born[v] = k
		}
	}
	switch s.role {
	case shows:
		l.layView(k)
	case splits:
		l.laySplit(k)
	case delivers:
		l.deliver(k)
	default:
		l.layResults(k)
	}
}

// layResults gives each result a storage, or the place of an argument.
func (l *layout) layResults(k int) {
	s := &l.steps[k]
	over := -1
	if s.role == computes {
		over = l.overwrites(k)
	}
	for j, v := range s.out {
		w, wished := l.wishes[v]
		switch {
		case v < 0:
			continue
		case j == 0 && over >= 0 && (!wished || l.granted(s.in[over], w)):
			l.over[v] = s.in[over]
			l.put(v, place{l.at[s.in[over]].storage, l.at[s.in[over]].view})
		case wished:
			l.grant(v, w)
		case s.op == OpMoveOut:
			l.store(v, Outside)
		default:
			l.store(v, Activation)
		}
		l.claim(v)
	}
}

// claim makes the storage of v an output buffer when v is an output.
func (l *layout) claim(v int) {
	if l.kept[v] {
		st := &l.storages[l.at[v].storage]
		st.kind, st.output = Output, slices.Index(l.c.Outputs, v)
	}
}

// layView makes the result of step k a view of its argument, or copies where there
// is no such view.
func (l *layout) layView(k int) {
	s := &l.steps[k]
	x, y := s.in[0], s.out[0]
	from := l.at[x]
	shown, ok := show(l.c, &l.c.Nodes[s.node], from.view)
	if ok && !l.variant.noViews && !l.apart.views[s.node] {
		l.put(y, place{from.storage, shown})
		return
	}
	to := place{l.store(y, Activation), view.Contiguous(l.c.Values[y].Shape)}
	l.claim(y)
	from.view = shown
	if !ok {
		from.view = l.at[x].view
		to.view = view.Contiguous(l.c.Values[x].Shape)
	}
	l.lastRead[x] = max(l.lastRead[x], k)
	l.copies[k] = []transfer{l.transfer(x, from, y, to)}
}

// laySplit makes the results of step k slices of its argument.
func (l *layout) laySplit(k int) {
	s := &l.steps[k]
	from, attrs := l.at[s.in[0]], l.c.Nodes[s.node].Attrs
	at := int64(0)
	for i, size := range attrs.Ints("split") {
		part, _ := from.view.Part(int(attrs.Int("axis")), at, size)
		at += size
		if s.out[i] >= 0 {
			l.put(s.out[i], place{from.storage, part})
		}
	}
}

// deliver copies an output into a buffer of its own, unless it has one already.
func (l *layout) deliver(k int) {
	s := &l.steps[k]
	v := s.in[0]
	if l.give(v, s.output) {
		return
	}
	value := &l.c.Values[v]
	l.storages = append(l.storages, storage{value: v, kind: Output, bytes: value.Bytes(), parent: -1, output: s.output})
	to := place{len(l.storages) - 1, view.Contiguous(value.Shape)}
	l.copies[k] = []transfer{l.transfer(v, l.at[v], v, to)}
}

// transfer notes a copy, so that both ends stay expressible.
func (l *layout) transfer(x int, from place, y int, to place) transfer {
	l.storages[from.storage].copied = append(l.storages[from.storage].copied, from.view)
	l.storages[to.storage].copied = append(l.storages[to.storage].copied, to.view)
	return transfer{from: from, to: to, in: x, out: y}
}
