//go:build full

package main

import (
	"bytes"
	"errors"
	"math"

	"tlruntime/compiler/content"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/models"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/plans"
	"tlruntime/runtime/status"
)

// The bits of tl_graph_flag that are no fields of plan.Options.
const (
	flagNoRecompute = 1 << (iota + 6)
	flagOutside
	flagSymbolic
	flagsEnd
)

// flagsOf are the fields of plan.Options by the other bits.
func flagsOf(p *plan.Options) []*bool {
	return []*bool{&p.NoViews, &p.NoInPlace, &p.NoConcat, &p.NoReorder, &p.PlaceInputs, &p.PlaceOutputs}
}

// graphOptions are the options of a plan.
type graphOptions struct {
	remat.Options
	symbolic bool
}

// planOptions reads them.
func planOptions(o *object.Context, options uintptr) (r graphOptions, st status.Status) {
	r.Plan.ShareConstants = true // nobody changes those of a graph
	if options == 0 {
		return r, status.OK
	}
	if !usable(options) || load[uintptr](options) < smallestStats {
		return r, fail(o, status.InvalidArgument, "options need a struct_size of sizeof(tl_graph_options)")
	}
	given := readStruct[tl_graph_options](options)
	switch {
	case given.BudgetMs < 0 || given.MaxSteps < 0:
		return r, fail(o, status.InvalidArgument, "a budget of %d ms and %d steps; neither can be negative",
			given.BudgetMs, given.MaxSteps)
	case given.Flags >= flagsEnd:
		return r, fail(o, status.InvalidArgument, "flags are %#x; those of tl_graph_flag are below %#x", given.Flags,
			flagsEnd)
	case given.Alignment&(given.Alignment-1) != 0 || given.Alignment > 1<<32:
		return r, fail(o, status.InvalidArgument, "an alignment of %d; it is a power of two up to 4 GiB",
			given.Alignment)
	}
	for i, field := range flagsOf(&r.Plan) {
		*field = given.Flags>>i&1 == 1
	}
	r.Plan.Seed, r.Plan.MaxSteps, r.Plan.Alignment = given.Seed, given.MaxSteps, int64(given.Alignment)
	r.Plan.Budget = plans.Budget(given.BudgetMs)
	r.symbolic = given.Flags&flagSymbolic != 0
	return r, fittingOptions(o, &given, &r.Options)
}

// fittingOptions reads how a plan is made to fit into less memory.
func fittingOptions(o *object.Context, given *tl_graph_options, r *remat.Options) status.Status {
	r.Capacity = int64(min(given.CapacityBytes, mostTensor))
	r.NoAgain = given.Flags&flagNoRecompute != 0
	outside := given.Flags&flagOutside != 0
	switch {
	case r.Capacity == 0 && (outside || r.NoAgain):
		return fail(o, status.InvalidArgument, "flags are %#x, and there is no capacity to fit into; set capacity_bytes, "+
			"or leave TL_GRAPH_FLAG_OUTSIDE and TL_GRAPH_FLAG_NO_RECOMPUTE out", given.Flags)
	case !outside && (given.OutsideBytes != 0 || given.OutsideBandwidth != 0):
		return fail(o, status.InvalidArgument, "a second space of %d bytes and %v bytes a second is described, and flags "+
			"do not ask for one; add TL_GRAPH_FLAG_OUTSIDE", given.OutsideBytes, given.OutsideBandwidth)
	case !(given.OutsideBandwidth >= 0) || math.IsInf(given.OutsideBandwidth, 0):
		return fail(o, status.InvalidArgument, "a bandwidth of %v; it is a number of bytes a second, 0 for that of a "+
			"copy in memory", given.OutsideBandwidth)
	case outside:
		r.Outside = &remat.Outside{Capacity: int64(min(given.OutsideBytes, mostTensor)),
			Bandwidth: given.OutsideBandwidth}
	}
	if given.Rates == 0 {
		return status.OK
	}
	text, st := longText(o, given.Rates, "rates")
	if st != status.OK {
		return st
	}
	rates, err := remat.ReadRates(bytes.NewReader(text))
	if err != nil {
		return invalid(o, err)
	}
	r.Cost = rates.Node
	return status.OK
}

func planGraph(o *object.Context, h, options, out uintptr) status.Status {
	return ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		st := needsOutput(o, out, "out_execution")
		if st != status.OK {
			return st
		}
		p, st := planOptions(o, options)
		if st != status.OK {
			return st
		}
		if len(g.graph.Outputs) == 0 {
			return fail(o, status.InvalidArgument, "the graph has no output, so there is nothing to compute; add one")
		}
		made, err := g.plan(&p)
		if err != nil {
			return fail(o, outcomeOf(err), "%v", err)
		}
		return keepExecution(o, made, out)
	})
}

// plan checks the graph and plans it. The lock is held.
func (g *ownGraph) plan(o *graphOptions) (*remat.Result, error) {
	given := check.Options{Bind: g.bind, Freeze: g.frozen, FoldBytes: foldable()}
	if o.symbolic {
		return models.PlanSymbolic(g.graph, given, o.Options)
	}
	checked, err := check.Check(g.graph, given)
	if err != nil {
		return nil, err
	}
	return models.Plan(checked, o.Options)
}

// foldable is how many bytes computed constants may take: under a limit of the process fewer, as Go
// ends it without memory.
func foldable() int64 {
	bytes := int64(mostFolded)
	for bytes > 1 && !memory.Obtainable(2*uint64(bytes)) {
		bytes /= 2
	}
	return bytes
}

// outcomeOf is the status for what kept a graph from being read or planned.
func outcomeOf(err error) status.Status {
	var refused *content.MemoryError
	if errors.As(err, &refused) {
		return status.OutOfMemory
	}
	if _, full := err.(*remat.CapacityError); full {
		return status.Limit
	}
	return status.InvalidArgument
}
