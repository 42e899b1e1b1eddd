package llvm

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

// home tells where a buffer lies when the function runs: in entry index of one of
// the caller's arrays, in the frame, in a slot, in the second space, or in the module.
type home struct {
	array   string // "inputs", "outputs", "constants", or ""
	index   int
	frame   bool
	outside bool
	offset  int64  // in the frame, in the slot, or in the second space
	slot    int    // with frame, in Slots memory
	global  string // name of an embedded constant
}

// placement is where everything lies.
type placement struct {
	buffers      []plan.Buffer // the plan's, and one for each output that is a copy
	homes        []home        // of buffers
	instructions []plan.Instruction
	slots        []int64 // bytes of each slot
	staged       []int   // inputs that are copied to the frame at the start
	constants    []int   // buffers, in order
}

// placeBuffers decides where each buffer lies. Every one has to have a home.
func (m *module) placeBuffers() error {
	m.place = placement{
		buffers:      slices.Clone(m.plan.Buffers),
		homes:        make([]home, len(m.plan.Buffers)),
		instructions: slices.Clone(m.plan.Instructions),
	}
	if err := m.checkOperands(); err != nil {
		return err
	}
	m.placeInputs()
	m.placeOutputs()
	m.placeConstants()
	if m.opts.Memory == Slots {
		m.assignSlots()
	}
	for i, b := range m.place.buffers {
		if h := m.place.homes[i]; b.Bytes > 0 && h == (home{}) {
			return fmt.Errorf("buffer %d (%s, kind %d) has no place: it is no input, output or constant and has no "+
				"offset in the frame", i, b.Name, b.Kind)
		}
		if end := b.Offset + b.Bytes; m.place.homes[i].frame && end > m.plan.Frame.Bytes {
			return fmt.Errorf("buffer %d (%s) ends at %d, and the frame at %d", i, b.Name, end, m.plan.Frame.Bytes)
		}
		if end := b.Outside + b.Bytes; m.place.homes[i].outside && (b.Outside < 0 || end > m.plan.Outside) {
			return fmt.Errorf("buffer %d (%s) ends at %d, and the second space at %d", i, b.Name, end, m.plan.Outside)
		}
	}
	return nil
}

// checkOperands holds every operand to its buffer, so that no kernel reaches
// beyond one.
func (m *module) checkOperands() error {
	check := func(what string, list []plan.Operand) error {
		for _, o := range list {
			if err := m.checkOperand(o); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		return nil
	}
	if err := check("inputs of the plan", m.plan.Inputs); err != nil {
		return err
	}
	if err := check("outputs of the plan", m.plan.Outputs); err != nil {
		return err
	}
	for i, o := range m.plan.Outputs {
		if o.Buffer < 0 {
			return fmt.Errorf("output %d of the plan, %q, lies in no buffer", i, o.Name)
		}
	}
	for _, i := range m.plan.Instructions {
		if err := m.checkResults(i); err != nil {
			return err
		}
		if err := check(fmt.Sprintf("node %q (%s)", i.Node, i.Op),
			append(slices.Clone(i.Inputs), i.Outputs...)); err != nil {
			return err
		}
	}
	return nil
}

// checkResults refuses instructions that write what is not theirs.
func (m *module) checkResults(i plan.Instruction) error {
	for _, o := range i.Outputs {
		if o.Buffer < 0 || o.Buffer >= len(m.plan.Buffers) {
			continue
		}
		if kind := m.plan.Buffers[o.Buffer].Kind; kind == plan.Input || kind == plan.Constant {
			return fmt.Errorf("node %q (%s): its result %q lies in buffer %d, an input or a constant, which cannot "+
				"be written", i.Node, i.Op, o.Name, o.Buffer)
		}
	}
	return nil
}

func (m *module) checkOperand(o plan.Operand) error {
	if o.Buffer < 0 {
		return nil
	}
	if o.Buffer >= len(m.plan.Buffers) {
		return fmt.Errorf("operand %q lies in buffer %d of %d", o.Name, o.Buffer, len(m.plan.Buffers))
	}
	if len(o.View.Shape) != len(o.View.Strides) {
		return fmt.Errorf("operand %q has %d axes and %d strides", o.Name, len(o.View.Shape), len(o.View.Strides))
	}
	for _, d := range o.View.Shape {
		if d < 0 {
			return fmt.Errorf("operand %q has the shape %v", o.Name, o.View.Shape)
		}
	}
	b := m.plan.Buffers[o.Buffer]
	if _, known := elems[b.DType]; !known {
		return fmt.Errorf("operand %q: element type %d is none", o.Name, b.DType)
	}
	low, high := o.View.Extent()
	if low < 0 || (high+1)*b.DType.Bytes() > b.Bytes {
		return fmt.Errorf("operand %q touches elements %d to %d of a buffer of %d bytes of %s", o.Name, low, high,
			b.Bytes, b.DType)
	}
	return nil
}

func isState(b plan.Buffer) bool { return b.Kind == plan.State }

func (m *module) placeInputs() {
	for i, b := range m.place.buffers {
		if isState(b) && b.Offset >= 0 {
			m.place.homes[i] = home{frame: true, offset: b.Offset}
		}
	}
	for i, o := range m.plan.Inputs {
		if o.Buffer < 0 || m.place.homes[o.Buffer] != (home{}) {
			continue
		}
		b := &m.place.buffers[o.Buffer]
		if b.Offset >= 0 && b.Kind != plan.Output {
			m.place.staged = append(m.place.staged, i)
			m.place.homes[o.Buffer] = home{frame: true, offset: b.Offset}
		} else {
			m.place.homes[o.Buffer] = home{array: "inputs", index: i}
		}
	}
	for i, b := range m.place.buffers {
		if b.Kind == plan.Activation && b.Offset >= 0 {
			m.place.homes[i] = home{frame: true, offset: b.Offset}
		}
		if b.Kind == plan.Outside {
			m.place.homes[i] = home{outside: true, offset: b.Outside}
		}
	}
}

// placeOutputs gives each output buffer to the first output that is the whole of
// it; an output that is anything else is copied at the end, unless it is a state.
func (m *module) placeOutputs() {
	for k, o := range m.plan.Outputs {
		b := &m.plan.Buffers[o.Buffer]
		whole := o.View.IsContiguous() && o.View.Offset == 0 && o.View.Elements()*b.DType.Bytes() == b.Bytes
		switch {
		case whole && isState(*b):
		case whole && b.Kind == plan.Output && m.place.homes[o.Buffer] == (home{}):
			m.place.homes[o.Buffer] = home{array: "outputs", index: k}
		default:
			m.copyOutput(k, o, b.DType)
		}
	}
}

func (m *module) copyOutput(k int, o plan.Operand, d graph.DType) {
	to := view.Contiguous(o.View.Shape)
	m.place.buffers = append(m.place.buffers, plan.Buffer{
		Name: o.Name, Kind: plan.Output, DType: d, Shape: o.View.Shape, Bytes: o.View.Elements() * d.Bytes(),
		Offset: -1,
	})
	m.place.homes = append(m.place.homes, home{array: "outputs", index: k})
	m.place.instructions = append(m.place.instructions, plan.Instruction{
		Node: o.Name, Op: plan.OpCopy, Inputs: []plan.Operand{o},
		Outputs: []plan.Operand{{Name: o.Name, Buffer: len(m.place.buffers) - 1, View: to}},
	})
}

func (m *module) placeConstants() {
	for i, b := range m.place.buffers {
		if b.Kind != plan.Constant {
			continue
		}
		index := len(m.place.constants)
		m.place.constants = append(m.place.constants, i)
		m.place.homes[i] = home{array: "constants", index: index}
		if m.embeds(b) {
			name, known := m.embedded[string(b.Constant.Data)]
			if !known {
				name = fmt.Sprintf("%s_constant%d", m.name, index)
			}
			m.place.homes[i] = home{global: name}
			if known {
				continue
			}
			m.embedded[string(b.Constant.Data)] = name
			m.globals = append(m.globals, fmt.Sprintf("@%s = private unnamed_addr constant [%d x i8] c%s, align %d",
				name, b.Bytes, quoted(string(b.Constant.Data)), frameAligned))
		}
	}
}

func (m *module) embeds(b plan.Buffer) bool {
	return b.Kind == plan.Constant && b.Bytes <= m.opts.EmbedBytes && b.Constant != nil &&
		int64(len(b.Constant.Data)) == b.Bytes
}

// assignSlots makes a slot of each offset that buffers begin at, as long as the
// longest of them.
func (m *module) assignSlots() {
	slots := map[int64]int{}
	for i, b := range m.place.buffers {
		h := &m.place.homes[i]
		if !h.frame || b.Bytes == 0 {
			continue
		}
		slot, known := slots[h.offset]
		if !known {
			slot = len(m.place.slots)
			slots[h.offset] = slot
			m.place.slots = append(m.place.slots, 0)
		}
		m.place.slots[slot] = max(m.place.slots[slot], b.Bytes)
		h.slot, h.offset = slot, 0
	}
}

// alignment is what the frame's address is a multiple of.
func (m *module) alignment() int64 { return ScratchAlignment(m.plan) }

// ScratchAlignment is what the address of the caller's scratch is a multiple of.
func ScratchAlignment(p *plan.ExecutionPlan) int64 { return max(p.Frame.Alignment, frameAligned) }

// needsFrame reports whether the function takes any memory.
func (m *module) needsFrame() bool {
	if m.opts.Memory == Slots {
		return len(m.place.slots) > 0
	}
	return m.plan.Frame.Bytes > 0
}
