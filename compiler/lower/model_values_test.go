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
	case flow.Copy:
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
	case flow.Sum:
		total := 0.0
		for _, x := range c.elements(o.Args[0]) {
			total += x
		}
		return total
	case flow.Element:
		return c.elements(o.Args[0])[o.Index]
	}
	return c.tensor(o)
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
