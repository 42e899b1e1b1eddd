package lower

import "tlruntime/compiler/lower/flow"

// Stats tells what counting costs a function: operations that stand in its text, and what the lowering spared it.
type Stats [figures]int

// The figures of Stats.
const (
	acquires = iota
	releases
	registers   // in a scope
	unregisters // out of a scope
	scopes      // that the runtime has to know, the frame of the function too
	unshares    // values that are copied before a change, unless they are unique
	borrowed    // variables without a reference
	inSlots     // variables whose tensors are not counted
	moved       // references that are handed over at a last use: two operations fewer each
	cancelled   // pairs that were removed
	reused      // cells that others become: an end and a birth fewer each, where they are unique
	figures
)

// Figures are their names, in the order of Stats.
var Figures = [figures]string{"acquire", "release", "register", "unregister", "scopes", "unshare", "borrowed", "in slots",
	"moved", "cancelled", "reused"}

// figureOf tells where an operation is counted.
var figureOf = map[flow.Code]int{flow.Acquire: acquires, flow.Release: releases, flow.Register: registers,
	flow.Unregister: unregisters, flow.EnterScope: scopes, flow.FunctionEnter: scopes, flow.Unshare: unshares}

// StatsOf counts what a lowered function has.
func (m *Module) StatsOf(function int) Stats {
	s := m.spared[function]
	for _, b := range m.Functions[function].Blocks {
		for i := range b.Ops {
			if at, counts := figureOf[b.Ops[i].Code]; counts {
				s[at]++
			}
		}
	}
	for _, kind := range m.Kinds[function] {
		switch kind {
		case Borrowed:
			s[borrowed]++
		case Slotted:
			s[inSlots]++
		}
	}
	return s
}
