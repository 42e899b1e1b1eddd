package check

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
)

// maxUnrolled bounds the turns of a Loop that is written out, and the nodes of all of them.
const (
	maxUnrolled      = 256
	maxUnrolledNodes = 1 << 14
)

// unrolling is a Loop whose turns are written one behind the other: the number of a turn is
// then constant in it, and what is carried may change its shape.
type unrolling struct {
	c         *checker
	node      int
	body      *graph.Body
	turns     int64
	carried   []int   // values
	collected [][]int // by output: its values in all turns
}

// unroll writes a Loop out that no body of one shape can do, where the turns are known. done
// is false where they are not; err is why the node has no types otherwise.
func (c *checker) unroll(i int) (done bool, err error) {
	n := &c.graph.Nodes[i]
	turns, ok := c.knownTurns(n)
	if !ok || turns*int64(len(n.Bodies[0].Graph.Nodes)) > maxUnrolledNodes {
		return false, nil
	}
	u := &unrolling{c: c, node: i, body: &n.Bodies[0], turns: turns}
	for _, name := range n.Inputs[2:] {
		u.carried = append(u.carried, c.Index[name])
	}
	u.collected = make([][]int, max(len(u.body.Graph.Outputs)-1-len(u.carried), 0))
	if len(u.body.Graph.Inputs) != 2+len(u.carried) || len(u.body.Graph.Outputs) < 1+len(u.carried) {
		return false, nil
	}
	for t, going := int64(0), true; going && t < turns; t++ {
		if going, done, err = u.turn(t); err != nil || !done {
			return false, err
		}
	}
	return u.results(), nil
}

// knownTurns returns how many turns a Loop has at most, where its arguments tell.
func (c *checker) knownTurns(n *graph.Node) (int64, bool) {
	if n.Op != "Loop" || len(n.Bodies) != 1 || len(n.Inputs) < 2 || slices.Contains(n.Inputs[2:], "") {
		return 0, false
	}
	constant := func(name string, d graph.DType) (int64, bool) {
		at, known := c.Index[name]
		if !known {
			return 0, false
		}
		t := c.Out.Values[at].Constant
		if t == nil || t.DType != d || graph.Elements(t.Shape) != 1 {
			return 0, false
		}
		return t.IntAt(0), true
	}
	turns, ok := constant(n.Inputs[0], graph.I64)
	if n.Inputs[1] != "" {
		going, known := constant(n.Inputs[1], graph.Bool)
		if ok = ok && known; going == 0 {
			turns = 0
		}
	}
	return turns, ok && turns > 0 && turns <= maxUnrolled
}

// turn checks the body for one turn and puts its nodes into the graph. going is what it says
// of the next one; known is false where that is not constant.
func (u *unrolling) turn(t int64) (going, known bool, err error) {
	g := *u.body.Graph
	g.Constants = slices.Clone(g.Constants)
	number, yes := graph.IntsTensor([]int64{t}), graph.FilledTensor(graph.Bool, []int64{}, 1)
	number.Shape, yes.Shape = u.counterShape(0), u.counterShape(1)
	names := u.body.Graph.Inputs
	g.Constants = append(g.Constants, graph.Constant{Name: names[0].Name, Tensor: number},
		graph.Constant{Name: names[1].Name, Tensor: yes})
	own, from := []graph.Value{}, []int{}
	for k, v := range u.carried {
		x := &u.c.Out.Values[v]
		if x.Constant != nil {
			g.Constants = append(g.Constants, graph.Constant{Name: names[2+k].Name, Tensor: *x.Constant})
			continue
		}
		own, from = append(own, valueOf(names[2+k].Name, x.DType, x.Shape)), append(from, v)
	}
	typed, err := u.c.checkBody(u.node, &graph.Body{Name: u.body.Name, Graph: &g}, own, map[int]int{}, &from)
	if err != nil || typed.Graph == nil {
		return false, false, err
	}
	s := &splice{c: u.c, from: typed.Graph, at: fmt.Sprintf("%s/%d", u.c.called(u.node), t),
		to: make([]int, len(typed.Graph.Values)), names: map[int]string{}}
	for k, v := range s.from.Inputs {
		s.to[v] = from[k]
		if captured := k - len(own); captured >= 0 {
			s.to[v] = from[typed.Captures[captured]]
		}
	}
	s.body()
	outputs := s.from.Outputs
	for k := range u.carried {
		u.carried[k] = s.to[outputs[1+k]]
	}
	for k := range u.collected {
		u.collected[k] = append(u.collected[k], s.to[outputs[1+len(u.carried)+k]])
	}
	next := s.from.Values[outputs[0]].Constant
	if next == nil || next.DType != graph.Bool || graph.Elements(next.Shape) != 1 {
		return false, false, nil
	}
	return next.IntAt(0) != 0, true, nil
}

func (u *unrolling) counterShape(input int) []int64 {
	shape := []int64{}
	for _, d := range counter(u.body, input, graph.I64).Shape {
		shape = append(shape, d.Size)
	}
	return shape
}

// results gives what came out the names of the node's results. It reports whether all that
// is asked for has one type in all turns.
func (u *unrolling) results() bool {
	n := &u.c.graph.Nodes[u.node]
	values := slices.Clone(u.carried)
	for k, parts := range u.collected {
		at := len(u.carried) + k
		if at >= len(n.Outputs) || !u.c.Asked[n.Outputs[at]] {
			values = append(values, -1)
			continue
		}
		first := &u.c.Out.Values[parts[0]]
		for _, v := range parts {
			if x := &u.c.Out.Values[v]; x.DType != first.DType || !slices.Equal(x.Shape, first.Shape) {
				return false
			}
		}
		values = append(values, u.joined(parts))
	}
	for k, name := range n.Outputs {
		if name == "" || !u.c.Asked[name] {
			continue
		}
		if k >= len(values) {
			return false
		}
		u.c.Alias(name, values[k], fmt.Sprintf("%s/result %d", u.c.called(u.node), k))
	}
	return true
}

// joined are parts one behind the other, on an axis of their own.
func (u *unrolling) joined(parts []int) int {
	c := u.c
	shape := slices.Insert(slices.Clone(c.Out.Values[parts[0]].Shape), 0, 1)
	name := c.called(u.node) + "/collected"
	add := func(op string, inputs []int, shape []int64, attrs graph.Attrs) int {
		y := c.AddValue(c.Fresh(name), c.Out.Values[parts[0]].DType, shape)
		c.Out.Nodes = append(c.Out.Nodes,
			graph.TypedNode{Name: c.Out.Values[y].Name, Op: op, Inputs: inputs, Outputs: []int{y}, Attrs: attrs})
		return y
	}
	rows := make([]int, len(parts))
	for i, v := range parts {
		rows[i] = add("Reshape", []int{v}, shape, graph.Attrs{"shape": slices.Clone(shape)})
	}
	shape = slices.Clone(shape)
	shape[0] = int64(len(parts))
	return add("Concat", rows, shape, graph.Attrs{"axis": int64(0)})
}
