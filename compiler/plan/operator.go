package plan

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
)

// OpCopy is the operator of the instructions that Build adds: it has one argument and
// one result of the same shape. No graph has it.
const OpCopy = "Copy"

// OpMoveOut copies a value to the plan's second space, OpMoveIn copies it back. No
// Graph has them; package remat puts them into a Checked. The result of a MoveOut is
// for MoveIns alone.
const (
	OpMoveOut = "MoveOut"
	OpMoveIn  = "MoveIn"
)

var copies = func() map[string]ops.Operator {
	list := map[string]ops.Operator{}
	for _, name := range []string{OpCopy, OpMoveOut, OpMoveIn} {
		o, _ := ops.Normal("Identity")
		o.Name = name
		list[name] = o
	}
	return list
}()

// Copies reports whether an instruction does nothing but copy its argument.
func Copies(op string) bool {
	_, ok := copies[op]
	return ok
}

// Transfers reports whether an operator moves a value to the second space or back.
func Transfers(op string) bool { return op == OpMoveOut || op == OpMoveIn }

// Operator returns what is known of an instruction's operator, those that copy included,
// and whether there is one with this name. graph.Normal's rules hold for the answer.
func Operator(op string) (ops.Operator, bool) {
	if o, ok := copies[op]; ok {
		return o, true
	}
	return ops.Normal(op)
}

// partsOf tells which operators join or split.
func partsOf(op string) ops.Parts {
	if o, _ := ops.Normal(op); o.Moves != nil {
		return o.Moves.Parts
	}
	return ops.NoParts
}

// checkTransfers holds MoveOut and MoveIn to their places: what a MoveOut gives is no output of the graph, and only
// a MoveIn takes it.
func checkTransfers(c *graph.Checked) error {
	outside := make([]bool, len(c.Values))
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if Transfers(n.Op) {
			if len(n.Inputs) != 1 || len(n.Outputs) != 1 || n.Inputs[0] < 0 || n.Outputs[0] < 0 ||
				!alike(&c.Values[n.Inputs[0]], &c.Values[n.Outputs[0]]) {
				return errorf("node %q (%s): it has one argument and one result of the same type and shape", n.Name, n.Op)
			}
			outside[n.Outputs[0]] = n.Op == OpMoveOut
		}
		for _, v := range n.Inputs {
			if v >= 0 && outside[v] != (n.Op == OpMoveIn) {
				return errorf("node %q (%s) takes %q: a MoveIn takes what a MoveOut gives, and nothing else does", n.Name,
					n.Op, c.Values[v].Name)
			}
		}
	}
	if at := slices.IndexFunc(c.Outputs, func(v int) bool { return outside[v] }); at >= 0 {
		return errorf("output %d is %q, which was moved out of the frame", at, c.Values[c.Outputs[at]].Name)
	}
	return nil
}
