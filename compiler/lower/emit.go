package lower

import (
	"slices"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// emitter writes the runtime's operations in the place of the program's.
type emitter struct {
	*function
	state []holding
	ops   []flow.Op
}

func (f *function) emit() {
	for i, b := range f.Blocks {
		e := &emitter{function: f, state: slices.Clone(f.in[i])}
		if i == 0 && f.hasFrame() {
			e.add(flow.Op{Code: flow.FunctionEnter, Dst: flow.NoVar, Index: int64(len(f.Slots))})
		}
		for j := range b.Ops {
			p := place{i, j}
			e.op(p, b.Ops[j])
			f.step(p, e.state)
		}
		// The moves of later blocks are found by place, so this one is not replaced
		// before all of it was read.
		b.Ops = e.ops
	}
}

// inMemory are the changes of vecs, once nobody else refers to the vec. The vec acquires
// what it gets before it releases anything, so the operand may be borrowed from it.
var inMemory = map[flow.Code]flow.Code{flow.SetAt: flow.StoreAt, flow.Push: flow.Append, flow.Pop: flow.RemoveLast}

func (e *emitter) add(o flow.Op) { e.ops = append(e.ops, o) }

// about adds an operation on one operand.
func (e *emitter) about(c flow.Code, a flow.Operand) {
	e.add(flow.Op{Code: c, Dst: flow.NoVar, Args: []flow.Operand{a}, Slot: flow.Heap})
}

func (e *emitter) op(p place, o flow.Op) {
	switch o.Code {
	case flow.Copy:
		e.copy(p, o)
	case flow.New:
		e.newStruct(p, o)
	case flow.Call, flow.Reset:
		e.handOver(p, o)
	case flow.SetField:
		e.setField(p, o)
	case flow.Put:
		e.take(use{p, 0}, o.Args[0])
		e.store(o.Dst, o.Type, int(o.Index), o.Args[0])
		e.taken(use{p, 0}, o.Args[0])
	case flow.SetElement:
		if e.owned(o.Dst) {
			e.unshare(o)
		}
		o.Code = flow.StoreElement
		e.add(o)
	case flow.SetAt, flow.Push, flow.Pop:
		e.unshare(o)
		o.Code = inMemory[o.Code]
		e.add(o)
	case flow.Open:
		if e.opens(int(o.Index)) {
			e.add(flow.Op{Code: flow.EnterScope, Dst: flow.NoVar})
		}
	case flow.Close:
		e.released(&o, e.release)
		if e.opens(int(o.Index)) {
			e.add(flow.Op{Code: flow.ExitScope, Dst: flow.NoVar})
		}
	case flow.Return:
		e.leave(p, o)
	default:
		e.plain(o)
	}
}

// plain adds an operation that stays as it is. What a call returns, and what is read
// from a field and must stay, is put into the scope; what is made is there already. A
// variable that owns what it reads acquires it.
func (e *emitter) plain(o flow.Op) {
	e.add(o)
	switch looks := o.LooksInto(); {
	case (o.Code == flow.Call || looks) && o.Dst != flow.NoVar && e.kinds[o.Dst] == Held:
		e.about(flow.Register, e.Use(o.Dst))
	case looks && e.owned(o.Dst):
		e.about(flow.Acquire, e.Use(o.Dst))
	}
}

// handOver gives references to an operation that ends them.
func (e *emitter) handOver(p place, o flow.Op) {
	for i, a := range o.Args {
		if e.takes(&o, i) {
			e.take(use{p, i}, a)
		}
	}
	e.plain(o)
	for i, a := range o.Args {
		e.taken(use{p, i}, a)
	}
}

func (e *emitter) release(v flow.Var) {
	if e.state[e.rank[v]]&full != 0 {
		e.about(flow.Release, e.Use(v))
	}
}

// take makes an operand a reference that can be stored: acquired, unless it moves.
func (e *emitter) take(u use, a flow.Operand) {
	if e.counted(a.Var) && !e.moves[u] {
		e.about(flow.Acquire, a)
	}
}

// taken ends a move, where the variable is looked at again.
func (e *emitter) taken(u use, a flow.Operand) {
	if e.moves[u] && e.needNull.Has(a.Var) {
		e.add(flow.Op{Code: flow.Clear, Dst: a.Var})
	}
}

func (e *emitter) copy(p place, o flow.Op) {
	a, u := o.Args[0], use{p, 0}
	if !e.owned(o.Dst) {
		e.add(o)
		if e.counted(o.Dst) && e.kinds[o.Dst] == Held {
			e.about(flow.Register, e.Use(o.Dst))
		}
		return
	}
	e.take(u, a)
	e.release(o.Dst)
	e.add(o)
	e.taken(u, a)
}

// newStruct makes the struct and stores its fields, which hold references of their
// own. None is what a new object has already; one that was another has to get it.
func (e *emitter) newStruct(p place, o flow.Op) {
	args, fields := o.Args, o.Fields
	at := slices.Index(fields, flow.Token)
	o.Args, o.Fields = nil, nil
	if at >= 0 {
		o.Args, args = args[at:], args[:at]
		e.add(o)
		e.clearRest(o, fields)
	} else {
		e.add(o)
	}
	for i, a := range args {
		if at < 0 && a.Var == flow.NoVar && a.Type.Counted() {
			continue
		}
		u := use{p, i}
		e.take(u, a)
		e.store(o.Dst, o.Type, fields[i], a)
		e.taken(u, a)
	}
}

// clearRest stores zeros and none in the fields that are not given.
func (e *emitter) clearRest(o flow.Op, given []int) {
	for i, f := range e.Program.Struct(o.Type.Name).Fields {
		if !slices.Contains(given, i) {
			e.store(o.Dst, o.Type, i, flow.None(f.Type))
		}
	}
}

func (e *emitter) store(object flow.Var, t ir.Type, field int, a flow.Operand) {
	e.add(flow.Op{Code: flow.Store, Dst: object, Type: t, Index: int64(field), Args: []flow.Operand{a},
		Slot: flow.Heap})
}

// setField acquires what goes in before anything else, because it may be the
// variable's present value, or live in it.
func (e *emitter) setField(p place, o flow.Op) {
	a, u := o.Args[0], use{p, 0}
	e.take(u, a)
	if a.Var == o.Dst { // unshare gives the variable another value
		before := e.scratch(a.Type)
		e.add(flow.Op{Code: flow.Copy, Dst: before, Args: []flow.Operand{a}, Slot: flow.Heap})
		a = e.Use(before)
	}
	e.unshare(o)
	if !a.Type.Counted() {
		e.store(o.Dst, o.Type, int(o.Index), a)
		return
	}
	old := e.scratch(a.Type)
	e.add(flow.Op{Code: flow.Load, Dst: old, Args: []flow.Operand{e.Use(o.Dst)}, Type: o.Type, Index: o.Index,
		Slot: flow.Heap})
	e.store(o.Dst, o.Type, int(o.Index), a)
	e.about(flow.Release, e.Use(old))
	e.taken(u, a)
}

func (e *emitter) scratch(t ir.Type) flow.Var {
	e.kinds = append(e.kinds, Plain)
	return e.Scratch(t)
}

func (e *emitter) unshare(o flow.Op) {
	e.add(flow.Op{Code: flow.Unshare, Dst: o.Dst, Type: o.Type})
}

// leave returns from the function. The result is made to float: taken out of the
// scope that has it, or given a reference by a scope first. A cell's reference is the caller's.
func (e *emitter) leave(p place, o flow.Op) {
	result := flow.NoVar
	if len(o.Args) > 0 && e.counted(o.Args[0].Var) && e.kinds[o.Args[0].Var] != Floating {
		result = e.origin(o.Args[0].Var)
	}
	if result != flow.NoVar && e.isCell(o.Args[0].Type) {
		if e.take(use{p, 0}, o.Args[0]); e.moves[use{p, 0}] {
			e.state[e.rank[o.Args[0].Var]] = gone
		}
		result = flow.NoVar
	}
	if result != flow.NoVar && e.kinds[result] != Held {
		e.about(flow.Register, e.Use(result))
	}
	e.released(&o, e.release)
	if result != flow.NoVar {
		e.about(flow.Unregister, e.Use(result))
	}
	if e.hasFrame() {
		e.add(flow.Op{Code: flow.FunctionExit, Dst: flow.NoVar})
	}
	e.add(o)
}

// origin is the variable that a chain of copies began with. A cursor may have gone on
// since it was copied.
func (e *emitter) origin(v flow.Var) flow.Var {
	for e.borrowed[v] != flow.NoVar && e.kinds[v] == Borrowed && e.copied[v] && !e.cursors.Has(v) &&
		!e.cursors.Has(e.borrowed[v]) {
		v = e.borrowed[v]
	}
	return v
}
