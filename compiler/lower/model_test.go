package lower

import (
	"math"
	"slices"
	"testing"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// object is a struct, tensor or vec of the model. Of its count, floats references are
// nobody's yet.
type object struct {
	typ      ir.Type
	fields   []any
	elements []float64
	vec      []*object
	count    int
	floats   int
	inSlot   bool
	dead     bool
}

// scope is a scope of the model: what it has a reference to.
type scope struct {
	entries  []*object
	function bool
}

// model runs lowered functions with the runtime's rules, written down a second time
// and as plainly as possible, and fails the test where one is broken: an object
// is read or counted after its end, or a reference is taken from where none is.
type model struct {
	t         *testing.T
	functions map[string]*flow.Function
	scopes    []scope
	live      int
	steps     int
	executed  map[flow.Code]int
	kinds     map[string][]Kind
	cells     map[string]bool
	reused    int // cells that were built anew
	owned     int // acquires of what Owned variables have: those that a move can spare
}

// call is a function under way.
type call struct {
	*model
	f     *flow.Function
	vars  []any
	slots map[int]*object
	room  int // slots in the frame
}

func newModel(t *testing.T, m *Module) *model {
	w := &model{t: t, functions: map[string]*flow.Function{}, scopes: []scope{{}}, executed: map[flow.Code]int{},
		kinds: map[string][]Kind{}, cells: m.Cells}
	for i, f := range m.Functions {
		w.functions[f.Symbol], w.kinds[f.Symbol] = f, m.Kinds[i]
	}
	return w
}

func (w *model) run(symbol string, args []any) any {
	f := w.functions[symbol]
	c := &call{model: w, f: f, vars: make([]any, len(f.Vars)), slots: map[int]*object{}}
	copy(c.vars, args)
	for b := c.f.Blocks[0]; ; {
		for i := range b.Ops {
			c.executed[b.Ops[i].Code]++
			c.op(&b.Ops[i])
		}
		switch last := &b.Ops[len(b.Ops)-1]; {
		case last.Code == flow.Return && len(last.Args) > 0:
			return c.get(last.Args[0])
		case last.Code == flow.Return:
			return nil
		case last.Code == flow.Branch && c.get(last.Args[0]).(int64) == 0:
			b = c.f.Blocks[b.Successors[1]]
		default:
			b = c.f.Blocks[b.Successors[0]]
		}
	}
}

// get reads an operand; a reference has to be to something that lives.
func (c *call) get(o flow.Operand) any {
	switch {
	case o.Var != flow.NoVar:
		v := c.vars[o.Var]
		if v == nil {
			c.t.Fatalf("%s reads %s, which has no value\n%s", c.f.Symbol, c.f.Vars[o.Var].Name, flow.Print(c.f))
		}
		if r, _ := v.(*object); r != nil && r.dead {
			c.t.Fatalf("%s reads %s after its value has ended\n%s", c.f.Symbol, c.f.Vars[o.Var].Name, flow.Print(c.f))
		}
		return v
	case o.Type.Kind == ir.Int:
		return o.Int
	case o.Type.Kind == ir.Float:
		return o.Float
	}
	return (*object)(nil)
}

func (c *call) object(o flow.Operand) *object { return c.get(o).(*object) }

func (c *call) op(o *flow.Op) {
	switch o.Code {
	case flow.FunctionEnter:
		c.scopes, c.room = append(c.scopes, scope{function: true}), int(o.Index)
	case flow.FunctionExit:
		c.exitFunction()
	case flow.EnterScope:
		c.scopes = append(c.scopes, scope{})
	case flow.ExitScope:
		c.exitScope(false)
	case flow.Acquire, flow.Release, flow.Register, flow.Unregister:
		if r := c.object(o.Args[0]); r != nil {
			c.count(o, r)
		}
	case flow.Call:
		args := make([]any, len(o.Args))
		for i, a := range o.Args {
			args[i] = c.get(a)
		}
		if result := c.run(o.Callee, args); o.Dst != flow.NoVar {
			c.vars[o.Dst] = result
		}
	case flow.New:
		c.vars[o.Dst] = c.makeStruct(o)
	case flow.Reset:
		c.vars[o.Dst] = c.reset(o)
	case flow.Clear:
		c.vars[o.Dst] = (*object)(nil)
	case flow.Unshare:
		c.unshare(o)
	case flow.Store:
		c.object(c.f.Use(o.Dst)).fields[o.Index] = c.get(o.Args[0])
	case flow.StoreElement, flow.StoreAt, flow.Append, flow.RemoveLast:
		c.change(o)
	case flow.Jump, flow.Branch, flow.Return:
	default:
		c.vars[o.Dst] = c.value(o)
	}
}

// stale is what a token has in its fields until something is stored there: nobody may look at it.
type stale struct{}

// reset keeps a cell with one reference for the next of its type. What it refers to loses a
// reference, unless a variable gets that. Of another cell variables acquire what they need.
func (c *call) reset(o *flow.Op) *object {
	r := c.object(o.Args[0])
	if r == nil {
		return nil
	}
	if !c.isCell(r) || r.count < 1 {
		c.t.Fatalf("%s resets %v\n%s", c.f.Symbol, r, flow.Print(c.f))
	}
	taken := o.Args[1:]
	if r.count > 1 {
		for _, a := range taken {
			if field := c.object(a); field != nil {
				field.count++
			}
		}
		r.count--
		return nil
	}
	for i, at := range o.Fields {
		if r.fields[at] != c.get(taken[i]) {
			c.t.Fatalf("%s: %s.%d has changed since it was read: %#v %#v\n%s", c.f.Symbol, c.f.Vars[o.Args[0].Var].Name, at, r.fields[at], c.get(taken[i]), flow.Print(c.f))
		}
		r.fields[at] = nil
	}
	fields := r.fields
	r.fields = slices.Repeat([]any{stale{}}, len(fields))
	for _, f := range fields {
		if field, _ := f.(*object); field != nil {
			c.release(field)
		}
	}
	return r
}

func (c *call) makeStruct(o *flow.Op) *object {
	if len(o.Args) > 0 {
		if r := c.object(o.Args[0]); r != nil {
			c.reused++
			return r
		}
	}
	return c.makeZeros(o.Type)
}

func (w *model) isCell(r *object) bool { return r.typ.Kind == ir.Struct && w.cells[r.typ.Name] }

func (c *call) count(o *flow.Op, r *object) {
	if c.isCell(r) && (o.Code == flow.Register || o.Code == flow.Unregister) {
		c.t.Fatalf("%s has a cell in a scope\n%s", c.f.Symbol, flow.Print(c.f))
	}
	if r.inSlot {
		c.t.Fatalf("%s counts a tensor in a slot\n%s", c.f.Symbol, flow.Print(c.f))
	}
	switch o.Code {
	case flow.Acquire:
		r.count++
		if c.kinds[c.f.Symbol][o.Args[0].Var] == Owned {
			c.owned++
		}
	case flow.Release:
		c.release(r)
	case flow.Register:
		c.register(r)
	case flow.Unregister:
		c.unregister(r)
	}
}

func (w *model) release(r *object) {
	if r.dead {
		w.t.Fatal("a reference is released after the object's end")
	}
	if r.count == r.floats {
		r.floats--
	}
	if r.count--; r.count > 0 {
		return
	}
	r.dead = true
	w.live--
	for _, f := range r.fields {
		if field, _ := f.(*object); field != nil {
			w.release(field)
		}
	}
	w.releaseAll(r.vec)
}

func (w *model) releaseAll(list []*object) {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] != nil {
			w.release(list[i])
		}
	}
}

func (w *model) register(r *object) {
	if r.floats > 0 {
		r.floats--
	} else {
		r.count++
	}
	top := &w.scopes[len(w.scopes)-1]
	top.entries = append(top.entries, r)
}

func (w *model) unregister(r *object) {
	for i := len(w.scopes) - 1; i >= 0; i-- {
		s := &w.scopes[i]
		for j := len(s.entries) - 1; j >= 0; j-- {
			if s.entries[j] == r {
				s.entries = append(s.entries[:j:j], s.entries[j+1:]...)
				r.floats++
				return
			}
		}
		if s.function {
			break
		}
	}
	w.t.Fatal("what is taken out of the scopes is in none of them")
}

func (w *model) exitScope(function bool) {
	top := w.scopes[len(w.scopes)-1]
	if top.function != function || len(w.scopes) == 1 {
		w.t.Fatal("a scope is closed that is not the innermost")
	}
	w.scopes = w.scopes[:len(w.scopes)-1]
	for i := len(top.entries) - 1; i >= 0; i-- {
		w.release(top.entries[i])
	}
}

func (c *call) exitFunction() {
	for !c.scopes[len(c.scopes)-1].function {
		c.exitScope(false)
	}
	c.exitScope(true)
	for _, r := range c.slots {
		r.dead = true
	}
}

// make is an object of zeros that the current scope has, or a cell.
func (w *model) make(t ir.Type) *object {
	r := &object{typ: t, count: 0}
	w.live++
	if w.isCell(r) {
		r.count = 1
	} else {
		w.register(r)
	}
	return r
}

// unshare is what the emitted routine does.
func (c *call) unshare(o *flow.Op) {
	old := c.object(c.f.Use(o.Dst))
	if old != nil && old.count == 1 && old.floats == 0 {
		return
	}
	c.scopes = append(c.scopes, scope{})
	r := c.makeZeros(o.Type)
	if old != nil {
		copy(r.fields, old.fields)
		copy(r.elements, old.elements)
		for _, x := range old.vec {
			c.push(r, x)
		}
		for _, f := range r.fields {
			if field, _ := f.(*object); field != nil {
				field.count++
			}
		}
	}
	if !c.isCell(r) {
		r.count++
	}
	c.exitScope(false)
	if old != nil {
		c.release(old)
	}
	c.vars[o.Dst] = r
}

func round(t ir.Type, x float64) float64 {
	if t.DType == ir.F32 {
		return float64(float32(x))
	}
	return x
}

func same(a, b any) bool {
	x, ok := a.(float64)
	y, also := b.(float64)
	if ok && also {
		return math.IsNaN(x) && math.IsNaN(y) || math.Float64bits(x) == math.Float64bits(y)
	}
	return a == b
}
