package plan

import (
	"cmp"
	"math"
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
	var list []*candidate
	for _, v := range variants(c, &o) {
		if list, err = tryOrders(list, c, v, &o); err != nil {
			return nil, err
		}
	}
	return smallest(list, &o)
}

// candidate is a plan without offsets.
type candidate struct {
	plan  *ExecutionPlan
	peak  int64 // no placement is smaller
	given bool  // the nodes are in the graph's order
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
		if _, rewritten := chain(c); len(rewritten) > 0 && !v.noConcat {
			v.chained = true
			list = append(list, v)
		}
	}
	return list
}

// tryOrders appends a candidate in the graph's order, and others in those orders
// that promise less.
func tryOrders(list []*candidate, c *graph.Checked, v variant, o *Options) ([]*candidate, error) {
	l, given, err := tryVariant(c, v, o)
	if err != nil {
		return nil, err
	}
	given.given = true
	list = append(list, given)
	if o.NoReorder {
		return list, nil
	}
	layouts := []*layout{l}
	if !v.noConcat && !v.chained {
		v.noConcat = true
		apart, _, err := tryVariant(c, v, o)
		if err != nil {
			return nil, err
		}
		v.noConcat = false
		layouts = append(layouts, apart)
	}
	for _, l := range layouts {
		r, err := l.search(o)
		if err != nil {
			return nil, errorf("%w", err)
		}
		given.plan.Frame.Order.Proved = given.plan.Frame.Order.Proved || r.Proved && given.peak <= r.Peak
		if r.Peak >= r.GivenPeak {
			continue
		}
		v.order = r.Order
		_, x, err := tryVariant(c, v, o)
		if err != nil {
			return nil, err
		}
		x.plan.Frame.Order.Proved = r.Proved && x.peak <= r.Peak
		list = append(list, x)
	}
	return list, nil
}

func tryVariant(c *graph.Checked, v variant, o *Options) (*layout, *candidate, error) {
	p := newProgram(c, v)
	if o.Scratch != nil {
		if _, err := emit(newLayout(p, &apartness{}), o); err != nil {
			return nil, nil, err
		}
	}
	l := refine(p, o)
	e, err := emit(l, o)
	if err != nil {
		return nil, nil, err
	}
	return l, &candidate{plan: e, peak: peak(e, o)}, nil
}

// smallest places the buffers of each candidate, the most promising first, until
// the rest cannot be smaller, and completes the best.
func smallest(list []*candidate, o *Options) (*ExecutionPlan, error) {
	naive, givenPeak := int64(0), int64(math.MaxInt64)
	for _, x := range list {
		if x.given {
			naive, givenPeak = sumOfBuffers(x.plan, o), min(givenPeak, x.peak)
		}
	}
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.peak, b.peak), cmp.Compare(len(a.plan.Instructions), len(b.plan.Instructions)))
	})
	var best *candidate
	for _, x := range list {
		if best != nil && x.peak >= best.plan.Frame.Bytes {
			break
		}
		if err := allocate(x.plan, o); err != nil {
			return nil, err
		}
		if best == nil || x.plan.Frame.Bytes < best.plan.Frame.Bytes {
			best = x
		}
	}
	best.plan.Frame.NaiveBytes = naive
	best.plan.Frame.Order.GivenPeak, best.plan.Frame.Order.Peak = givenPeak, best.peak
	ownConstants(best.plan)
	return best.plan, nil
}
