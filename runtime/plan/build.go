package plan

import (
	"tlruntime/runtime/plan/graph"
)

// Build plans a graph: it puts the nodes in an order, decides which values share
// memory, and places the buffers in one frame. Errors name the node or the value
// at fault. The plan owns all it holds; c may change afterwards.
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
	order := make([]int, len(c.Nodes))
	for i := range order {
		order[i] = i
	}
	v := variant{noViews: o.NoViews, noInPlace: o.NoInPlace, noConcat: o.NoConcat, order: order}
	l := newLayout(newProgram(c, v), &apartness{})
	p, err := emit(l, &o)
	if err != nil {
		return nil, err
	}
	p.Frame.NaiveBytes = sumOfBuffers(p, &o)
	return p, allocate(p, &o)
}
