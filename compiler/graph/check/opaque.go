package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
)

// Inquiry asks for the types of a node's results. The operator is one that this package
// does not know.
type Inquiry struct {
	Node      *graph.Node
	Opset     int64
	Domains   map[string]int64
	Arguments []*graph.TypedValue // one for each of the node's inputs; nil: left out
}

// untyped is a result that the plan needs and whose type nobody tells.
type untyped struct{ value, node, op, why string }

// opaque adds a node whose operator has no row in the table. Its attributes and its
// arguments stay as they are.
func (c *checker) opaque(i int) error {
	n := &c.graph.Nodes[i]
	if n.Op == "" {
		return c.Fault(i, "it names no operator", "name one; `tl operators` lists those that there are")
	}
	node := graph.TypedNode{Name: c.called(i), Op: n.Op}
	var err error
	if node.Attrs, err = c.opaqueAttrs(i); err != nil {
		return err
	}
	node.Inputs, _ = c.typed(n.Inputs)
	_, known := c.typed(c.needs(i))
	var made []resultType
	told := len(n.Bodies) == 0
	if known {
		if b := c.chosen(i); b != nil {
			return c.inline(i, b)
		}
		before := c.untyped
		if made, told, err = c.tell(i, &node); err != nil || !told {
			why := c.untyped
			if done, _ := c.unroll(i); done {
				c.untyped = before
				return nil
			}
			c.untyped = why
		}
		if err != nil {
			return err
		}
	}
	if !told {
		c.declaredResults(n)
		return nil
	}
	whole := false
	if node.Outputs, whole = c.opaqueResults(i, made); whole && known {
		c.Out.Nodes = append(c.Out.Nodes, node)
	}
	return nil
}

// Names of what is known and shaped when it runs: the operator has the standard domain in
// front, and the attribute says why it is opaque.
const (
	dynamicDomain = "ai.onnx."
	ReasonAttr    = "tl_reason"
)

// dynamic adds a node whose operator is known, and whose shape is in an argument that is not
// constant, as an opaque one. Where nothing tells the types of its results, the error stays.
func (c *checker) dynamic(i int, err error) error {
	var e *graph.Error
	if !errors.As(err, &e) || !e.Dynamic {
		return err
	}
	n := &c.graph.Nodes[i]
	inputs, _ := c.typed(n.Inputs)
	made := c.inferred(i, inputs)
	for k, name := range n.Outputs {
		told := k < len(made) && made[k].why == ""
		if name != "" && c.Asked[name] && !told && c.declaredType(name).why != "" {
			return err
		}
	}
	attrs, fault := c.opaqueAttrs(i)
	if fault != nil {
		return fault
	}
	attrs[ReasonAttr] = e.Found + "; " + e.Remedy
	outputs, _ := c.opaqueResults(i, made)
	c.Out.Nodes = append(c.Out.Nodes, graph.TypedNode{Name: c.called(i), Op: dynamicDomain + n.Op, Inputs: inputs,
		Outputs: outputs, Attrs: attrs})
	return nil
}

// typed returns the values of these names, and whether all of them have a type.
func (c *checker) typed(names []string) (list []int, known bool) {
	list, known = make([]int, len(names)), true
	for k, name := range names {
		list[k] = -1
		if name == "" {
			continue
		}
		at, there := c.Index[name]
		known = known && there
		if there {
			list[k] = at
		}
	}
	return list, known
}

// declaredResults adds the results of a node whose arguments have no types, as far as the
// graph declares them: what follows is looked at as well.
func (c *checker) declaredResults(n *graph.Node) {
	for _, name := range n.Outputs {
		if name == "" || !c.Asked[name] {
			continue
		}
		if r := c.declaredType(name); r.why == "" {
			c.AddValue(name, r.dtype, r.shape)
		}
	}
}

// passUnknown goes over a node with a known operator of which an argument has no type. It
// reports whether the node was one.
func (c *checker) passUnknown(n *graph.Node) bool {
	if len(c.untyped) == 0 {
		return false
	}
	if _, known := c.typed(n.Inputs); known {
		return false
	}
	c.declaredResults(n)
	return true
}

// tell returns what is known of a node's results besides what the graph declares: its
// bodies tell, or somebody who is asked. done is false when that cannot be said yet.
func (c *checker) tell(i int, node *graph.TypedNode) (made []resultType, done bool, err error) {
	n := &c.graph.Nodes[i]
	if len(n.Bodies) == 0 {
		return c.inferred(i, node.Inputs), true, nil
	}
	if node.Bodies, done, err = c.checkBodies(i, &node.Inputs); err != nil || !done {
		return nil, false, err
	}
	made, err = c.bodyResults(i, node.Bodies)
	return made, err == nil, err
}

// opaqueResults adds the results that somebody asks for, and notes those without a type.
func (c *checker) opaqueResults(i int, made []resultType) (list []int, whole bool) {
	n := &c.graph.Nodes[i]
	list, whole = make([]int, len(n.Outputs)), true
	for k, name := range n.Outputs {
		list[k] = -1
		if name == "" || !c.Asked[name] {
			continue
		}
		r := c.declaredType(name)
		if k < len(made) && made[k].why == "" {
			r = made[k]
		} else if k < len(made) && r.why != "" {
			r.why = made[k].why + ", and " + r.why
		}
		if r.why == "" && !graph.Fits(r.shape, r.dtype) {
			r.why = fmt.Sprintf("it is %s %s, which takes more than 2^56 bytes", r.dtype, graph.ShapeText(r.shape))
		}
		if r.why != "" {
			whole = false
			c.untyped = append(c.untyped, untyped{name, c.called(i), n.Op, r.why})
			continue
		}
		list[k] = c.AddValue(name, r.dtype, r.shape)
	}
	return list, whole
}

// inferred asks for the types of a node's results when the graph does not declare them
// all. What is not known is left to the graph.
func (c *checker) inferred(i int, inputs []int) []resultType {
	n := &c.graph.Nodes[i]
	silent := func(name string) bool { return name != "" && c.Asked[name] && c.declaredType(name).why != "" }
	if c.opt.Infer == nil || !slices.ContainsFunc(n.Outputs, silent) {
		return nil
	}
	ask := Inquiry{Node: n, Opset: c.graph.Opset, Domains: c.graph.Domains,
		Arguments: make([]*graph.TypedValue, len(inputs))}
	for k, v := range inputs {
		if v >= 0 {
			ask.Arguments[k] = &c.Out.Values[v]
		}
	}
	list, err := c.opt.Infer(&ask)
	if err != nil {
		c.silence = err
	}
	made := make([]resultType, len(n.Outputs))
	for k, name := range n.Outputs {
		made[k] = c.declaredType(name)
		at := slices.IndexFunc(list, func(d graph.Declaration) bool { return d.Name == name })
		if made[k].why != "" && at >= 0 {
			made[k] = c.bound(&list[at])
		} else if made[k].why != "" {
			made[k].why = "nothing infers it"
		}
	}
	return made
}

// resultType is the type of a result, or why there is none.
type resultType struct {
	dtype graph.DType
	shape []int64
	why   string
}

// Declared returns the shape of a value as the graph declares it, or why there is none.
func (c *checker) Declared(name string) (shape []int64, why string) {
	r := c.declaredType(name)
	return r.shape, r.why
}

// declaredType returns the type of a value as the graph declares it.
func (c *checker) declaredType(name string) resultType {
	if d := c.declared[name]; d != nil {
		return c.bound(d)
	}
	return resultType{why: "nothing declares it"}
}

// bound replaces the symbols of a declaration by numbers.
func (c *checker) bound(d *graph.Declaration) resultType {
	r := resultType{dtype: d.DType, shape: []int64{}}
	if d.Unranked {
		r.why = "it is declared without a shape"
		return r
	}
	for _, axis := range d.Shape {
		size := axis.Size
		if axis.Symbol != "" {
			number, ok := c.opt.Bind[axis.Symbol]
			if !ok {
				r.why = fmt.Sprintf("it is declared as %s, and %q is not bound", declared(d), axis.Symbol)
				return r
			}
			size = number
			c.Out.Symbols[axis.Symbol] = number
		}
		r.shape = append(r.shape, size)
	}
	if !graph.Fits(r.shape, r.dtype) {
		r.why = fmt.Sprintf("it is declared as %s, which is negative or takes more than 2^56 bytes", declared(d))
	}
	return r
}

// typesMissing is an error that names every value without a type.
func (c *checker) typesMissing() error {
	lines := make([]string, len(c.untyped))
	for i, u := range c.untyped {
		lines[i] = fmt.Sprintf("%q of node %q (%s): %s", u.value, u.node, u.op, u.why)
	}
	found := fmt.Sprintf("the types of %d results are not known: %s", len(lines),
		strings.Join(lines, "; "))
	if len(lines) == 1 {
		found = "the type of a result is not known: " + lines[0]
	}
	remedy := "declare the element type and the shape of each (value_info of ONNX, values of a JSON graph), and bind " +
		"their symbols"
	if c.silence != nil {
		remedy += "; they could not be inferred: " + c.silence.Error()
	}
	return graph.Problem(found, remedy)
}

// declarationSymbols returns a set of symbols and those of declarations, in bodies too.
func declarationSymbols(g *graph.Graph, set map[string]bool) map[string]bool {
	set = maps.Clone(set)
	for i := range g.Declared {
		for _, d := range g.Declared[i].Shape {
			set[d.Symbol] = true
		}
	}
	for i := range g.Nodes {
		for _, b := range g.Nodes[i].Bodies {
			set = declarationSymbols(b.Graph, set)
		}
	}
	return set
}

func (c *checker) opaqueAttrs(i int) (graph.Attrs, error) {
	attrs, found, remedy := ops.CopyAttrs(c.graph.Nodes[i].Attrs)
	if found != "" {
		return nil, c.Fault(i, found, remedy)
	}
	return attrs, nil
}
