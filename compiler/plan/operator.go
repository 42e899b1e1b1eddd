package plan

import "tlruntime/compiler/graph"

// OpCopy is the operator of the instructions that Build adds: it has one argument and
// one result of the same shape. No graph has it.
const OpCopy = "Copy"

var copies = func() graph.Operator {
	o, _ := graph.Normal("Identity")
	o.Name = OpCopy
	return o
}()

// Operator returns what is known of an instruction's operator, Copy included, and
// whether there is one with this name. graph.Normal's rules hold for the answer.
func Operator(op string) (graph.Operator, bool) {
	if op == OpCopy {
		return copies, true
	}
	return graph.Normal(op)
}

// partsOf tells which operators join or split.
func partsOf(op string) graph.Parts {
	if o, _ := graph.Normal(op); o.Moves != nil {
		return o.Moves.Parts
	}
	return graph.NoParts
}
