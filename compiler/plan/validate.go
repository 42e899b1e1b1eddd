package plan

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
)

// Validate checks a plan without knowing how it was made. It holds the structure to
// the types' documentation (operands inside their buffers, buffers inside the
// frame, lifetimes, argument counts), and then carries the instructions out over an
// abstract memory in which every element is tagged with the value, and the element
// of it, that was written there last. Each operand must find the elements of the
// very value that it names, and each output must be complete in the end.
//
// What a view shows of its value is not in the plan; Verify, which has the graph,
// checks that too. A plan with more than 2^27 elements in memory that is written,
// or in an operand, is checked for its structure alone.
//
// The error names the node. Safe for concurrent use.
func Validate(p *ExecutionPlan) error {
	return inspect(p, nil)
}

// Verify is Validate that knows the graph which the plan carries out: it holds every
// operand to the elements that the graph's operators say it has, and every
// instruction to its node.
func Verify(p *ExecutionPlan, c *graph.Checked) error {
	m, err := newMeaning(p, c)
	if err != nil {
		return err
	}
	return inspect(p, m)
}

func inspect(p *ExecutionPlan, m *meaning) error {
	if err := inspectBuffers(p); err != nil {
		return err
	}
	if err := inspectOperands(p); err != nil {
		return err
	}
	if err := inspectLifetimes(p); err != nil {
		return err
	}
	if err := inspectOverlaps(p); err != nil {
		return err
	}
	if s := newSimulation(p, m); s != nil {
		return s.run()
	}
	return nil
}

func inspectBuffers(p *ExecutionPlan) error {
	for i := range p.Buffers {
		b := &p.Buffers[i]
		elements := graph.Elements(b.Shape)
		if elements < 0 || b.DType.Bytes() == 0 || b.Bytes != elements*b.DType.Bytes() {
			return errorf("buffer %d (%q) has %d bytes; type %s and shape %v do not take that", i, b.Name, b.Bytes,
				b.DType, b.Shape)
		}
		if b.Kind == Outside {
			if b.Offset != -1 || b.Outside < 0 || b.Outside > p.Outside-b.Bytes ||
				b.Outside%max(p.Frame.Alignment, 1) != 0 {
				return errorf("buffer %d (%q) of %d bytes is at %d of the second space, which has %d", i, b.Name, b.Bytes,
					b.Outside, p.Outside)
			}
			continue
		}
		if b.Offset == -1 {
			if b.Kind == Activation || b.Kind == State {
				return errorf("buffer %d (%q) is an activation or a state and has no place in the frame", i, b.Name)
			}
			continue
		}
		if b.Offset < 0 || b.Offset > p.Frame.Bytes-b.Bytes || p.Frame.Alignment < 1 ||
			b.Offset%p.Frame.Alignment != 0 {
			return errorf("buffer %d (%q) of %d bytes is at %d; the frame has %d bytes and alignment %d", i, b.Name,
				b.Bytes, b.Offset, p.Frame.Bytes, p.Frame.Alignment)
		}
	}
	return nil
}

func inspectOperands(p *ExecutionPlan) error {
	for k := range p.Instructions {
		i := &p.Instructions[k]
		if err := inspectArguments(i); err != nil {
			return err
		}
		for _, o := range operandsOf(i) {
			if err := inspectOperand(p, o); err != nil {
				return errorf("node %q (%s): %w", i.Node, i.Op, err)
			}
		}
		if err := inspectBodies(p, i); err != nil {
			return err
		}
		if err := inspectSpaces(p, i); err != nil {
			return err
		}
		for _, o := range i.Outputs {
			if o.Buffer >= 0 && (p.Buffers[o.Buffer].Kind == Input || p.Buffers[o.Buffer].Kind == Constant) {
				return errorf("node %q (%s): it writes %q, which is read only", i.Node, i.Op, p.Buffers[o.Buffer].Name)
			}
		}
	}
	for _, o := range slices.Concat(p.Inputs, p.Outputs) {
		if err := inspectOperand(p, o); err != nil {
			return errorf("input or output %q: %w", o.Name, err)
		}
		if k := p.Buffers[o.Buffer].Kind; k != Input && k != Output && k != State {
			return errorf("input or output %q lies in buffer %q, which is neither", o.Name, p.Buffers[o.Buffer].Name)
		}
	}
	return nil
}

// inspectSpaces holds an instruction to the spaces of its operands: only a MoveOut writes the second one, and only a
// MoveIn reads it.
func inspectSpaces(p *ExecutionPlan, i *Instruction) error {
	for k, list := range [][]Operand{i.Inputs, i.Outputs} {
		outside := i.Op == OpMoveIn && k == 0 || i.Op == OpMoveOut && k == 1
		for _, o := range list {
			if o.Buffer >= 0 && (p.Buffers[o.Buffer].Kind == Outside) != outside {
				return errorf("node %q (%s): operand %q lies in buffer %q, which is in the wrong space", i.Node, i.Op, o.Name,
					p.Buffers[o.Buffer].Name)
			}
		}
	}
	return nil
}

// operandsOf returns all operands of i that there are.
func operandsOf(i *Instruction) []Operand {
	list := slices.Concat(i.Inputs, i.Outputs)
	if i.Scratch != nil {
		list = append(list, *i.Scratch)
	}
	return slices.DeleteFunc(list, func(o Operand) bool { return o.Buffer == -1 })
}

// inspectArguments holds an instruction to the operator's signature.
func inspectArguments(i *Instruction) error {
	if Copies(i.Op) {
		if len(i.Inputs) != 1 || len(i.Outputs) != 1 || !slices.Equal(i.Inputs[0].View.Shape, i.Outputs[0].View.Shape) {
			return errorf("node %q: a %s has one argument and one result of the same shape", i.Node, i.Op)
		}
		return nil
	}
	op, ok := ops.Normal(i.Op)
	if !ok {
		return nil
	}
	if moves(i.Op) {
		if err := inspectParts(i); err != nil {
			return err
		}
	}
	if err := inspectCount(i, "arguments", op.Arguments(), i.Inputs); err != nil {
		return err
	}
	return inspectCount(i, "results", op.Outputs, i.Outputs)
}

// inspectParts holds a Concat or Split to its axis, so that a simulation can carry
// it out.
func inspectParts(i *Instruction) error {
	whole, parts := i.Outputs, i.Inputs
	if partsOf(i.Op) == ops.Splits {
		whole, parts = i.Inputs, i.Outputs
	}
	axis, sum := i.Attrs.Int("axis"), int64(0)
	if len(whole) != 1 || axis < 0 || axis >= int64(len(whole[0].View.Shape)) {
		return errorf("node %q (%s): there is no whole with axis %d", i.Node, i.Op, axis)
	}
	for k, o := range parts {
		extent, ok := extentOfPart(i, k, o, axis)
		if !ok || o.Buffer >= 0 && !fitsPart(o, whole[0], axis, extent) {
			return errorf("node %q (%s): part %d does not fit", i.Node, i.Op, k)
		}
		sum += extent
	}
	if sum != whole[0].View.Shape[axis] {
		return errorf("node %q (%s): the parts have %d elements on axis %d, the whole has %d", i.Node, i.Op, sum, axis,
			whole[0].View.Shape[axis])
	}
	return nil
}

// extentOfPart returns how much of the axis part k has.
func extentOfPart(i *Instruction, k int, o Operand, axis int64) (int64, bool) {
	if extents := i.Attrs.Ints("split"); partsOf(i.Op) == ops.Splits {
		if len(extents) != len(i.Outputs) {
			return 0, false
		}
		return extents[k], extents[k] >= 0
	}
	if o.Buffer < 0 || int64(len(o.View.Shape)) <= axis {
		return 0, false
	}
	return o.View.Shape[axis], true
}

// fitsPart reports whether a part has the shape of the whole but for its extent.
func fitsPart(part, whole Operand, axis, extent int64) bool {
	want := slices.Clone(whole.View.Shape)
	want[axis] = extent
	return slices.Equal(part.View.Shape, want)
}

func inspectCount(i *Instruction, what string, want []ops.Argument, have []Operand) error {
	least, most := ops.Counts(want)
	most = min(most, max(len(want), len(have)))
	for k, a := range want {
		if what == "arguments" && !a.Optional && k < len(have) && have[k].Buffer < 0 {
			return errorf("node %q (%s): argument %d (%s) is left out", i.Node, i.Op, k, a.Name)
		}
	}
	if len(have) < least || len(have) > most {
		return errorf("node %q (%s): it has %d %s; it takes %d to %d", i.Node, i.Op, len(have), what, least, most)
	}
	return nil
}

// inspectOperand looks whether every element of an operand is one of its buffer.
func inspectOperand(p *ExecutionPlan, o Operand) error {
	if o.Buffer < 0 || o.Buffer >= len(p.Buffers) {
		return errorf("operand %q is in buffer %d; there are %d", o.Name, o.Buffer, len(p.Buffers))
	}
	b := &p.Buffers[o.Buffer]
	v := o.View
	if len(v.Shape) != len(v.Strides) {
		return errorf("operand %q has %d extents and %d strides", o.Name, len(v.Shape), len(v.Strides))
	}
	low, high := v.Offset, v.Offset
	for axis, d := range v.Shape {
		if d <= 0 {
			return nil
		}
		low += min(0, (d-1)*v.Strides[axis])
		high += max(0, (d-1)*v.Strides[axis])
	}
	if low < 0 || high >= b.Bytes/b.DType.Bytes() {
		return errorf("operand %q shows elements %d to %d of buffer %q, which has %d", o.Name, low, high, b.Name,
			b.Bytes/b.DType.Bytes())
	}
	return nil
}

// inspectLifetimes compares First and Last with what the instructions touch.
func inspectLifetimes(p *ExecutionPlan) error {
	first, last := make([]int, len(p.Buffers)), make([]int, len(p.Buffers))
	for b := range p.Buffers {
		first[b], last[b] = len(p.Instructions), -1
	}
	for _, o := range p.Inputs {
		first[o.Buffer] = -1
	}
	for k := range p.Instructions {
		for _, o := range operandsOf(&p.Instructions[k]) {
			first[o.Buffer], last[o.Buffer] = min(first[o.Buffer], k), max(last[o.Buffer], k)
		}
		if s := p.Instructions[k].Scratch; s != nil && first[s.Buffer] != k {
			return errorf("node %q: its temporary memory is used by another instruction too", p.Instructions[k].Node)
		}
	}
	for _, o := range p.Outputs {
		last[o.Buffer] = len(p.Instructions)
	}
	for i := range p.Buffers {
		if p.Buffers[i].Kind == State {
			first[i], last[i] = -1, len(p.Instructions)
		}
		if b := &p.Buffers[i]; b.First != first[i] || b.Last != last[i] {
			return errorf("buffer %d (%q) is alive from %d to %d; the instructions need it from %d to %d", i, b.Name,
				b.First, b.Last, first[i], last[i])
		}
	}
	return nil
}

// inspectOverlaps looks at every pair of buffers in the frame.
func inspectOverlaps(p *ExecutionPlan) error {
	for i := range p.Buffers {
		a := &p.Buffers[i]
		for j := range p.Buffers[:i] {
			b := &p.Buffers[j]
			x, y := a.Offset, b.Offset
			if a.Kind == Outside && b.Kind == Outside {
				x, y = a.Outside, b.Outside
			}
			if x < 0 || y < 0 || a.Bytes == 0 || b.Bytes == 0 {
				continue
			}
			if a.First <= b.Last && b.First <= a.Last && x < y+b.Bytes && y < x+a.Bytes {
				return errorf("buffers %d (%q) and %d (%q) are alive at once and share bytes", j, b.Name, i, a.Name)
			}
		}
	}
	return nil
}
