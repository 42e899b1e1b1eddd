package plan

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

// Entry is one of several computations that run in turns in one Arena.
type Entry struct {
	Name  string // unique; the plan's
	Graph *graph.Checked

	// States says which inputs and outputs, by name, are a state, and which. An input and
	// an output that are the same state are its content before and after the call.
	States map[string]string
}

// Arena is one block of memory in which several computations run in turns, one at a
// time. State, which a computation leaves for the next one (a cache, weights in
// training), comes first and lies at the same place for all. Behind it each computation
// has its scratch, in the same bytes as all others.
//
//	0 <= offset of a state, and its end <= StateBytes <= offset of an activation
//	Bytes = the highest Frame.Bytes of the entries
//
// It does not change after Together returns it.
type Arena struct {
	Name       string
	Bytes      int64 // of the whole
	Alignment  int64 // of the arena and of every offset
	StateBytes int64
	States     []StateTensor

	// Entries are the plans, in the order given. Their frame is the arena as far as they
	// need it: offsets count from the arena's start. Each has a buffer of kind State for
	// every state, those that it does not touch as well.
	Entries []*ExecutionPlan

	// SeparateBytes is what plans of their own would take together: all their frames, and
	// a buffer for each input and output that is a state.
	SeparateBytes int64
}

// StateTensor is a tensor that keeps its content between calls, row by row.
type StateTensor struct {
	Name   string
	DType  graph.DType
	Shape  []int64
	Bytes  int64
	Offset int64
}

// Together plans computations for one arena. Inputs and outputs that are no state stay
// what the options say. A state that a computation reads and writes changes in place
// where the graph and an order allow it: the last instruction that reads the former
// content comes before the first one that writes the new content, or may write over its
// argument. Else the new content is made in the scratch and copied in the end.
//
// An error names the entry and the value: a state whose type or shape is not the same
// everywhere, or that two inputs or two outputs of an entry are.
func Together(entries []Entry, o Options) (*Arena, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	a := &Arena{Alignment: o.Alignment}
	if err := a.collect(entries); err != nil {
		return nil, err
	}
	for i := range a.States {
		s := &a.States[i]
		s.Offset = a.StateBytes
		if s.Bytes > maxBytes-a.StateBytes {
			return nil, errorf("the states take more than %d bytes", int64(maxBytes))
		}
		a.StateBytes += o.rounded(s.Bytes)
	}
	plans := 0
	for i := range entries {
		plans += 2 * len(waysOf(&entries[i])) // offsets are looked for once more where a plan changes
	}
	o.EndAfter(o.Budget)
	o.Budget = portion(o.Budget, plans)
	for i := range entries {
		if err := a.add(&entries[i], &o); err != nil {
			return nil, errorf("entry %q: %w", entries[i].Name, err)
		}
	}
	return a, nil
}

// collect lists the states in the order in which the entries have them, and the name.
func (a *Arena) collect(entries []Entry) error {
	if len(entries) == 0 {
		return errorf("an arena needs an entry")
	}
	names := map[string]bool{}
	from := map[string]string{} // by state: which value was the first one
	for i := range entries {
		e := &entries[i]
		if e.Name == "" || names[e.Name] {
			return errorf("entry %d is called %q; each entry needs a name of its own", i, e.Name)
		}
		names[e.Name] = true
		if i > 0 {
			a.Name += "_"
		}
		a.Name += e.Name
		if err := checkGraph(e.Graph); err != nil {
			return errorf("entry %q: %w", e.Name, err)
		}
		if err := a.collectFrom(e, from); err != nil {
			return err
		}
	}
	return nil
}

func (a *Arena) collectFrom(e *Entry, from map[string]string) error {
	there := map[string]bool{}
	for _, list := range [][]int{e.Graph.Inputs, e.Graph.Outputs} {
		once := map[string]string{}
		for _, v := range list {
			value := &e.Graph.Values[v]
			there[value.Name] = true
			state, is := e.States[value.Name]
			if !is {
				continue
			}
			if other, twice := once[state]; twice {
				return errorf("entry %q: %q and %q are both state %q; one input and one output of an entry can be", e.Name,
					other, value.Name, state)
			}
			once[state] = value.Name
			if err := a.state(state, value, e, from); err != nil {
				return err
			}
		}
	}
	for name, state := range e.States {
		if !there[name] {
			return errorf("entry %q: %q should be state %q, and is no input or output", e.Name, name, state)
		}
	}
	return nil
}

// state adds a state, or holds a value to what it is elsewhere.
func (a *Arena) state(name string, v *graph.TypedValue, e *Entry, from map[string]string) error {
	at := slices.IndexFunc(a.States, func(s StateTensor) bool { return s.Name == name })
	if at < 0 {
		a.States = append(a.States, StateTensor{Name: name, DType: v.DType, Shape: slices.Clone(v.Shape),
			Bytes: v.Bytes()})
		from[name] = e.Name + ", " + v.Name
		return nil
	}
	if s := &a.States[at]; s.DType != v.DType || !slices.Equal(s.Shape, v.Shape) {
		return errorf("state %q is %s %v in entry %q (%s), and %s %v elsewhere (%s); a state has one type and one shape",
			name, v.DType, v.Shape, e.Name, v.Name, s.DType, s.Shape, from[name])
	}
	return nil
}

// add plans an entry.
func (a *Arena) add(e *Entry, o *Options) error {
	var best *settled
	for _, way := range waysOf(e) {
		p, err := Build(way.graph, way.options(*o))
		if err != nil {
			return err
		}
		if best == nil {
			a.SeparateBytes += p.Frame.Bytes + separateStates(e, o)
		}
		s, err := a.settle(p, e, o)
		if err != nil {
			return err
		}
		if best == nil || s.plan.Frame.Bytes < best.plan.Frame.Bytes ||
			s.plan.Frame.Bytes == best.plan.Frame.Bytes && s.copies < best.copies {
			best = s
		}
		if s.copies == 0 {
			break
		}
	}
	best.plan.Name = e.Name
	a.Bytes = max(a.Bytes, best.plan.Frame.Bytes)
	a.Entries = append(a.Entries, best.plan)
	return nil
}

// separateStates is what the states of an entry take as buffers of its caller.
func separateStates(e *Entry, o *Options) int64 {
	sum := int64(0)
	for _, v := range slices.Concat(e.Graph.Inputs, e.Graph.Outputs) {
		if _, is := e.States[e.Graph.Values[v].Name]; is {
			sum += o.rounded(e.Graph.Values[v].Bytes())
		}
	}
	return sum
}

// settled is a plan with its states in the arena.
type settled struct {
	plan   *ExecutionPlan
	copies int
	home   []int // by state: its buffer
}

// settle makes buffers of kind State of the inputs and outputs that are states.
func (a *Arena) settle(p *ExecutionPlan, e *Entry, o *Options) (*settled, error) {
	s := &settled{plan: p, home: make([]int, len(a.States))}
	for i := range a.States {
		in, out := bufferOf(p.Inputs, e, a.States[i].Name), bufferOf(p.Outputs, e, a.States[i].Name)
		switch {
		case in >= 0 && out >= 0 && changesInPlace(p, in, out):
			s.redirect(out, in)
		case in >= 0 && out >= 0:
			s.copyBack(out, in)
		case in < 0 && out < 0:
			p.Buffers = append(p.Buffers, Buffer{})
			in = len(p.Buffers) - 1
		case in < 0:
			in = out
		}
		s.home[i] = in
		t := &a.States[i]
		p.Buffers[in] = Buffer{Name: t.Name, Kind: State, DType: t.DType, Shape: slices.Clone(t.Shape), Bytes: t.Bytes,
			Offset: t.Offset, Values: p.Buffers[in].Values}
	}
	s.dropUnused()
	setLifetimes(p)
	if s.copies > 0 || o.PlaceInputs || o.PlaceOutputs {
		whole := &builder{options: o, list: []*candidate{{plan: p, peak: peak(p, o, o.placed)}}}
		if _, err := whole.place(); err != nil {
			return nil, err
		}
		p.Frame.NaiveBytes, p.Frame.Order.Peak = max(p.Frame.NaiveBytes, sumOfBuffers(p, o)), peak(p, o, o.placed)
	}
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.Kind != State && b.Offset >= 0 {
			b.Offset += a.StateBytes
		}
	}
	p.Frame.Bytes += a.StateBytes
	p.Frame.LowerBound += a.StateBytes
	p.Frame.NaiveBytes += a.StateBytes
	return s, nil
}

// bufferOf returns the buffer of the operand that is a state, or -1.
func bufferOf(list []Operand, e *Entry, state string) int {
	for _, x := range list {
		if name, is := e.States[x.Name]; is && name == state {
			return x.Buffer
		}
	}
	return -1
}

// changesInPlace reports whether the former content, in one buffer, is read for the last
// time before the new content is first written, or by the instruction that writes it,
// element by element.
func changesInPlace(p *ExecutionPlan, in, out int) bool {
	former, next := &p.Buffers[in], &p.Buffers[out]
	if former.Last != next.First {
		return former.Last < next.First
	}
	if former.Last < 0 || former.Last >= len(p.Instructions) {
		return false
	}
	i := &p.Instructions[former.Last]
	if len(i.Outputs) == 0 || i.Outputs[0].Buffer != out ||
		slices.ContainsFunc(i.Outputs[1:], func(x Operand) bool { return x.Buffer == out }) {
		return false
	}
	for k, x := range i.Inputs {
		if x.Buffer == in && (!MayOverwrite(i.Op, k) || !x.View.Same(i.Outputs[0].View)) {
			return false
		}
	}
	return true
}

// redirect has one buffer take the place of another.
func (s *settled) redirect(from, to int) {
	for _, x := range operandsIn(s.plan) {
		if x.Buffer == from {
			x.Buffer = to
		}
	}
	s.plan.Buffers[to].Values = append(s.plan.Buffers[to].Values, s.plan.Buffers[from].Values...)
}

// copyBack keeps the new content in the scratch and copies it in the end.
func (s *settled) copyBack(out, in int) {
	p := s.plan
	s.copies++
	p.Buffers[out].Kind = Activation
	for k := range p.Outputs {
		if x := &p.Outputs[k]; x.Buffer == out {
			to := *x
			to.Buffer = in
			p.Instructions = append(p.Instructions, Instruction{Node: x.Name, Op: OpCopy, Inputs: []Operand{*x},
				Outputs: []Operand{to}})
			x.Buffer, x.View = in, view.Contiguous(x.View.Shape)
		}
	}
}

// dropUnused removes the buffers that no operand is in.
func (s *settled) dropUnused() {
	used := make([]bool, len(s.plan.Buffers))
	for _, i := range s.home {
		used[i] = true
	}
	for _, x := range operandsIn(s.plan) {
		if x.Buffer >= 0 {
			used[x.Buffer] = true
		}
	}
	number, kept := make([]int, len(used)), 0
	for i, is := range used {
		number[i] = kept
		if is {
			s.plan.Buffers[kept] = s.plan.Buffers[i]
			kept++
		}
	}
	s.plan.Buffers = s.plan.Buffers[:kept]
	for _, x := range operandsIn(s.plan) {
		if x.Buffer >= 0 {
			x.Buffer = number[x.Buffer]
		}
	}
}

// operandsIn returns all operands of a plan, to change them.
func operandsIn(p *ExecutionPlan) []*Operand {
	var list []*Operand
	add := func(operands []Operand) {
		for k := range operands {
			list = append(list, &operands[k])
		}
	}
	add(p.Inputs)
	add(p.Outputs)
	for k := range p.Instructions {
		i := &p.Instructions[k]
		add(i.Inputs)
		add(i.Outputs)
		if i.Scratch != nil {
			list = append(list, i.Scratch)
		}
	}
	return list
}
