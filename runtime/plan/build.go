package plan

import (
	"cmp"
	"slices"

	"tlruntime/runtime/plan/graph"
)

// Build plans a graph: it puts the nodes in an order, decides which values share
// memory, and places the buffers in one frame. Errors name the node or the value
// at fault. The plan owns all it holds; c may change afterwards.
//
// Sharing does not always save memory. Build therefore makes a plan for every
// choice of what the options allow, and returns the one with the smallest frame;
// of several, the one with the fewest instructions. So no option, set or not, makes
// the frame larger than it would be without.
//
// For one graph and the same options the plan is the same on every machine, unless
// Options.OffsetBudget ends the search for offsets.
func Build(c *graph.Checked, o Options) (*ExecutionPlan, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	if err := check(c); err != nil {
		return nil, err
	}
	var plans []*candidate
	for _, v := range variants(c, &o) {
		x, err := tryVariant(c, v, &o)
		if err != nil {
			return nil, err
		}
		plans = append(plans, x)
	}
	naive := sumOfBuffers(plans[len(plans)-1].plan, &o)
	best, err := smallest(plans, &o)
	if err != nil {
		return nil, err
	}
	best.Frame.NaiveBytes = naive
	ownConstants(best)
	return best, nil
}

// candidate is a plan without offsets.
type candidate struct {
	plan *ExecutionPlan
	peak int64 // no placement is smaller
}

// variants returns what the options allow to leave out, everything first and
// nothing but copies last.
func variants(c *graph.Checked, o *Options) []variant {
	order := make([]int, len(c.Nodes))
	for i := range order {
		order[i] = i
	}
	var list []variant
	for mask := range 8 {
		v := variant{noViews: mask&4 != 0, noInPlace: mask&2 != 0, noConcat: mask&1 != 0, order: order}
		if o.NoViews && !v.noViews || o.NoInPlace && !v.noInPlace || o.NoConcat && !v.noConcat {
			continue
		}
		list = append(list, v)
	}
	return list
}

func tryVariant(c *graph.Checked, v variant, o *Options) (*candidate, error) {
	p, err := emit(refine(newProgram(c, v), o), o)
	if err != nil {
		return nil, err
	}
	return &candidate{plan: p, peak: peak(p, o)}, nil
}

// smallest places the buffers of each candidate, the most promising first, until
// the rest cannot be smaller.
func smallest(list []*candidate, o *Options) (*ExecutionPlan, error) {
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.peak, b.peak), cmp.Compare(len(a.plan.Instructions), len(b.plan.Instructions)))
	})
	var best *ExecutionPlan
	for _, x := range list {
		if best != nil && x.peak >= best.Frame.Bytes {
			break
		}
		if err := allocate(x.plan, o); err != nil {
			return nil, err
		}
		if best == nil || x.plan.Frame.Bytes < best.Frame.Bytes {
			best = x.plan
		}
	}
	return best, nil
}
