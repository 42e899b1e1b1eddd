package plan

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

// Role is what an input or an output of a body is to the instruction that runs it.
type Role uint8

// The roles, with the numbers of tl_port_role. Those of If, Loop and Scan are known; a body of another operator has
// inputs and outputs that are Foreign, besides what it captures.
const (
	Foreign   Role = iota
	Captured       // an argument of the instruction, the same in all turns
	Counter        // the number of the turn, from 0
	Going          // as an input true; as an output, whether there is one more turn
	Carried        // as an output, what the input is in the next turn; the result is the last one
	Scanned        // a part of an argument, another one in each turn
	Result         // a result of the instruction
	Collected      // a part of a result, another one in each turn
)

// Port tells where an input of a body comes from, or where an output goes.
type Port struct {
	Role     Role
	Argument int  // of the instruction: what is captured or gone over, the first content of what is carried; else -1
	Result   int  // of the instruction: the whole, of which Collected is a part; else -1
	Axis     int  // of the whole, along which the turns lie
	Back     bool // the first turn has the last part
}

// Ports returns a port for each input and each output of body k of the instruction.
func (i *Instruction) Ports(k int) (in, out []Port) {
	b := &i.Bodies[k]
	given := len(b.Plan.Inputs) - len(b.Captures)
	in, out = make([]Port, len(b.Plan.Inputs)), make([]Port, len(b.Plan.Outputs))
	for n := range in {
		in[n] = Port{Argument: -1, Result: -1}
	}
	for n := range out {
		out[n] = Port{Argument: -1, Result: -1}
	}
	for n, a := range b.Captures {
		in[given+n].Role, in[given+n].Argument = Captured, a
	}
	switch i.Op {
	case OpIf:
		for n := range out {
			out[n].Role, out[n].Result = Result, n
		}
	case OpLoop:
		i.loopPorts(in[:given], out)
	case OpScan:
		i.scanPorts(in[:given], out, b.Plan)
	}
	return in, out
}

// Operators that run bodies and that are known.
const (
	OpIf   = "If"
	OpLoop = "Loop"
	OpScan = "Scan"
)

// loopPorts: the counter and the condition stand before what is carried.
func (i *Instruction) loopPorts(in, out []Port) {
	for n := range in {
		switch n {
		case 0:
			in[n].Role = Counter
		case 1:
			in[n].Role = Going
		default:
			in[n].Role, in[n].Argument, in[n].Result = Carried, n, n-2
		}
	}
	for n := range out {
		out[n].Result = n - 1
		switch {
		case n == 0:
			out[n].Role = Going
		case n < len(in)-1:
			out[n].Role = Carried
		default:
			out[n].Role = Collected
		}
	}
}

// scanPorts: what is carried stands before what is gone over and what is collected.
func (i *Instruction) scanPorts(in, out []Port, p *ExecutionPlan) {
	states := len(in) - int(i.Attrs.Int("num_scan_inputs"))
	for n := range in {
		in[n].Role, in[n].Argument, in[n].Result = Carried, n, n
		if n >= states {
			in[n].Role, in[n].Result = Scanned, -1
			in[n].along(i.Attrs, "scan_input", n-states, len(p.Inputs[n].View.Shape)+1)
		}
	}
	for n := range out {
		out[n].Role, out[n].Result = Carried, n
		if n >= states {
			out[n].Role = Collected
			out[n].along(i.Attrs, "scan_output", n-states, len(p.Outputs[n].View.Shape)+1)
		}
	}
}

// along reads the axis and the direction of entry n of a whole with so many axes.
func (p *Port) along(attrs graph.Attrs, what string, n, rank int) {
	if axes := attrs.Ints(what + "_axes"); n < len(axes) {
		p.Axis = int(axes[n])
	}
	if p.Axis < 0 {
		p.Axis += rank
	}
	ways := attrs.Ints(what + "_directions")
	p.Back = n < len(ways) && ways[n] != 0
}

// Lends reports whether the memory of a body's input or output is that of an operand of the
// instruction, so that it needs none of its own: a whole that lies row by row, or parts that
// do. What is carried from turn to turn is in the result, and is made elsewhere.
func (i *Instruction) Lends(p Port, input bool) bool {
	o, ok := i.Of(p, input)
	if !ok || o.Buffer < 0 {
		return false
	}
	if p.Role == Scanned || p.Role == Collected {
		shown, ok := without(o.View, p.Axis)
		return ok && shown.IsContiguous()
	}
	return o.View.IsContiguous()
}

// Of is the operand of the instruction in whose memory a port may be.
func (i *Instruction) Of(p Port, input bool) (Operand, bool) {
	list, n := i.Outputs, p.Result
	switch p.Role {
	case Captured, Scanned:
		list, n = i.Inputs, p.Argument
	case Carried:
		if !input {
			return Operand{}, false
		}
	case Result, Collected:
	default:
		return Operand{}, false
	}
	if n < 0 || n >= len(list) {
		return Operand{}, false
	}
	return list[n], true
}

// without is a view of what one element of an axis has.
func without(v view.View, axis int) (view.View, bool) {
	if axis < 0 || axis >= len(v.Shape) {
		return v, false
	}
	return view.View{Shape: slices.Delete(slices.Clone(v.Shape), axis, axis+1),
		Strides: slices.Delete(slices.Clone(v.Strides), axis, axis+1), Offset: v.Offset}, true
}
