package plan

import (
	"maps"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

// emission turns a layout into a plan.
type emission struct {
	*layout
	options *Options
	plan    *ExecutionPlan
	buffers []int // by storage: index into plan.Buffers, -1: none yet
}

// emit writes the plan of a layout down, without offsets. It borrows the constants.
func emit(l *layout, o *Options) (*ExecutionPlan, error) {
	e := &emission{layout: l, options: o, buffers: make([]int, len(l.storages))}
	e.plan = &ExecutionPlan{Name: l.c.Name, Symbols: maps.Clone(l.c.Symbols)}
	for i := range e.buffers {
		e.buffers[i] = -1
	}
	for _, v := range l.c.Inputs {
		e.plan.Inputs = append(e.plan.Inputs, e.operand(v))
	}
	for k := range l.steps {
		if err := e.step(k); err != nil {
			return nil, err
		}
	}
	e.outputs()
	e.members()
	e.derive()
	setLifetimes(e.plan)
	return e.plan, nil
}

// step writes the instructions of step k.
func (e *emission) step(k int) error {
	s := &e.steps[k]
	for _, t := range e.copies[k] {
		in, out := e.operandAt(t.in, t.from), e.operandAt(t.out, t.to)
		e.plan.Instructions = append(e.plan.Instructions, Instruction{Node: e.nodeName(s), Op: OpCopy,
			Inputs: []Operand{in}, Outputs: []Operand{out}})
	}
	if s.role == computes || s.role == joins && !e.joined[k] {
		i := Instruction{Node: e.nodeName(s), Op: s.op, Attrs: cloneAttrs(e.c.Nodes[s.node].Attrs)}
		i.Inputs, i.Outputs = e.operands(s.in), e.operands(s.out)
		return e.temporary(s.node, i)
	}
	return nil
}

// temporary appends the instruction with the temporary memory that it asks for.
func (e *emission) temporary(node int, i Instruction) error {
	bytes := int64(0)
	i.Bodies = e.options.bodies[node]
	if e.options.Scratch != nil {
		bytes = e.options.Scratch(&i)
	}
	if bytes < 0 || bytes > maxScratch {
		return errorf("node %q (%s): Options.Scratch returned %d bytes; it must return 0 to %d", i.Node, i.Op, bytes,
			int64(maxScratch))
	}
	if len(i.Bodies) > 0 {
		bytes += i.giveRoom(e.options)
	}
	if bytes > 0 {
		e.scratch[node] = bytes
		b := Buffer{Name: i.Node, DType: graph.U8, Shape: []int64{bytes}, Bytes: bytes, Offset: -1}
		i.Scratch = &Operand{Name: i.Node, Buffer: len(e.plan.Buffers), View: view.Contiguous(b.Shape)}
		e.plan.Buffers = append(e.plan.Buffers, b)
	}
	e.plan.Instructions = append(e.plan.Instructions, i)
	return nil
}

func (e *emission) nodeName(s *step) string {
	if s.node >= 0 {
		return e.c.Nodes[s.node].Name
	}
	return e.c.Values[s.in[0]].Name
}

func (e *emission) operands(values []int) []Operand {
	list := make([]Operand, len(values))
	for i, v := range values {
		list[i] = Operand{Buffer: -1}
		if v >= 0 {
			list[i] = e.operand(v)
		}
	}
	return list
}

func (e *emission) operand(v int) Operand { return e.operandAt(v, e.at[v]) }

// operandAt returns value v as it lies at a place; gather made sure that there is
// such a view.
func (e *emission) operandAt(v int, at place) Operand {
	at, _ = e.resolve(at)
	shown := view.View{Shape: slices.Clone(at.view.Shape), Strides: slices.Clone(at.view.Strides),
		Offset: at.view.Offset}
	return Operand{Name: e.c.Values[v].Name, Buffer: e.buffer(at.storage), View: shown}
}

// buffer returns the index of the buffer of a storage, made when it is first asked
// for.
func (e *emission) buffer(i int) int {
	if e.buffers[i] >= 0 {
		return e.buffers[i]
	}
	st := &e.storages[i]
	v := &e.c.Values[st.value]
	b := Buffer{Name: v.Name, Kind: st.kind, DType: v.DType, Shape: slices.Clone(v.Shape), Bytes: st.bytes, Offset: -1}
	if st.kind == Constant {
		b.Constant = v.Constant
	}
	e.plan.Buffers = append(e.plan.Buffers, b)
	e.buffers[i] = len(e.plan.Buffers) - 1
	return e.buffers[i]
}

// outputs finds the buffer of each output.
func (e *emission) outputs() {
	e.plan.Outputs = make([]Operand, len(e.c.Outputs))
	for i := range e.storages {
		if st := &e.storages[i]; st.kind == Output {
			v := e.c.Outputs[st.output]
			whole := place{i, view.Contiguous(e.c.Values[v].Shape)}
			e.plan.Outputs[st.output] = e.operandAt(v, whole)
		}
	}
}

// members lists the values that lie in each buffer.
func (e *emission) members() {
	for v := range e.c.Values {
		if e.at[v].storage < 0 {
			continue
		}
		if i := e.buffers[e.rootIndex(e.at[v].storage)]; i >= 0 {
			e.plan.Buffers[i].Values = append(e.plan.Buffers[i].Values, e.c.Values[v].Name)
		}
	}
	for i, out := range e.plan.Outputs {
		if b := &e.plan.Buffers[out.Buffer]; len(b.Values) == 0 {
			b.Values = []string{e.c.Values[e.c.Outputs[i]].Name}
		}
	}
}

// derive lists the values that no instruction computes as a whole.
func (e *emission) derive() {
	for k := range e.steps {
		s := &e.steps[k]
		if s.role != splits && !(s.role == shows && len(e.copies[k]) == 0) && !e.joined[k] {
			continue
		}
		from := make([]string, len(s.in))
		for i, v := range s.in {
			from[i] = e.c.Values[v].Name
		}
		if s.role != joins {
			from = from[:1]
		}
		for _, v := range s.out {
			if v >= 0 {
				e.plan.Derived = append(e.plan.Derived, Derived{e.c.Values[v].Name, slices.Clone(from)})
			}
		}
	}
}

// setLifetimes sets the first and last instruction of every buffer.
func setLifetimes(p *ExecutionPlan) {
	for i := range p.Buffers {
		p.Buffers[i].First, p.Buffers[i].Last = len(p.Instructions), -1
		if p.Buffers[i].Kind == State {
			p.Buffers[i].First, p.Buffers[i].Last = -1, len(p.Instructions)
		}
	}
	touch := func(o Operand, at int) {
		if o.Buffer >= 0 {
			b := &p.Buffers[o.Buffer]
			b.First, b.Last = min(b.First, at), max(b.Last, at)
		}
	}
	for _, o := range p.Inputs {
		touch(o, -1)
	}
	for k := range p.Instructions {
		i := &p.Instructions[k]
		for _, o := range slices.Concat(i.Inputs, i.Outputs) {
			touch(o, k)
		}
		if i.Scratch != nil {
			touch(*i.Scratch, k)
		}
	}
	for _, o := range p.Outputs {
		touch(o, len(p.Instructions))
	}
}

// ownConstants makes p independent of the graph's constants.
func ownConstants(p *ExecutionPlan) {
	for i := range p.Buffers {
		if t := p.Buffers[i].Constant; t != nil {
			p.Buffers[i].Constant = &graph.Tensor{DType: t.DType, Shape: slices.Clone(t.Shape),
				Data: slices.Clone(t.Data)}
		}
	}
}

// cloneAttrs copies attributes with all they hold.
func cloneAttrs(a graph.Attrs) graph.Attrs {
	if a == nil {
		return nil
	}
	out := make(graph.Attrs, len(a))
	for name, v := range a {
		switch v := v.(type) {
		case []int64:
			out[name] = slices.Clone(v)
		case []float64:
			out[name] = slices.Clone(v)
		case []string:
			out[name] = slices.Clone(v)
		case graph.Tensor:
			out[name] = graph.Tensor{DType: v.DType, Shape: slices.Clone(v.Shape), Data: slices.Clone(v.Data)}
		default:
			out[name] = v
		}
	}
	return out
}
