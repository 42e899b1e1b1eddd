// Package check turns a Graph that somebody wrote into a Checked one: it puts the nodes in order, gives every value its
// type, and runs each node through the table of package ops.
package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
)

// Options is what Check is told besides the graph.
type Options struct {
	// Bind has a number, at least 0, for each symbol of the inputs' shapes: the
	// bound up to which the plan will hold.
	Bind map[string]int64

	// Freeze turns inputs of the graph, by name, into constants. Symbols that only
	// frozen inputs have need no number.
	Freeze map[string]graph.Tensor

	// FoldBytes bounds the memory that computed constants may take together; 0 is
	// 1 GiB. Nodes that would need more stay nodes, where they can.
	FoldBytes int64

	// Apart keeps constants that are computed for themselves. Constants that are equal for some numbers of the symbols
	// and differ for others are then the same values for all of them.
	Apart bool

	// Infer is asked for the types of a node's results when Check does not know the
	// operator and the graph does not declare them; nil: nobody is asked. It returns what
	// it knows; an error tells why it knows less than it could.
	Infer func(*Inquiry) ([]graph.Declaration, error)
}

const defaultFoldBytes = 1 << 30

// checker is a Check at work.
type checker struct {
	ops.Draft
	graph *graph.Graph
	opt   Options
	names []string // by node: what called returns

	declared map[string]*graph.Declaration // by name
	untyped  []untyped
	silence  error            // why Infer knew less than it could
	reads    map[int][]string // by node with bodies: what needs returns
	outer    *checker         // of the graph in which this one is a body
}

// Check puts the nodes in order, finds the type and shape of every value, brings
// each operator into its normal form, computes what depends on constants alone,
// and leaves out what no output depends on. Where the nodes' own order is possible
// it is kept; else a node moves only as far as its inputs demand.
//
// An error is an *Error; where several things are wrong it tells the first. The
// content of constants is shared with g and o, not copied.
func Check(g *graph.Graph, o Options) (*graph.Checked, error) {
	if g == nil {
		return nil, graph.Problem("there is no graph", "pass one")
	}
	return newChecker(g, o).run()
}

func newChecker(g *graph.Graph, o Options) *checker {
	c := &checker{graph: g, opt: o, names: namesOf(g.Nodes), declared: map[string]*graph.Declaration{},
		reads: map[int][]string{}}
	c.Draft = ops.NewDraft(c, g, cmp.Or(o.FoldBytes, defaultFoldBytes))
	c.Apart = o.Apart
	return c
}

// run checks the graph. In a body it returns nil, without an error, when a value has no
// type: the graph around it tells of all such values together.
func (c *checker) run() (*graph.Checked, error) {
	if err := c.unbatchScans(); err != nil {
		return nil, err
	}
	if err := c.declare(); err != nil {
		return nil, err
	}
	order, err := c.order()
	if err != nil {
		return nil, err
	}
	for _, i := range c.live(order) {
		if err := c.apply(i); err != nil {
			return nil, err
		}
	}
	switch {
	case len(c.untyped) > 0 && c.outer != nil:
		c.outer.untyped = append(c.outer.untyped, c.untyped...)
		return nil, nil
	case len(c.untyped) > 0:
		return nil, c.typesMissing()
	}
	if err := c.agree(); err != nil {
		return nil, err
	}
	return c.finish(), nil
}

// apply adds a node. One whose operator is not known has no normal form: it stays as it is.
func (c *checker) apply(i int) error {
	n := &c.graph.Nodes[i]
	return c.dynamic(i, c.Rewritten(i, n, c.called(i)))
}

// Rewritten adds node i, or one that it becomes; label is what that is called.
func (c *checker) Rewritten(i int, n *graph.Node, label string) error {
	switch {
	case !ops.Known(n.Op):
		return c.opaque(i)
	case c.passUnknown(n):
		return nil
	}
	return c.Apply(i, n, label)
}

// declare gives every name its maker and every input and constant its value.
func (c *checker) declare() error {
	if c.graph.Opset < 0 {
		return graph.Problem(fmt.Sprintf("the graph's operator set is %d", c.graph.Opset),
			"use a version of ONNX's, or 0 for the newest")
	}
	for _, name := range slices.Sorted(maps.Keys(c.opt.Bind)) {
		if c.opt.Bind[name] < 0 {
			return graph.Problem(fmt.Sprintf("the symbol %q is bound to %d", name, c.opt.Bind[name]), "bind it to 0 or more")
		}
	}
	// Names come first: a symbol that is misspelled is the reason why another one is not bound.
	for _, err := range []error{c.checkOptions(), c.declareInputs(), c.declareConstants(), c.declareNodes(),
		c.declareOutputs(), c.declareTypes()} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) make(name string, m ops.Maker) error {
	if before, ok := c.Makers[name]; ok {
		return graph.Problem(fmt.Sprintf("the value %q is made twice: by %s and by %s", name, before.What, m.What),
			"give one of them another name")
	}
	c.Makers[name] = m
	return nil
}

func (c *checker) declareInputs() error {
	for i, in := range c.graph.Inputs {
		if in.Name == "" {
			return graph.Problem(fmt.Sprintf("input %d has no name", i), "give it one")
		}
		if err := c.make(in.Name, ops.Maker{What: fmt.Sprintf("input %d", i), Node: -1}); err != nil {
			return err
		}
		v, err := c.bindInput(&in)
		if err != nil {
			return err
		}
		if v.Constant != nil {
			c.Index[in.Name] = c.GivenConstant(in.Name, *v.Constant)
			continue
		}
		c.Index[in.Name] = len(c.Out.Values)
		c.Out.Inputs = append(c.Out.Inputs, len(c.Out.Values))
		c.Out.Values = append(c.Out.Values, v)
	}
	return nil
}

// bindInput replaces the symbols of an input by numbers, or the input by the
// constant that it is frozen to.
func (c *checker) bindInput(in *graph.Value) (graph.TypedValue, error) {
	v := graph.TypedValue{Name: in.Name, DType: in.DType, Producer: -1}
	if in.DType.Bytes() == 0 {
		return v, graph.Problem(fmt.Sprintf("input %q has the element type %d, which does not exist", in.Name, in.DType),
			"use one of package graph's")
	}
	if t, ok := c.opt.Freeze[in.Name]; ok {
		return c.freeze(in, t)
	}
	for axis, d := range in.Shape {
		size, err := c.extent(in, axis, d)
		if err != nil {
			return v, err
		}
		v.Shape = append(v.Shape, size)
	}
	if !graph.Fits(v.Shape, v.DType) {
		return v, graph.Problem(fmt.Sprintf("input %q has the shape %s, which takes more than 2^56 bytes", in.Name,
			graph.ShapeText(v.Shape)), "declare or bind smaller extents")
	}
	return v, nil
}

func (c *checker) extent(in *graph.Value, axis int, d graph.Dim) (int64, error) {
	if d.Symbol == "" {
		if d.Size < 0 {
			return 0, graph.Problem(fmt.Sprintf("axis %d of input %q has the extent %d", axis, in.Name, d.Size),
				"declare 0 or more, or a symbol")
		}
		return d.Size, nil
	}
	size, ok := c.opt.Bind[d.Symbol]
	if !ok {
		return 0, graph.Problem(fmt.Sprintf("axis %d of input %q is the symbol %q, which is not bound", axis, in.Name,
			d.Symbol),
			fmt.Sprintf("bind it to the highest extent that the plan is to hold for (tl: --bind %s=N)", d.Symbol))
	}
	c.Out.Symbols[d.Symbol] = size
	return size, nil
}

func (c *checker) freeze(in *graph.Value, t graph.Tensor) (graph.TypedValue, error) {
	v := graph.TypedValue{Name: in.Name, DType: t.DType, Shape: slices.Clone(t.Shape), Producer: -1}
	if text := graph.TensorFault(&t); text != "" {
		return v, graph.Problem(fmt.Sprintf("input %q is frozen to a tensor that %s", in.Name, text), "correct the tensor")
	}
	match := t.DType == in.DType && len(t.Shape) == len(in.Shape)
	for axis := 0; match && axis < len(t.Shape); axis++ {
		d := in.Shape[axis]
		bound, known := c.opt.Bind[d.Symbol]
		if d.Symbol == "" {
			bound, known = d.Size, true
		}
		match = !known || t.Shape[axis] == bound
	}
	if !match {
		return v, graph.Problem(fmt.Sprintf("input %q is declared as %s %s and frozen to %s %s",
			in.Name, in.DType, graph.DimsText(in.Shape), t.DType, graph.ShapeText(t.Shape)),
			"freeze it to a tensor of the declared type and shape")
	}
	t.Shape = v.Shape
	v.Constant = &t
	return v, nil
}

func (c *checker) declareConstants() error {
	for i := range c.graph.Constants {
		k := &c.graph.Constants[i]
		if k.Name == "" {
			return graph.Problem(fmt.Sprintf("constant %d has no name", i), "give it one")
		}
		if err := c.make(k.Name, ops.Maker{What: fmt.Sprintf("constant %d", i), Node: -1}); err != nil {
			return err
		}
		if text := graph.TensorFault(&k.Tensor); text != "" {
			return graph.Problem(fmt.Sprintf("constant %q %s", k.Name, text), "correct it")
		}
		c.Index[k.Name] = c.GivenConstant(k.Name, k.Tensor)
	}
	return nil
}

func (c *checker) declareNodes() error {
	for i := range c.graph.Nodes {
		for _, name := range c.graph.Nodes[i].Outputs {
			if name == "" {
				continue
			}
			if err := c.make(name, ops.Maker{What: fmt.Sprintf("node %q", c.called(i)), Node: i}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) declareOutputs() error {
	if len(c.graph.Outputs) == 0 {
		return graph.Problem("the graph has no outputs", "name the values that it is to compute")
	}
	for i, name := range c.graph.Outputs {
		if _, ok := c.Makers[name]; !ok {
			return graph.Problem(fmt.Sprintf("output %d of the graph is %q, which nothing makes", i, name),
				"name a value that a node, an input or a constant makes")
		}
		c.Asked[name] = true
	}
	return nil
}

// checkOptions finds names in the options that the graph does not have.
func (c *checker) checkOptions() error {
	symbols := map[string]bool{}
	inputs := map[string]bool{}
	for _, in := range c.graph.Inputs {
		inputs[in.Name] = true
		for _, d := range in.Shape {
			symbols[d.Symbol] = true
		}
	}
	delete(symbols, "")
	all := declarationSymbols(c.graph, symbols)
	for _, name := range slices.Sorted(maps.Keys(c.opt.Bind)) {
		if !all[name] && c.outer == nil {
			return graph.Problem(fmt.Sprintf("the symbol %q is bound, which no input has", name),
				"the graph has "+listText(symbols))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.opt.Freeze)) {
		if !inputs[name] {
			return graph.Problem(fmt.Sprintf("%q is frozen, which is not an input", name), "the graph has "+listText(inputs))
		}
	}
	return nil
}

func listText(set map[string]bool) string {
	if len(set) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}

// finish drops the nodes and values that no output depends on and numbers the rest
// anew. Inputs of the graph stay.
func (c *checker) finish() *graph.Checked {
	for _, name := range c.graph.Outputs {
		c.Out.Outputs = append(c.Out.Outputs, c.outputOf(name))
	}
	needed := make([]bool, len(c.Out.Values))
	for _, v := range c.Out.Outputs {
		needed[v] = true
	}
	nodes := neededNodes(c.Out.Nodes, needed)
	for _, v := range c.Out.Inputs {
		needed[v] = true
	}
	values := make([]graph.TypedValue, 0, len(c.Out.Values))
	renumber := make([]int, len(needed))
	for i, keep := range needed {
		renumber[i] = -1
		if keep {
			renumber[i] = len(values)
			values = append(values, c.Out.Values[i])
		}
	}
	c.Out.Nodes, c.Out.Values = nodes, values
	c.renumber(renumber)
	return &c.Out
}

// outputOf returns the value of an output. A constant may have got the name of another with its content, and an output
// is known by its own.
func (c *checker) outputOf(name string) int {
	at := c.Index[name]
	v := &c.Out.Values[at]
	switch {
	case v.Constant == nil || v.Name == name:
	case slices.Contains(c.Out.Outputs, at):
		c.Index[name] = c.OwnConstant(name, *v.Constant)
	default:
		v.Name = name
	}
	return c.Index[name]
}

// neededNodes returns the nodes that a needed value comes from, and marks what
// they need.
func neededNodes(all []graph.TypedNode, needed []bool) []graph.TypedNode {
	var nodes []graph.TypedNode
	for _, n := range slices.Backward(all) {
		if !slices.ContainsFunc(n.Outputs, func(v int) bool { return v >= 0 && needed[v] }) {
			continue
		}
		nodes = append(nodes, n)
		for _, v := range n.Inputs {
			if v >= 0 {
				needed[v] = true
			}
		}
	}
	slices.Reverse(nodes)
	return nodes
}

func (c *checker) renumber(to []int) {
	rename := func(list []int) {
		for i, v := range list {
			if v >= 0 {
				list[i] = to[v]
			}
		}
	}
	rename(c.Out.Inputs)
	rename(c.Out.Outputs)
	for i := range c.Out.Nodes {
		n := &c.Out.Nodes[i]
		rename(n.Inputs)
		rename(n.Outputs)
		o, _ := ops.Normal(n.Op)
		for last := len(n.Outputs) - 1; !ops.Variadic(o.Outputs) && n.Outputs[last] < 0; last-- {
			n.Outputs = n.Outputs[:last]
		}
		for _, v := range n.Outputs {
			if v >= 0 {
				c.Out.Values[v].Producer = i
			}
		}
	}
}
