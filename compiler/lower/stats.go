package lower

import "tlruntime/compiler/lower/flow"

// Figures are the names of what Stats has: operations that are emitted, and what the lowering spared.
var Figures = []string{"acquire", "release", "register", "unregister", "scopes", "unshare", "borrowed", "in slots",
	"moved", "cancelled"}

// Stats tells what counting costs a function as it stands in the text, in the order of Figures: acquires, releases,
// registrations in scopes and out of them, scopes that the runtime has to know with the frame, values that are copied
// before a change unless they are unique; variables without a reference, tensors without a count, references that are
// handed over at a last use and pairs that were removed, two calls fewer each.
type Stats [10]int

// figureOf gives the place in Stats of operations.
var figureOf = map[flow.Code]int{flow.Acquire: 0, flow.Release: 1, flow.Register: 2, flow.Unregister: 3,
	flow.EnterScope: 4, flow.FunctionEnter: 4, flow.Unshare: 5}

// StatsOf counts what a lowered function has.
func (m *Module) StatsOf(function int) Stats {
	spared := m.spared[function]
	s := Stats{8: spared.moved, 9: spared.cancelled}
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
			s[6]++
		case Slotted:
			s[7]++
		}
	}
	return s
}
