package flow

import "math/bits"

// Set is a set of variables.
type Set []uint64

// NewSet returns an empty set of variables below n.
func NewSet(n int) Set { return make(Set, (n+63)/64) }

// Has tells whether v is in the set. NoVar never is.
func (s Set) Has(v Var) bool { return v >= 0 && s[v/64]&(1<<(v%64)) != 0 }

// Add puts v into the set.
func (s Set) Add(v Var) { s[v/64] |= 1 << (v % 64) }

// Remove takes v out of the set.
func (s Set) Remove(v Var) { s[v/64] &^= 1 << (v % 64) }

// Union adds another set, and tells whether the set grew.
func (s Set) Union(other Set) (grew bool) {
	for i, word := range other {
		grew = grew || word&^s[i] != 0
		s[i] |= word
	}
	return grew
}

// Each calls visit with every variable of the set, in order.
func (s Set) Each(visit func(v Var)) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			visit(Var(i*64 + bits.TrailingZeros64(word)))
		}
	}
}

// Liveness tells which variables will be read again.
type Liveness struct {
	function *Function
	borrowed []Var // by variable: whose value it looks into; may be nil
	out      []Set // by block
}

// Live computes liveness backwards over the graph, to the least fixed point.
// borrowed[v] is the variable into whose value v looks without a reference of its
// own, or NoVar: reading v is reading that one, too.
func Live(f *Function, borrowed []Var) *Liveness {
	l := &Liveness{f, borrowed, make([]Set, len(f.Blocks))}
	in := make([]Set, len(f.Blocks))
	for i := range f.Blocks {
		l.out[i], in[i] = NewSet(len(f.Vars)), NewSet(len(f.Vars))
	}
	for changed := true; changed; {
		changed = false
		for i := len(f.Blocks) - 1; i >= 0; i-- {
			for _, s := range f.Blocks[i].Successors {
				l.out[i].Union(in[s])
			}
			if in[i].Union(l.before(i)) {
				changed = true
			}
		}
	}
	return l
}

func (l *Liveness) before(block int) (in Set) {
	in = l.Backward(block, func(int, *Op, Set) {})
	return in
}

// Backward walks a block from its end and calls visit with each operation and
// what is live behind it. It returns what is live before the block. The set is
// the walk's own.
func (l *Liveness) Backward(block int, visit func(i int, o *Op, after Set)) Set {
	live := NewSet(len(l.function.Vars))
	live.Union(l.out[block])
	ops := l.function.Blocks[block].Ops
	for i := len(ops) - 1; i >= 0; i-- {
		visit(i, &ops[i], live)
		l.step(&ops[i], live)
	}
	return live
}

// step turns what is live behind an operation into what is live before it.
func (l *Liveness) step(o *Op, live Set) {
	if o.Dst != NoVar && !o.Updates() {
		live.Remove(o.Dst)
	}
	if o.Updates() {
		l.read(o.Dst, live)
	}
	for _, a := range o.Args {
		if o.Code == Taken { // Reset has read what this looked into
			live.Add(a.Var)
			continue
		}
		l.read(a.Var, live)
	}
}

func (l *Liveness) read(v Var, live Set) {
	for v != NoVar {
		live.Add(v)
		if l.borrowed == nil {
			return
		}
		v = l.borrowed[v]
	}
}
