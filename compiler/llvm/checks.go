package llvm

import (
	"fmt"
	"strings"

	"tlruntime/compiler/plan"
)

// Refusal is the sentence for a function of p that has returned TL_E_INVALID_ARGUMENT although
// its addresses are good: what it may have found wrong; "" when it looks at nothing.
func Refusal(p *plan.ExecutionPlan) string {
	const most = 3
	checks, more := Checks(p), ""
	if len(checks) == 0 {
		return ""
	}
	if len(checks) > most {
		more = fmt.Sprintf("; and %d more", len(checks)-most)
		checks = checks[:most]
	}
	return "what a run looks at: " + strings.Join(checks, "; ") + more
}

// Checks lists what an instruction of p, or of a body in it, may find wrong while it runs: why
// the function may return TL_E_INVALID_ARGUMENT besides for its addresses. Each names its node.
func Checks(p *plan.ExecutionPlan) (list []string) {
	for n := range p.Instructions {
		i := &p.Instructions[n]
		if text := checkOf(p, i); text != "" {
			list = append(list, fmt.Sprintf("node %q (%s): %s", i.Node, i.Op, text))
		}
		for k := range i.Bodies {
			list = append(list, Checks(i.Bodies[k].Plan)...)
		}
	}
	return list
}

func checkOf(p *plan.ExecutionPlan, i *plan.Instruction) string {
	switch i.Op {
	case plan.OpLoop:
		if len(i.Bodies) == 1 {
			return collects(i)
		}
	case "NonZero":
		return nonZeroCheck(i.Outputs[0].View.Shape[1])
	case "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND":
		if indices := i.Inputs[1].Buffer; indices >= 0 && p.Buffers[indices].Kind != plan.Constant {
			return "its indices have to be in range"
		}
	}
	return ""
}

// collects tells how many turns a Loop has to make, where its results depend on that.
func collects(i *plan.Instruction) string {
	_, out := i.Ports(0)
	for _, port := range out {
		if o, ok := i.Of(port, false); ok && o.Buffer >= 0 && port.Role == plan.Collected {
			n := o.View.Shape[port.Axis]
			return fmt.Sprintf("it collects %d parts, so that it has to make %d turns", n, n)
		}
	}
	return ""
}
