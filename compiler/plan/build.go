package plan

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/order"
)

// Build plans a graph: it puts the nodes in an order, decides which values share
// memory, and places the buffers in one frame. Errors name the node or the value
// at fault. The plan owns all it holds, unless Options.ShareConstants; c may change
// afterwards.
//
// Sharing does not always save memory. Build therefore makes a plan for every
// choice of what the options allow, and returns the one with the smallest frame;
// of several, the one with the fewest instructions. So no option, set or not, makes
// the frame larger than it would be without.
//
// For one graph and the same options the plan is the same on every machine, unless
// Options.Budget or Options.Deadline ends a search.
func Build(c *graph.Checked, o Options) (*ExecutionPlan, error) {
	best, err := build(c, o)
	if err != nil {
		return nil, err
	}
	return best.plan, nil
}

func build(c *graph.Checked, o Options) (*candidate, error) {
	b, err := newBuilder(c, o)
	if err != nil {
		return nil, err
	}
	for _, v := range b.variants() {
		if b.options.Late() && len(b.list) > 0 {
			break
		}
		if err := b.try(v); err != nil {
			return nil, err
		}
	}
	return b.smallest()
}

// newBuilder checks what it is given, and plans the graphs that nodes run.
func newBuilder(c *graph.Checked, o Options) (*builder, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	if err := checkGraph(c); err != nil {
		return nil, err
	}
	o.EndAfter(o.Budget)
	if o.bodies, err = planBodies(c, &o); err != nil {
		return nil, err
	}
	return &builder{c: c, options: &o, tried: map[sharing]*candidate{}}, nil
}

// builder collects plans to choose from.
type builder struct {
	c        *graph.Checked
	options  *Options
	tried    map[sharing]*candidate // in the graph's order
	searches []searched
	list     []*candidate
}

// candidate is a plan without offsets.
type candidate struct {
	plan   *ExecutionPlan
	layout *layout // it was made from
	peak   int64   // no placement is smaller
	given  bool    // the nodes are in the graph's order
}

// searched is a search for an order; different ways to share often come to the same
// problem.
type searched struct {
	problem order.Problem
	result  order.Result
}

// variants returns what the options allow to leave out, all in the graph's order:
// nothing first, everything last.
func (b *builder) variants() []variant {
	given := make([]int, len(b.c.Nodes))
	for i := range given {
		given[i] = i
	}
	_, rewritten := chain(b.c)
	wishes := newProgram(b.c, variant{order: given}).wishes
	var list []variant
	for mask := range 8 {
		s := sharing{noViews: mask&4 != 0, noInPlace: mask&2 != 0, noConcat: mask&1 != 0}
		if b.options.NoViews && !s.noViews || b.options.NoInPlace && !s.noInPlace || b.options.NoConcat && !s.noConcat {
			continue
		}
		list = append(list, variant{s, given})
		if len(wishes) > 0 && !s.noViews {
			plain := s
			plain.plain = true
			list = append(list, variant{plain, given})
		}
		if len(rewritten) > 0 && !s.noConcat {
			s.chained = true
			list = append(list, variant{s, given})
		}
	}
	return list
}

// try adds a candidate in the graph's order, and others in those orders that
// promise less: for the same sharing, and for the one without Concats, which does
// not hold parts together.
func (b *builder) try(v variant) error {
	first, err := b.given(v)
	if err != nil {
		return err
	}
	b.list = append(b.list, first)
	if b.options.NoReorder || b.options.Late() {
		return nil
	}
	if err := b.tryOrder(v, first, first.layout); err != nil || v.noConcat || v.chained || b.options.Late() {
		return err
	}
	apart := v
	apart.noConcat = true
	second, err := b.given(apart)
	if err != nil {
		return err
	}
	return b.tryOrder(v, first, second.layout)
}

// given returns the attempt in the graph's order.
func (b *builder) given(v variant) (*candidate, error) {
	if a, ok := b.tried[v.sharing]; ok {
		return a, nil
	}
	a, err := b.attempt(v)
	if err == nil {
		a.given = true
		b.tried[v.sharing] = a
	}
	return a, err
}

func (b *builder) attempt(v variant) (*candidate, error) {
	p := newProgram(b.c, v)
	p.alone = b.options.alone
	if b.options.Scratch != nil || len(b.options.bodies) > 0 {
		if _, err := emit(newLayout(p, &apartness{}), b.options); err != nil {
			return nil, err
		}
	}
	l := refine(p, b.options)
	e, err := emit(l, b.options)
	if err != nil {
		return nil, err
	}
	return &candidate{plan: e, layout: l, peak: peak(e, b.options, b.options.placed)}, nil
}

// tryOrder adds a candidate in the order that is best for a layout, if that is
// better than the graph's.
func (b *builder) tryOrder(v variant, given *candidate, l *layout) error {
	r, err := b.search(l)
	if err != nil {
		return err
	}
	if r.Proved && given.peak <= r.Peak {
		given.plan.Frame.Order.Proved = true
	}
	if r.Peak >= r.GivenPeak {
		return nil
	}
	v.order = r.Order
	a, err := b.attempt(v)
	if err != nil {
		return err
	}
	a.plan.Frame.Order.Proved = r.Proved && a.peak <= r.Peak
	b.list = append(b.list, a)
	return nil
}

func (b *builder) search(l *layout) (order.Result, error) {
	problem := l.ordering(b.options)
	for _, s := range b.searches {
		if reflect.DeepEqual(s.problem, problem) {
			return s.result, nil
		}
	}
	r, err := order.Search(problem, order.Options{States: b.options.OrderSteps, Deadline: b.options.Deadline})
	if err != nil {
		return r, errorf("%w", err)
	}
	b.searches = append(b.searches, searched{problem, r})
	return r, nil
}

// smallest places the buffers of each candidate, the most promising first, until
// the rest cannot be smaller, and completes the best. What is done without a budget
// comes first, so that a budget that outlasts it never gives a larger frame; what the
// budget adds is for all candidates together.
func (b *builder) smallest() (*candidate, error) {
	naive, givenPeak := int64(0), int64(math.MaxInt64)
	for _, x := range b.list {
		if x.given {
			naive, givenPeak = sumOfBuffers(x.plan, b.options), min(givenPeak, x.peak)
		}
	}
	slices.SortStableFunc(b.list, func(x, y *candidate) int {
		return cmp.Or(cmp.Compare(x.peak, y.peak), cmp.Compare(len(x.plan.Instructions), len(y.plan.Instructions)))
	})
	best, err := b.place()
	if err != nil {
		return nil, err
	}
	best.plan.Frame.NaiveBytes = naive
	best.plan.Frame.Order.GivenPeak, best.plan.Frame.Order.Peak = givenPeak, best.peak
	if !b.options.ShareConstants {
		ownConstants(best.plan)
	}
	return best, nil
}
