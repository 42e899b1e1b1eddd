package llvm

import (
	"errors"
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

// callerOf returns what writes instructions that run bodies; nil: the operator is another. The
// code of a body stands in the function itself; what the body needs lies in the instruction's
// temporary memory.
func callerOf(op string) func(*caller) error {
	switch op {
	case plan.OpIf:
		return (*caller).branches
	case plan.OpLoop:
		return (*caller).loops
	case plan.OpScan:
		return (*caller).scans
	}
	return nil
}

// caller is an instruction that runs bodies, while its code is written.
type caller struct {
	*entry
	*plan.Instruction
	scratch string // address of the temporary memory
}

func (f *entry) callBodies(i *plan.Instruction) error {
	c := &caller{entry: f, Instruction: i, scratch: "null"}
	if i.Scratch != nil {
		c.scratch = f.buffers[i.Scratch.Buffer]
	}
	for k := range i.Bodies {
		in, out := i.Ports(k)
		if b := &i.Bodies[k]; len(b.Inputs) != len(in) || len(b.Outputs) != len(out) {
			return fmt.Errorf("node %q (%s): its %s has no places for its inputs and outputs", i.Node, i.Op, b.Name)
		}
	}
	return callerOf(i.Op)(c)
}

func (c *caller) unsupported(format string, args ...any) error {
	return &UnsupportedError{c.Node, c.Op, c.m.anyType(c.Instruction), fmt.Sprintf(format, args...)}
}

// scalarOf loads an argument of one element; ok is false where it is something else.
func (c *caller) scalarOf(argument int, d graph.DType) (ref string, ok bool) {
	o := c.Inputs[argument]
	if b := c.m.place.buffers[o.Buffer]; b.DType != d || o.View.Elements() != 1 {
		return "", false
	}
	return c.scalar(elems[d]).load(c.addressOf(o)), true
}

func (c *caller) addressOf(o plan.Operand) string {
	return c.at(c.buffers[o.Buffer], "i8", fmt.Sprint(o.View.Offset*c.m.place.buffers[o.Buffer].DType.Bytes()))
}

// given reports whether an argument is there.
func (c *caller) given(argument int) bool {
	return argument < len(c.Inputs) && c.Inputs[argument].Buffer >= 0
}

// branches runs one of two bodies.
func (c *caller) branches() error {
	named := func(name string) int {
		return slices.IndexFunc(c.Bodies, func(b plan.Body) bool { return b.Name == name })
	}
	bodies := []int{named("then_branch"), named("else_branch")}
	if !c.given(0) || slices.Contains(bodies, -1) {
		return c.unsupported("it needs a condition, then_branch and else_branch")
	}
	condition, ok := c.scalarOf(0, graph.Bool)
	if !ok {
		return c.unsupported("its condition has to be one bool")
	}
	labels, after := []string{c.Name("b"), c.Name("b")}, c.Name("b")
	c.Do("br i1 %s, label %%%s, label %%%s", condition, labels[0], labels[1])
	var missing MissingError
	for i, k := range bodies {
		c.begin(labels[i])
		r, err := c.body(k)
		if err == nil {
			err = errors.Join(missing.took(r.prepare()), missing.took(r.turn("0")))
		}
		if err != nil {
			return err
		}
		c.Do("br label %%%s", after)
	}
	c.begin(after)
	return missing.orNil()
}

// loops runs a body until its condition or the number of turns ends it.
func (c *caller) loops() error {
	limit, going, ok := "9223372036854775807", "true", true
	if len(c.Bodies) != 1 || len(c.Inputs) < 2 {
		return c.unsupported("it needs a number of turns, a condition and a body")
	}
	if c.given(0) {
		if limit, ok = c.scalarOf(0, graph.I64); !ok {
			return c.unsupported("its number of turns has to be one i64")
		}
	}
	if c.given(1) {
		if going, ok = c.scalarOf(1, graph.Bool); !ok {
			return c.unsupported("its condition has to be one bool")
		}
	}
	r, err := c.body(0)
	if err != nil {
		return err
	}
	if err := r.prepare(); err != nil {
		return err
	}
	made := c.while(limit, going, func(i string) string {
		if r.turns >= 0 {
			c.failWhen(c.let("icmp sge i64 %s, %d", i, r.turns))
		}
		err = r.turn(i)
		n := slices.IndexFunc(r.out, func(p plan.Port) bool { return p.Role == plan.Going })
		if n < 0 {
			return "false"
		}
		return c.scalar(elems[graph.Bool]).load(r.outside(n).address)
	})
	if r.turns >= 0 {
		c.failWhen(c.let("icmp ne i64 %s, %d", made, r.turns))
	}
	return err
}

// while runs body for i = 0, 1 ... as long as i is below limit and the condition holds that
// body returned before. It returns how often body ran.
func (f *entry) while(limit, going string, body func(i string) string) string {
	before, head, into, after := f.current(), f.Name("b"), f.Name("b"), f.Name("b")
	i, more, next := f.Name("%i"), f.Name("%v"), f.Name("%i")
	again := ""
	written := f.aside(func() {
		f.label = into
		again = body(i)
	})
	latch := f.current()
	f.Do("br label %%%s", head)
	f.begin(head)
	f.Do("%s = phi i64 [ 0, %%%s ], [ %s, %%%s ]", i, before, next, latch)
	f.Do("%s = phi i1 [ %s, %%%s ], [ %s, %%%s ]", more, going, before, again, latch)
	f.Do("br i1 %s, label %%%s, label %%%s", f.let("and i1 %s, %s", more, f.let("icmp slt i64 %s, %s", i, limit)), into,
		after)
	f.begin(into)
	f.Text.WriteString(written)
	f.Do("%s = add nuw nsw i64 %s, 1", next, i)
	f.Do("br label %%%s", head)
	f.begin(after)
	return i
}

// failWhen leaves the function with an invalid argument when a condition holds.
func (f *entry) failWhen(condition string) {
	bad, good := f.Name("b"), f.Name("b")
	f.Do("br i1 %s, label %%%s, label %%%s", condition, bad, good)
	f.begin(bad)
	f.fail(fmt.Sprint(statusInvalid))
	f.begin(good)
}

// scans runs a body for each part of its arguments.
func (c *caller) scans() error {
	if len(c.Bodies) != 1 {
		return c.unsupported("it needs one body")
	}
	r, err := c.body(0)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(r.in, func(p plan.Port) bool { return p.Role == plan.Scanned })
	if at < 0 {
		return c.unsupported("it goes over no argument")
	}
	p := r.in[at]
	r.turns = c.Inputs[p.Argument].View.Shape[p.Axis]
	if err := r.prepare(); err != nil {
		return err
	}
	c.loop(r.turns, func(i string) { err = r.turn(i) })
	return err
}

// running is a body while the code that runs it is written.
type running struct {
	*caller
	body    *plan.Body
	inner   *module
	in, out []plan.Port
	turns   int64 // that the results have room for, exactly; -1: any number
}

// slot is the memory of an input or an output of a body during a turn.
type slot struct {
	plan.Operand // among the buffers of the function
	address      string
}

// body prepares to write body k.
func (c *caller) body(k int) (*running, error) {
	b := &c.Bodies[k]
	r := &running{caller: c, body: b, turns: -1}
	r.in, r.out = c.Ports(k)
	r.inner = &module{unit: c.m.unit, plan: b.Plan, opts: c.m.opts, name: c.m.name}
	r.inner.place.buffers, r.inner.place.instructions = slices.Clone(b.Plan.Buffers), b.Plan.Instructions
	if err := r.inner.checkOperands(); err != nil {
		return nil, fmt.Errorf("node %q (%s): its %s: %w", c.Node, c.Op, b.Name, err)
	}
	for n, p := range r.in {
		if p.Role == plan.Foreign || p.Role != plan.Counter && p.Role != plan.Going && !c.given(p.Argument) {
			return nil, c.unsupported("input %d of its %s is given by nothing", n, b.Name)
		}
		if p.Role == plan.Captured {
			r.knows(n, c.Inputs[p.Argument])
		}
	}
	for _, p := range r.out {
		if o, asked := c.Of(p, false); asked && o.Buffer >= 0 && p.Role == plan.Collected {
			r.turns = o.View.Shape[p.Axis]
		}
	}
	return r, nil
}

// knows tells the kernels of the body what the content of an input is, where that is a constant.
func (r *running) knows(input int, o plan.Operand) {
	b := &r.m.place.buffers[o.Buffer]
	to := &r.inner.place.buffers[r.body.Plan.Inputs[input].Buffer]
	if b.Kind == plan.Constant && o.View.Offset == 0 && o.View.IsContiguous() && to.Bytes == b.Bytes {
		to.Kind, to.Constant = plan.Constant, b.Constant
	}
}

// prepare copies what a body has before its first turn.
func (r *running) prepare() error {
	for n, p := range r.in {
		if p.Role == plan.Captured && r.body.Inputs[n] >= 0 || p.Role == plan.Carried {
			if err := r.move(r.Inputs[p.Argument], r.inside(n).Operand); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn runs the body once.
func (r *running) turn(i string) error {
	var missing MissingError
	in, out := make([]slot, len(r.in)), make([]slot, len(r.out))
	for n, p := range r.in {
		in[n] = r.slot(r.body.Plan.Inputs[n], p, r.body.Inputs[n], true, i)
		var err error
		switch {
		case p.Role == plan.Counter:
			r.scalar(elems[graph.I64]).store(i, in[n].address)
		case p.Role == plan.Going:
			r.scalar(elems[graph.Bool]).store("true", in[n].address)
		case p.Role == plan.Scanned && r.body.Inputs[n] >= 0:
			err = r.move(r.part(r.Inputs[p.Argument], p, i), in[n].Operand)
		}
		if err := missing.took(err); err != nil {
			return err
		}
	}
	for n, p := range r.out {
		out[n] = r.slot(r.body.Plan.Outputs[n], p, r.body.Outputs[n], false, i)
	}
	if err := missing.took(r.run(in, out)); err != nil {
		return err
	}
	for n, p := range r.out {
		if err := missing.took(r.passOn(n, p, in, out, i)); err != nil {
			return err
		}
	}
	return missing.orNil()
}

// passOn brings an output of a turn where it belongs.
func (r *running) passOn(n int, p plan.Port, in, out []slot, i string) error {
	o, asked := r.Of(p, false)
	switch {
	case p.Role == plan.Collected && asked && o.Buffer >= 0 && r.body.Outputs[n] >= 0:
		return r.move(out[n].Operand, r.part(o, p, i))
	case p.Role == plan.Carried:
		for k := range r.in {
			if r.in[k].Role == plan.Carried && r.in[k].Result == p.Result {
				return r.move(out[n].Operand, in[k].Operand)
			}
		}
	}
	return nil
}

// run writes the instructions of the body.
func (r *running) run(in, out []slot) error {
	f, outer, buffers := r.entry, r.m, r.buffers
	defer func() { f.m, f.buffers = outer, buffers }()
	inner := make([]string, len(r.body.Plan.Buffers))
	for i, b := range r.body.Plan.Buffers {
		inner[i] = "null"
		if b.Offset >= 0 && b.Bytes > 0 {
			inner[i] = f.at(r.scratch, "i8", fmt.Sprint(r.body.Frame+b.Offset))
		}
	}
	for n, o := range r.body.Plan.Inputs {
		inner[o.Buffer] = in[n].address
	}
	for n, o := range r.body.Plan.Outputs {
		inner[o.Buffer] = out[n].address
	}
	f.m, f.buffers = r.inner, inner
	return f.calls()
}

// inside is the memory of an input that is the same in all turns, outside that of an output.
func (r *running) inside(n int) slot {
	return r.slot(r.body.Plan.Inputs[n], r.in[n], r.body.Inputs[n], true, "0")
}

func (r *running) outside(n int) slot {
	return r.slot(r.body.Plan.Outputs[n], r.out[n], r.body.Outputs[n], false, "0")
}

// slot finds the memory of an input or an output in turn i.
func (r *running) slot(x plan.Operand, p plan.Port, place int64, input bool, i string) slot {
	address := ""
	switch o, _ := r.Of(p, input); {
	case place >= 0:
		address = r.at(r.scratch, "i8", fmt.Sprint(place))
	case p.Role == plan.Scanned || p.Role == plan.Collected:
		address = r.buffers[r.part(o, p, i).Buffer]
	default:
		address = r.addressOf(o)
	}
	d := r.body.Plan.Buffers[x.Buffer].DType
	return slot{r.buffer(address, d, view.Contiguous(x.View.Shape)), address}
}

// part is what turn i has of an operand.
func (r *running) part(o plan.Operand, p plan.Port, i string) plan.Operand {
	d := r.m.place.buffers[o.Buffer].DType
	stride, first := o.View.Strides[p.Axis]*d.Bytes(), o.View.Offset*d.Bytes()
	if p.Back {
		first += (o.View.Shape[p.Axis] - 1) * stride
		stride = -stride
	}
	v := view.View{Shape: slices.Delete(slices.Clone(o.View.Shape), p.Axis, p.Axis+1),
		Strides: slices.Delete(slices.Clone(o.View.Strides), p.Axis, p.Axis+1)}
	return r.buffer(r.at(r.buffers[o.Buffer], "i8", r.shifted(r.scaled(i, stride), first)), d, v)
}

// buffer makes a buffer of what lies at an address.
func (f *entry) buffer(address string, d graph.DType, v view.View) plan.Operand {
	f.m.place.buffers = append(f.m.place.buffers, plan.Buffer{DType: d, Shape: v.Shape})
	f.buffers = append(f.buffers, address)
	return plan.Operand{Buffer: len(f.buffers) - 1, View: v}
}

// move copies one operand to another.
func (r *running) move(from, to plan.Operand) error {
	return r.call(&plan.Instruction{Node: r.Node, Op: plan.OpCopy, Inputs: []plan.Operand{from},
		Outputs: []plan.Operand{to}})
}
