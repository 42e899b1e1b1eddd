package lower

import (
	"math"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// makeZeros is an object whose fields and elements are zeros.
func (c *call) makeZeros(t ir.Type) *object {
	r := c.make(t)
	c.clear(r)
	return r
}

func (c *call) clear(r *object) {
	if r.typ.Kind == ir.Tensor {
		r.elements = make([]float64, r.typ.Elements())
		return
	}
	if r.typ.Kind == ir.Vec {
		return
	}
	for _, f := range c.f.Program.Struct(r.typ.Name).Fields {
		r.fields = append(r.fields, zeroOf(f.Type))
	}
}

func zeroOf(t ir.Type) any {
	switch t.Kind {
	case ir.Int:
		return int64(0)
	case ir.Float:
		return float64(0)
	}
	return (*object)(nil)
}

// value computes what an operation gives its variable.
func (c *call) value(o *flow.Op) any {
	switch o.Code {
	case flow.Copy, flow.Taken:
		return c.get(o.Args[0])
	case flow.Arith:
		return arith(o.Op, c.get(o.Args[0]), c.get(o.Args[1]))
	case flow.Convert:
		return convert(c.get(o.Args[0]))
	case flow.IsNone:
		return bit(c.object(o.Args[0]) == nil)
	case flow.Load:
		if r := c.object(o.Args[0]); r != nil {
			return r.fields[o.Index]
		}
		return zeroOf(c.f.Vars[o.Dst].Type)
	case flow.Take:
		r := c.object(o.Args[0])
		if r.count != 1 {
			c.t.Fatalf("%s takes from a value with %d references\n%s", c.f.Symbol, r.count, flow.Print(c.f))
		}
		field := r.fields[o.Index]
		r.fields[o.Index] = (*object)(nil)
		return field
	case flow.Sum:
		total := 0.0
		for _, x := range c.elements(o.Args[0]) {
			total += x
		}
		return total
	case flow.Element:
		if i, elements := c.get(o.Args[1]).(int64), c.elements(o.Args[0]); i >= 0 && i < int64(len(elements)) {
			return elements[i]
		}
		return 0.0
	case flow.NewVec:
		return c.make(o.Type)
	case flow.Len:
		return int64(len(c.vec(o.Args[0])))
	case flow.LoadAt:
		if i, elements := c.get(o.Args[1]).(int64), c.vec(o.Args[0]); i >= 0 && i < int64(len(elements)) {
			return elements[i]
		}
		return (*object)(nil)
	}
	return c.tensor(o)
}

func (c *call) vec(a flow.Operand) []*object {
	if r := c.object(a); r != nil {
		return r.vec
	}
	return nil
}

// change changes a tensor or vec in memory, which nobody else may see.
func (c *call) change(o *flow.Op) {
	r := c.object(c.f.Use(o.Dst))
	if r.count != 1 && !r.inSlot {
		c.t.Fatalf("%s changes %s, which has %d references\n%s", c.f.Symbol, c.f.Vars[o.Dst].Name, r.count,
			flow.Print(c.f))
	}
	inside := func(n int) bool {
		i := c.get(o.Args[1]).(int64)
		return i >= 0 && i < int64(n)
	}
	switch o.Code {
	case flow.StoreElement:
		if inside(len(r.elements)) {
			r.elements[c.get(o.Args[1]).(int64)] = round(o.Type, c.get(o.Args[0]).(float64))
		}
	case flow.StoreAt:
		if inside(len(r.vec)) {
			i, x := c.get(o.Args[1]).(int64), c.object(o.Args[0])
			c.push(r, x)
			old := r.vec[i]
			r.vec, r.vec[i] = r.vec[:len(r.vec)-1], x
			c.releaseAll([]*object{old})
		}
	case flow.Append:
		c.push(r, c.object(o.Args[0]))
	case flow.RemoveLast:
		if n := len(r.vec); n > 0 {
			last := r.vec[n-1:]
			r.vec = r.vec[:n-1]
			c.releaseAll(last)
		}
	}
}

func (c *call) push(r, x *object) {
	if x != nil {
		x.count++
	}
	r.vec = append(r.vec, x)
}

func (c *call) elements(a flow.Operand) []float64 {
	if r := c.object(a); r != nil {
		return r.elements
	}
	return make([]float64, a.Type.Elements())
}

// tensor makes the tensor of an operation. One in a slot ends what was there, but
// only after the operands have been read.
func (c *call) tensor(o *flow.Op) *object {
	elements := make([]float64, o.Type.Elements())
	for i := range elements {
		switch o.Code {
		case flow.Fill:
			elements[i] = round(o.Type, c.get(o.Args[0]).(float64))
		case flow.Literal:
			elements[i] = round(o.Type, c.get(o.Args[i]).(float64))
		default:
			x, y := c.elements(o.Args[0])[i], c.elements(o.Args[1])[i]
			elements[i] = round(o.Type, arith(o.Op, x, y).(float64))
		}
	}
	if o.Slot == flow.Heap {
		r := c.make(o.Type)
		r.elements = elements
		return r
	}
	if o.Slot >= c.room {
		c.t.Fatalf("slot %d of %d\n%s", o.Slot, c.room, flow.Print(c.f))
	}
	if old := c.slots[o.Slot]; old != nil {
		old.dead = true
	}
	c.slots[o.Slot] = &object{typ: o.Type, elements: elements, inSlot: true}
	return c.slots[o.Slot]
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func convert(v any) any {
	x, isFloat := v.(float64)
	switch {
	case !isFloat:
		return float64(v.(int64))
	case math.IsNaN(x):
		return int64(0)
	case x >= math.MaxInt64:
		return int64(math.MaxInt64)
	case x <= math.MinInt64:
		return int64(math.MinInt64)
	}
	return int64(x)
}

func arith(op ir.Op, a, b any) any {
	if x, isInt := a.(int64); isInt {
		switch y := b.(int64); {
		case y == 0 && op == ir.Div:
			return int64(0)
		case y == 0 && op == ir.Rem:
			return x
		case op == ir.Div:
			return x / y
		case op == ir.Rem:
			return x % y
		}
		return compute(op, x, b.(int64))
	}
	x, y := a.(float64), b.(float64)
	if op == ir.Div {
		return x / y
	}
	return compute(op, x, y)
}

func compute[N int64 | float64](op ir.Op, a, b N) any {
	switch op {
	case ir.Add:
		return a + b
	case ir.Sub:
		return a - b
	case ir.Mul:
		return a * b
	}
	return bit(map[ir.Op]bool{ir.Eq: a == b, ir.Ne: a != b, ir.Lt: a < b, ir.Le: a <= b, ir.Gt: a > b,
		ir.Ge: a >= b}[op])
}
