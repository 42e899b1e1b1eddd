package check

import (
	"errors"
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
)

// free lists the names that a graph and the bodies in it use and do not make.
func free(g *graph.Graph) []string {
	made, seen := map[string]bool{"": true}, map[string]bool{}
	for _, in := range g.Inputs {
		made[in.Name] = true
	}
	for _, k := range g.Constants {
		made[k.Name] = true
	}
	for i := range g.Nodes {
		for _, name := range g.Nodes[i].Outputs {
			made[name] = true
		}
	}
	var list []string
	use := func(names []string) {
		for _, name := range names {
			if !made[name] && !seen[name] {
				seen[name] = true
				list = append(list, name)
			}
		}
	}
	for i := range g.Nodes {
		use(g.Nodes[i].Inputs)
		use(freeIn(g.Nodes[i].Bodies))
	}
	use(g.Outputs)
	return list
}

func freeIn(bodies []graph.Body) (list []string) {
	for i := range bodies {
		list = append(list, free(bodies[i].Graph)...)
	}
	return list
}

// needs lists the names that a node reads, those that its bodies capture included. What a
// body names and nothing makes is for its own check to tell.
func (c *checker) needs(node int) []string {
	n := &c.graph.Nodes[node]
	if len(n.Bodies) == 0 {
		return n.Inputs
	}
	if list, known := c.reads[node]; known {
		return list
	}
	list := slices.Clone(n.Inputs)
	for _, name := range freeIn(n.Bodies) {
		if _, made := c.Makers[name]; made && !slices.Contains(list[len(n.Inputs):], name) {
			list = append(list, name)
		}
	}
	c.reads[node] = list
	return list
}

// checkBodies checks the bodies of a node whose arguments have types. It appends what they
// capture to the node's inputs. done is false when a value in a body has no type; c.untyped
// names it.
func (c *checker) checkBodies(i int, inputs *[]int) (bodies []graph.TypedBody, done bool, err error) {
	n := &c.graph.Nodes[i]
	captured := map[int]int{}
	done = true
	for k := range n.Bodies {
		own, err := c.ownInputs(i, &n.Bodies[k])
		if err != nil || own == nil {
			return nil, false, err
		}
		typed, err := c.checkBody(i, &n.Bodies[k], own, captured, inputs)
		if err != nil {
			return nil, false, err
		}
		if done = done && typed.Graph != nil; done {
			c.lift(&typed, captured, inputs)
		}
		bodies = append(bodies, typed)
	}
	return bodies, done, nil
}

// lift makes the constants of a body values of the graph around it, which the body captures:
// what a plan takes besides its inputs then stands in one list, and once.
func (c *checker) lift(b *graph.TypedBody, captured map[int]int, inputs *[]int) {
	for i := range b.Graph.Values {
		v := &b.Graph.Values[i]
		if v.Constant == nil {
			continue
		}
		at := c.AddConstant(c.Fresh(v.Name), *v.Constant)
		v.Constant = nil
		b.Graph.Inputs = append(b.Graph.Inputs, i)
		b.Captures = append(b.Captures, capture(at, captured, inputs))
	}
}

// capture returns the place among a node's inputs at which its bodies find a value of the graph around them.
func capture(value int, captured map[int]int, inputs *[]int) int {
	place, there := captured[value]
	if !there {
		place = len(*inputs)
		captured[value] = place
		*inputs = append(*inputs, value)
	}
	return place
}

func (c *checker) checkBody(i int, b *graph.Body, own []graph.Value, captured map[int]int,
	inputs *[]int) (graph.TypedBody, error) {
	g := *b.Graph
	g.Opset, g.Domains = c.graph.Opset, c.graph.Domains
	g.Inputs, g.Constants = slices.Clone(own), slices.Clone(g.Constants)
	typed := graph.TypedBody{Name: b.Name}
	for _, name := range free(b.Graph) {
		at, known := c.Index[name]
		if !known {
			continue
		}
		v := &c.Out.Values[at]
		if v.Constant != nil {
			g.Constants = append(g.Constants, graph.Constant{Name: name, Tensor: *v.Constant})
			continue
		}
		g.Inputs = append(g.Inputs, valueOf(name, v.DType, v.Shape))
		typed.Captures = append(typed.Captures, capture(at, captured, inputs))
	}
	inner := newChecker(&g, Options{Bind: c.opt.Bind, FoldBytes: c.opt.FoldBytes, Apart: c.opt.Apart,
		Infer: c.opt.Infer})
	inner.outer = c
	checked, err := inner.run()
	typed.Graph = checked
	return typed, c.inBody(i, b, err)
}

func valueOf(name string, d graph.DType, shape []int64) graph.Value {
	v := graph.Value{Name: name, DType: d, Shape: []graph.Dim{}}
	for _, size := range shape {
		v.Shape = append(v.Shape, graph.Dim{Size: size})
	}
	return v
}

// inBody tells of an error in a body where the body is.
func (c *checker) inBody(i int, b *graph.Body, err error) error {
	var e *graph.Error
	if !errors.As(err, &e) {
		return err
	}
	return c.Fault(i, fmt.Sprintf("its %s: %s%s", b.Name, e.Where(), e.Found), e.Remedy)
}

// ownInputs returns the types of the inputs that a node's operator gives to a body; nil
// when one of them is not known.
func (c *checker) ownInputs(i int, b *graph.Body) ([]graph.Value, error) {
	n := &c.graph.Nodes[i]
	types, err := c.ownTypes(i, b)
	if err != nil || types == nil {
		return nil, err
	}
	if len(types) != len(b.Graph.Inputs) {
		return nil, c.Fault(i, fmt.Sprintf("its %s has %d inputs, and %s gives it %d", b.Name, len(b.Graph.Inputs), n.Op,
			len(types)), "declare as many")
	}
	for k := range types {
		types[k].Name = b.Graph.Inputs[k].Name
	}
	return types, nil
}

func (c *checker) ownTypes(i int, b *graph.Body) ([]graph.Value, error) {
	n := &c.graph.Nodes[i]
	switch n.Op {
	case "If":
		return []graph.Value{}, nil
	case "Loop":
		types := []graph.Value{counter(b, 0, graph.I64), counter(b, 1, graph.Bool)}
		for _, name := range n.Inputs[min(2, len(n.Inputs)):] {
			types = append(types, c.typeOf(name))
		}
		return types, nil
	case "Scan":
		return c.scanTypes(i)
	}
	types := []graph.Value{}
	for _, in := range b.Graph.Inputs {
		at := slices.IndexFunc(b.Graph.Declared, func(d graph.Declaration) bool { return d.Name == in.Name })
		why := "nothing declares it"
		if at >= 0 {
			r := c.bound(&b.Graph.Declared[at])
			if why = r.why; why == "" {
				types = append(types, valueOf(in.Name, r.dtype, r.shape))
				continue
			}
		}
		c.untyped = append(c.untyped, untyped{in.Name, c.called(i), n.Op, why})
		return nil, nil
	}
	return types, nil
}

// counter is the number of a turn, or whether there is one more. Bodies declare it as a
// scalar or with one axis.
func counter(b *graph.Body, input int, d graph.DType) graph.Value {
	v := graph.Value{DType: d, Shape: []graph.Dim{}}
	if input < len(b.Graph.Inputs) {
		if shape := b.Graph.Inputs[input].Shape; len(shape) == 1 && shape[0].Symbol == "" && shape[0].Size == 1 {
			v.Shape = shape
		}
	}
	return v
}

func (c *checker) typeOf(name string) graph.Value {
	if name == "" {
		return graph.Value{DType: graph.F32, Shape: []graph.Dim{}}
	}
	v := &c.Out.Values[c.Index[name]]
	return valueOf(name, v.DType, v.Shape)
}
