// Package training writes training steps as graphs: forward, backward by reverse-mode differentiation, and an optimiser
// (SGD with momentum). Weights, their momenta, data and target are inputs; new weights and momenta are outputs.
package training

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tlruntime/compiler/graph"
)

// value is a tensor of the graph.
type value struct {
	name  string
	shape []int64
}

// step is what was done, and how the gradient of its result becomes those of its arguments; nil where one needs none.
type step struct {
	out  *value
	in   []*value
	back func(up *value) []*value
}

// tape writes a graph and remembers how to go back.
type tape struct {
	g       *graph.Graph
	steps   []step
	weights []*value
	forward bool
	scalars map[float64]*value
}

func newTape(name string) *tape {
	return &tape{g: &graph.Graph{Name: name}, forward: true, scalars: map[float64]*value{}}
}

func dims(shape []int64) (list []graph.Dim) {
	for _, n := range shape {
		list = append(list, graph.Dim{Size: n})
	}
	return list
}

func (t *tape) input(name string, shape ...int64) *value {
	t.g.Inputs = append(t.g.Inputs, graph.Value{Name: name, DType: graph.F32, Shape: dims(shape)})
	return &value{name, shape}
}

func (t *tape) weight(shape ...int64) *value {
	w := t.input(fmt.Sprint("w", len(t.weights)), shape...)
	t.weights = append(t.weights, w)
	return w
}

func (t *tape) scalar(x float64) *value {
	if v, ok := t.scalars[x]; ok {
		return v
	}
	v := &value{name: fmt.Sprint("c", len(t.scalars))}
	data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	t.constant(v.name, graph.F32, data)
	t.scalars[x] = v
	return v
}

func (t *tape) constant(name string, d graph.DType, data []byte, shape ...int64) {
	content := graph.Tensor{DType: d, Shape: shape, Data: data}
	t.g.Constants = append(t.g.Constants, graph.Constant{Name: name, Tensor: content})
}

// node adds a node with one result.
func (t *tape) node(op string, shape []int64, attrs graph.Attrs, in ...*value) *value {
	out := &value{fmt.Sprintf("%s%d", map[bool]string{true: "f", false: "b"}[t.forward], len(t.g.Nodes)), shape}
	n := graph.Node{Name: out.name, Op: op, Outputs: []string{out.name}, Attrs: attrs}
	for _, v := range in {
		n.Inputs = append(n.Inputs, v.name)
	}
	t.g.Nodes = append(t.g.Nodes, n)
	return out
}

func (t *tape) record(out *value, back func(up *value) []*value, in ...*value) *value {
	t.steps = append(t.steps, step{out, in, back})
	return out
}

// one is an elementwise operator whose second argument, if any, has the same shape or none.
func (t *tape) one(op string, in ...*value) *value { return t.node(op, in[0].shape, nil, in...) }

// finish goes back from the error of the result, and updates the weights.
func (t *tape) finish(result *value) *graph.Graph {
	target := t.input("target", result.shape...)
	t.forward = false
	up := map[*value]*value{result: t.one("Sub", result, target)}
	for _, s := range slices.Backward(t.steps) {
		if up[s.out] == nil {
			continue
		}
		for k, d := range s.back(up[s.out]) {
			switch in := s.in[k]; {
			case d == nil:
			case up[in] == nil:
				up[in] = d
			default:
				up[in] = t.one("Add", up[in], d)
			}
		}
		if i := slices.Index(t.weights, s.in[len(s.in)-1]); i >= 0 && t.last(s.in[len(s.in)-1], s.out) {
			t.update(i, up[t.weights[i]])
		}
	}
	return t.g
}

// last reports whether no earlier step takes a weight.
func (t *tape) last(w, out *value) bool {
	for _, s := range t.steps {
		if slices.Contains(s.in, w) {
			return s.out == out
		}
	}
	return true
}

// update gives a weight its gradient by SGD with momentum.
func (t *tape) update(i int, gradient *value) {
	w := t.weights[i]
	m := t.input("m"+w.name, w.shape...)
	m = t.one("Add", t.one("Mul", m, t.scalar(0.9)), gradient)
	next := t.one("Sub", w, t.one("Mul", m, t.scalar(0.01)))
	t.g.Outputs = append(t.g.Outputs, m.name, next.name)
}

// Forward reports for each node of a training step whether it belongs to the forward pass: whether what is
// compared with the target is made of it.
func Forward(c *graph.Checked) []bool {
	forward := make([]bool, len(c.Nodes))
	for i := len(c.Nodes) - 1; i >= 0; i-- {
		n := &c.Nodes[i]
		compares := slices.ContainsFunc(n.Inputs, func(v int) bool { return v >= 0 && c.Values[v].Name == "target" })
		if !forward[i] && !compares {
			continue
		}
		for _, v := range n.Inputs {
			if v >= 0 && c.Values[v].Producer >= 0 {
				forward[c.Values[v].Producer] = true
			}
		}
	}
	return forward
}
