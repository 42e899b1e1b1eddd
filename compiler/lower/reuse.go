package lower

import (
	"slices"

	"tlruntime/compiler/lower/flow"
)

// reuse is a cell that ends before another one of its type is made, in one block, and becomes that one.
type reuse struct {
	of     flow.Var
	at     int        // the operation before which the variable's reference is given up
	taken  []flow.Var // what has been read from the cell and is still needed: it gets the cell's references
	fields []int      // where that was read
	where  place      // the operation New
}

// reuse lets cells become those that are made after their last use, as in "Perceus" and
// "Reference Counting with Frame-Limited Reuse" (Lorenzen and Leijen, ICFP 2022). Reset
// gives a reference up. Where it is the only one, the cell is kept for New, and what it
// refers to is dropped or belongs to variables; else these acquire. So what was read from a
// unique cell is unique as well when it is handed to a function that gets it.
func (f *function) reuse() {
	if !f.reusing() {
		return
	}
	for before := -1; before < f.reused; {
		before = f.reused
		for f.endAhead() {
			f.analyse()
		}
		resets := make([]map[int][]flow.Op, len(f.Blocks))
		waits := map[flow.Var]bool{} // until it is known what the others change
		for _, r := range f.reuses() {
			if !f.owned(r.of) || waits[r.of] && r.at == 0 {
				continue
			}
			if waits[r.of] = true; resets[r.where.block] == nil {
				resets[r.where.block] = map[int][]flow.Op{}
			}
			at := resets[r.where.block]
			b := f.Blocks[r.where.block]
			rest, made := b.Ops[r.at:], f.at(r.where)
			at[r.at] = append(at[r.at], f.reset(r, f.scopeBefore(&b.Ops[r.at]), []*flow.Op{made}, [][]flow.Op{rest})...)
			f.reused++
		}
		for i, at := range resets {
			f.insert(f.Blocks[i], at)
		}
		f.analyse()
	}
}

func (f *function) reusing() bool {
	return len(f.cells) > 0 && !f.options.NoReuse && !f.options.NoMoves
}

// readEarly moves what reads a field of a cell in front of calls, of what makes cells of
// the type, and of what reads a cell that was read from this one, between it and the
// operation before it on the variable: so the cell can end before, and the other behind it.
func (f *function) readEarly() {
	from := f.sources()
	for _, b := range f.Blocks {
		for i := range b.Ops {
			o := b.Ops[i]
			if o.Code != flow.Load || !f.isCell(o.Type) {
				continue
			}
			to := i
			for at := i; at > 0 && !f.bars(&b.Ops[at-1], &o); at-- {
				before := &b.Ops[at-1]
				if before.Code == flow.Call || before.Code == flow.New && before.Type == o.Type ||
					before.Code == flow.Load && readFrom(from, before.Args[0].Var, o.Args[0].Var) {
					to = at - 1
				}
			}
			if to < i {
				o.Scope = f.scopeBefore(&b.Ops[to])
				copy(b.Ops[to+1:], b.Ops[to:i])
				b.Ops[to] = o
				f.Vars[o.Dst].Scope = f.outside(f.Vars[o.Dst].Scope)
			}
		}
	}
}

func readFrom(sources []flow.Var, v, cell flow.Var) bool {
	return v != flow.NoVar && cell != flow.NoVar && sources[v] == cell
}

// sources tells of each variable that is given a value once from whose cell it was read; else NoVar.
func (f *function) sources() []flow.Var {
	from, given := slices.Repeat([]flow.Var{flow.NoVar}, len(f.Vars)), flow.NewSet(len(f.Vars))
	f.Each(func(o *flow.Op) {
		if o.Dst == flow.NoVar {
			return
		}
		from[o.Dst] = flow.NoVar
		if o.Code == flow.Load && !given.Has(o.Dst) {
			from[o.Dst] = o.Args[0].Var
		}
		given.Add(o.Dst)
	})
	return from
}

// takeOut has a variable lose what is read from a field and handed on before the field is
// given another value: as in x.next = f(x.next), where f gets a list that may be unique.
// The variable has a value of its own before.
func (f *function) takeOut() {
	if !f.reusing() {
		return
	}
	for _, b := range f.Blocks {
		for i := 0; i < len(b.Ops); i++ {
			o := b.Ops[i]
			if o.Code != flow.Load || !f.isCell(o.Type) || !f.counted(o.Dst) || f.changes.Has(o.Dst) {
				continue
			}
			set := f.replacing(b.Ops[i:])
			if set == nil {
				continue
			}
			set.Code = flow.Put
			own := flow.Op{Code: flow.Unshare, Dst: o.Args[0].Var, Type: o.Type, Slot: flow.Heap, Scope: o.Scope}
			b.Ops[i].Code = flow.Take
			b.Ops = slices.Insert(b.Ops, i, own)
		}
	}
}

// replacing is the next operation on the variable, if that gives the field that the first
// one reads another value, and something takes what was read; else nil.
func (f *function) replacing(ops []flow.Op) *flow.Op {
	load, taken := &ops[0], false
	for i := range ops[1:] {
		o := &ops[i+1]
		for arg, a := range o.Args {
			taken = taken || a.Var == load.Dst && o.Code != flow.Copy && f.takes(o, arg)
		}
		if taken && o.Code == flow.SetField && o.Dst == load.Args[0].Var && o.Index == load.Index &&
			o.Args[0].Var != o.Dst {
			return o
		}
		if touches(o, load.Args[0].Var) {
			return nil
		}
	}
	return nil
}

// bars tells whether a Load has to stay behind an operation. Scopes of statements do not
// matter, unless the runtime may have to know the value there.
func (f *function) bars(o, load *flow.Op) bool {
	if o.Code == flow.Open || o.Code == flow.Close {
		t := f.Vars[load.Dst].Type
		return f.Scopes[o.Index].Kind != flow.StatementScope || t.Counted() && !f.isCell(t)
	}
	return touches(o, load.Args[0].Var) || touches(o, load.Dst)
}

// scopeBefore is the innermost scope at the place of an operation.
func (f *function) scopeBefore(o *flow.Op) int {
	if o.Code == flow.Open {
		return f.Scopes[o.Index].Parent
	}
	return o.Scope
}

// outside is the scope around statements that a scope is in.
func (f *function) outside(scope int) int {
	for f.Scopes[scope].Kind == flow.StatementScope {
		scope = f.Scopes[scope].Parent
	}
	return scope
}

// consume finds the variables that would be cursors over a parameter which nothing else
// reads, and whose cells could be built anew on the way. They own what they walk through.
func (f *function) consume() {
	f.consumed = flow.NewSet(len(f.Vars))
	if !f.reusing() {
		return
	}
	f.analyse()
	for p := range flow.Var(f.Params) {
		if len(f.uses[p]) != 1 || f.at(f.uses[p][0]).Code != flow.Copy || !f.isCell(f.Vars[p].Type) {
			continue
		}
		if v := f.at(f.uses[p][0]).Dst; f.cursors.Has(v) {
			f.consumed.Add(v)
			f.analyse()
			if !slices.ContainsFunc(f.reuses(), func(r reuse) bool { return r.of == v }) {
				f.consumed.Remove(v)
			}
		}
	}
}

// reuses finds those of all blocks.
func (f *function) reuses() (all []reuse) {
	live := flow.Live(f.Function, nil)
	for block, b := range f.Blocks {
		if !slices.ContainsFunc(b.Ops, f.makesCell) {
			continue
		}
		before := make([]flow.Set, len(b.Ops)+1) // what is live before each operation
		before[0] = live.Backward(block, func(i int, _ *flow.Op, after flow.Set) {
			before[i+1] = slices.Clone(after)
		})
		state := slices.Clone(f.in[block])
		for i := range b.Ops {
			if f.makesCell(b.Ops[i]) {
				if r, found := f.latest(place{block, i}, before, state); found {
					all = append(all, r)
					if f.owned(r.of) {
						state[f.rank[r.of]] = gone
					}
				}
			}
			f.step(place{block, i}, state)
		}
	}
	return all
}

// makesCell tells whether an operation makes a cell in new memory.
func (f *function) makesCell(o flow.Op) bool {
	return o.Code == flow.New && f.isCell(o.Type) && !slices.Contains(o.Fields, flow.Token)
}

// latest finds the variable whose cell can become what New makes: the one that was used last.
func (f *function) latest(p place, live []flow.Set, state []holding) (best reuse, found bool) {
	b := f.Blocks[p.block]
	for v := range flow.Var(len(f.Vars)) {
		if f.Vars[v].Type != b.Ops[p.op].Type || !f.mayEnd(v, state) || live[p.op].Has(v) {
			continue
		}
		at := p.op // behind the last operation on the variable
		for at > 0 && !touches(&b.Ops[at-1], v) {
			at--
		}
		for b.Ops[at].Code == flow.Open { // the block may be an arm, whose scope ends with it
			at++
		}
		r := reuse{of: v, at: at, where: p}
		if (!found || at > best.at) && f.keep(&r, live[at], live[len(b.Ops)]) && !f.comesBack(place{p.block, at}, v) {
			best, found = r, true
		}
	}
	return best, found
}

// mayEnd tells whether a variable has a reference to give up: an Owned one for certain, and a parameter that would be
// one.
func (f *function) mayEnd(v flow.Var, state []holding) bool {
	if !f.owned(v) {
		return int(v) < f.Params && f.isCell(f.Vars[v].Type)
	}
	h := state[f.rank[v]]
	return h&full != 0 && h&gone == 0
}

// comesBack tells whether control may come to a place again with a variable as it was: in a
// loop around which the variable stays.
func (f *function) comesBack(p place, v flow.Var) bool {
	ends := func(o flow.Op) bool {
		return o.Dst == v && !o.Updates() || o.Code == flow.Open && int(o.Index) == f.home(v)
	}
	if slices.ContainsFunc(f.Blocks[p.block].Ops[p.op:], ends) {
		return false
	}
	seen := make([]bool, len(f.Blocks))
	for next := slices.Clone(f.Blocks[p.block].Successors); len(next) > 0; {
		block := next[0]
		next = next[1:]
		switch {
		case block == p.block && !slices.ContainsFunc(f.Blocks[block].Ops[:p.op], ends):
			return true
		case seen[block] || slices.ContainsFunc(f.Blocks[block].Ops, ends):
		default:
			next = append(next, f.Blocks[block].Successors...)
		}
		seen[block] = true
	}
	return false
}

func touches(o *flow.Op, v flow.Var) bool {
	return o.Dst == v || slices.ContainsFunc(o.Args, func(a flow.Operand) bool { return a.Var == v })
}

// keep finds what was read from the cell and will be read again, in its block; false where more looks into the cell.
func (f *function) keep(r *reuse, live, out flow.Set) (sound bool) {
	sound = true
	live.Each(func(w flow.Var) {
		if w == r.of || !f.looks(w, r.of) {
			return
		}
		o := f.at(f.def[w])
		if f.cursors.Has(w) || o.Code != flow.Load || o.Args[0].Var != r.of || out.Has(w) ||
			slices.Contains(r.fields, int(o.Index)) {
			sound = false
			return
		}
		r.taken, r.fields = append(r.taken, w), append(r.fields, int(o.Index))
	})
	return sound
}

// looks tells whether w is v, or looks into its value without a reference.
func (f *function) looks(w, v flow.Var) bool {
	for w != v && w != flow.NoVar {
		switch {
		case f.borrowed[w] != flow.NoVar:
			w = f.borrowed[w]
		case f.kinds[w] == Borrowed && f.def[w] != nowhere && !f.cursors.Has(w):
			w = f.looksInto(w)
		default:
			return false
		}
	}
	return w == v
}

// reset returns Reset and what belongs to it. New takes what Reset keeps; where several paths make a cell, `made` has
// the New of each. In the operations that are to come, Owned variables replace those that were read from the cell.
func (f *function) reset(r reuse, scope int, made []*flow.Op, rest [][]flow.Op) []flow.Op {
	token := f.temp(r.of, f.Vars[r.of].Scope)
	for _, o := range made {
		o.Args = append(slices.Clone(o.Args), f.Use(token))
		o.Fields = append(slices.Clone(o.Fields), flow.Token)
	}
	ops := []flow.Op{{Code: flow.Reset, Dst: token, Args: []flow.Operand{f.Use(r.of)}, Type: f.Vars[r.of].Type,
		Fields: r.fields, Slot: flow.Heap, Scope: scope}}
	for _, v := range r.taken {
		ops[0].Args = append(ops[0].Args, f.Use(v))
		own := f.temp(v, scope)
		ops = append(ops, flow.Op{Code: flow.Taken, Dst: own, Args: []flow.Operand{f.Use(v)}, Slot: flow.Heap,
			Scope: scope})
		for _, some := range rest {
			for i := range some {
				for j := range some[i].Args {
					if a := &some[i].Args[j]; a.Var == v {
						a.Var = own
						f.widen(own, some[i].Scope)
					}
				}
			}
		}
		f.outlive(own, v)
	}
	return ops
}

// outlive gives a variable the scopes of all that looks into the value of another one, which it replaces.
func (f *function) outlive(own, v flow.Var) {
	for w := range flow.Var(len(f.uses)) {
		if w == v || !f.looks(w, v) {
			continue
		}
		for _, at := range f.uses[w] {
			f.widen(own, f.at(at).Scope)
		}
	}
}

// widen gives a variable the innermost scope around its own and another one.
func (f *function) widen(v flow.Var, other int) {
	around := map[int]bool{}
	for ; other != flow.NoScope; other = f.Scopes[other].Parent {
		around[other] = true
	}
	for !around[f.Vars[v].Scope] {
		f.Vars[v].Scope = f.Scopes[f.Vars[v].Scope].Parent
	}
}

// insert puts operations in front of those of a block, by place.
func (f *function) insert(b *flow.Block, at map[int][]flow.Op) {
	var ops []flow.Op
	for i, o := range b.Ops {
		ops = append(append(ops, at[i]...), o)
	}
	b.Ops = ops
}

// temp adds a temporary of the type of a variable.
func (f *function) temp(like flow.Var, scope int) flow.Var {
	f.kinds = append(f.kinds, Plain)
	v := f.Temp(f.Vars[like].Type, scope)
	f.growChanges()
	return v
}
