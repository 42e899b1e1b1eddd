package llvm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/plan"
)

// MissingError tells of all instructions of a plan that there is no kernel for.
type MissingError []*UnsupportedError

// Error names each operator once, with how often it is there and why it cannot be written.
func (e MissingError) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	type group struct {
		first *UnsupportedError
		nodes int
	}
	var groups []*group
	for _, u := range e {
		i := slices.IndexFunc(groups, func(g *group) bool { return g.first.Op == u.Op && g.first.Reason == u.Reason })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{first: u})
		}
		groups[i].nodes++
	}
	parts := make([]string, len(groups))
	for i, g := range groups {
		u := g.first
		where := fmt.Sprintf("%q", u.Node)
		if g.nodes > 1 {
			where = fmt.Sprintf("%d nodes, the first is %q", g.nodes, u.Node)
		}
		if u.Reason != noKernel {
			where += ": " + u.Reason
		}
		parts[i] = fmt.Sprintf("%s on %s (%s)", u.Op, u.DType, where)
	}
	return fmt.Sprintf("there are no kernels for %d nodes: %s", len(e), strings.Join(parts, ", "))
}

// took adds what err tells of missing kernels, and returns any other error.
func (e *MissingError) took(err error) error {
	var many MissingError
	var one *UnsupportedError
	switch {
	case errors.As(err, &many):
		*e = append(*e, many...)
	case errors.As(err, &one):
		*e = append(*e, one)
	default:
		return err
	}
	return nil
}

// orNil is the error; none where nothing is missing.
func (e MissingError) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Unwrap returns the errors of the single instructions.
func (e MissingError) Unwrap() []error {
	list := make([]error, len(e))
	for i, u := range e {
		list[i] = u
	}
	return list
}

// Missing returns the instructions of p, and of the bodies in it, whose operators have no kernel, or none for their
// element types; Module refuses these, and may refuse others for their attributes. It costs
// less than Module.
func Missing(p *plan.ExecutionPlan) MissingError {
	var list MissingError
	for i := range p.Instructions {
		if u := missing(p, &p.Instructions[i]); u != nil {
			list = append(list, u)
		}
		for k := range p.Instructions[i].Bodies {
			list = append(list, Missing(p.Instructions[i].Bodies[k].Plan)...)
		}
	}
	return list
}

func missing(p *plan.ExecutionPlan, i *plan.Instruction) *UnsupportedError {
	d := typeOf(p.Buffers, i)
	w, known := kernels[i.Op]
	for _, o := range slices.Concat(i.Inputs, i.Outputs) {
		if o.Buffer >= 0 && p.Buffers[o.Buffer].DType.Passed() {
			return &UnsupportedError{i.Node, i.Op, p.Buffers[o.Buffer].DType, "there is no code for elements of this type"}
		}
	}
	if callerOf(i.Op) != nil {
		return nil
	}
	if !known {
		return &UnsupportedError{i.Node, i.Op, d, whyMissing(i)}
	}
	if w.decider < len(i.Inputs) && i.Inputs[w.decider].Buffer >= 0 {
		d = p.Buffers[i.Inputs[w.decider].Buffer].DType
		if !slices.Contains(w.types, d) {
			return &UnsupportedError{i.Node, i.Op, d, "there are kernels for " + listed(w.types)}
		}
	}
	return nil
}

// whyMissing is why an operator has no kernel: the check of the graph may have said more.
func whyMissing(i *plan.Instruction) string {
	if reason := i.Attrs.String(check.ReasonAttr); reason != "" {
		return reason
	}
	return noKernel
}

// KernelTypes returns the element types that there are kernels of an operator for: those
// of the argument that decides. None: there is no kernel. An operator that runs bodies takes all.
func KernelTypes(op string) []graph.DType {
	if callerOf(op) != nil {
		return slices.Clone(computed)
	}
	return slices.Clone(kernels[op].types)
}
