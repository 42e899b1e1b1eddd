package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

// growth draws a graph, node by node.
type growth struct {
	*sketch
	t *rapid.T
}

// drawGraph returns a graph of up to most nodes: operators that compute, that
// rearrange, that join and split, with results that are used any number of times,
// and outputs that are anything, twice or more.
func drawGraph(t *rapid.T, most int) *graph.Checked {
	g := growth{newSketch(), t}
	for i := range rapid.IntRange(1, 2).Draw(t, "inputs") {
		g.input(fmt.Sprintf("in%d", i), g.shape()...)
	}
	if rapid.Bool().Draw(t, "constant") {
		g.constant("k", g.shape()...)
	}
	for len(g.Nodes) < most {
		g.grow()
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "outputs") {
		g.Outputs = append(g.Outputs, g.pick(fmt.Sprintf("out%d", i)))
	}
	return &g.Checked
}

func (g growth) shape() []int64 {
	return rapid.SampledFrom([][]int64{{2, 3, 4}, {1, 6, 4}, {4, 6}, {24}, {2, 12}, {1, 4, 2, 3}, {3, 0}}).Draw(g.t,
		"shape")
}

// pick draws a value, a late one more often.
func (g growth) pick(label string) int {
	a := rapid.IntRange(0, len(g.Values)-1).Draw(g.t, label)
	b := rapid.IntRange(0, len(g.Values)-1).Draw(g.t, label)
	return max(a, b)
}

// like draws a value with the shape of v, if possible another one.
func (g growth) like(v int, but func(a, b []int64) bool) int {
	var list []int
	for u := range g.Values {
		if g.Values[u].DType == g.Values[v].DType && but(g.Values[u].Shape, g.Values[v].Shape) {
			list = append(list, u)
		}
	}
	return rapid.SampledFrom(list).Draw(g.t, "like")
}

func (g growth) grow() {
	v := g.pick("argument")
	name, x := fmt.Sprintf("v%d", len(g.Values)), g.Values[v].Name
	shape := g.Values[v].Shape
	rank := int64(len(shape))
	switch op := rapid.SampledFrom([]string{"Relu", "Exp", "Sub", "Mul", "Softmax", "ReduceSum", "MatMul", "Reshape",
		"Transpose", "Slice", "Expand", "Identity", "Pad", "Cast", "Equal", "LayerNormalization", "Split", "Split",
		"Concat", "Concat", "Concat", "example.Twist"}).Draw(g.t, "op"); op {
	case "Relu", "Exp", "Softmax", "Identity", "example.Twist":
		g.node(op, name, shape, nil, x)
	case "Cast":
		to := rapid.SampledFrom([]graph.DType{graph.F32, graph.F64, graph.U8, graph.I16}).Draw(g.t, "to")
		g.node(op, name, shape, graph.Attrs{"to": int64(to)}, x)
	case "LayerNormalization":
		g.node(op, name, shape, nil, x, g.Values[g.pick("scale")].Name, "")
		n := &g.Nodes[len(g.Nodes)-1]
		n.Outputs = append(n.Outputs, -1, -1)
	case "Sub", "Mul", "Equal":
		g.node(op, name, shape, nil, x, g.Values[g.like(v, slices.Equal)].Name)
	case "ReduceSum":
		g.node(op, name, []int64{1, 1}, nil, x)
	case "MatMul":
		g.node(op, name, []int64{2, 3, 4}, nil, x, g.Values[g.pick("other")].Name)
	case "Reshape":
		g.node(op, name, g.reshape(shape), nil, x)
	case "Transpose":
		perm := rapid.Permutation(axes(rank)).Draw(g.t, "perm")
		out := make([]int64, rank)
		for i, p := range perm {
			out[i] = shape[p]
		}
		g.node(op, name, out, graph.Attrs{"perm": perm}, x)
	case "Slice":
		g.slice(name, x, shape)
	case "Pad":
		g.crop(name, x, shape)
	case "Expand":
		g.node(op, name, append([]int64{2}, shape...), nil, x)
	case "Split":
		axis := rapid.Int64Range(0, rank-1).Draw(g.t, "axis")
		if shape[axis]%2 == 0 {
			g.split(x, axis, rapid.SampledFrom([][]string{{name, name + "b"}, {name, ""}, {"", name}}).Draw(g.t,
				"results")...)
		}
	case "Concat":
		g.concat(name, v)
	}
}

func axes(n int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

// reshape draws another shape with as many elements.
func (g growth) reshape(shape []int64) []int64 {
	n := graph.Elements(shape)
	if n == 0 {
		return []int64{0, 2}
	}
	var list [][]int64
	for a := int64(1); a <= n; a++ {
		if n%a == 0 {
			list = append(list, []int64{a, n / a}, []int64{1, a, n / a})
		}
	}
	return rapid.SampledFrom(list).Draw(g.t, "reshape")
}

func (g growth) slice(name, x string, shape []int64) {
	var out, starts, ends, steps []int64
	for _, d := range shape {
		start, end, step := int64(0), d, int64(1)
		switch kind := rapid.IntRange(0, 4).Draw(g.t, "kind"); {
		case d == 0:
		case kind == 0:
			start, end, step = d-1, -1, -1
		case kind == 1:
			start = rapid.Int64Range(0, d-1).Draw(g.t, "start")
		case kind == 2:
			step = 2
		}
		starts, ends, steps = append(starts, start), append(ends, end), append(steps, step)
		if step < 0 {
			out = append(out, d)
		} else {
			out = append(out, (end-start+step-1)/step)
		}
	}
	g.node("Slice", name, out, graph.Attrs{"starts": starts, "ends": ends, "steps": steps}, x)
}

func (g growth) crop(name, x string, shape []int64) {
	out := slices.Clone(shape)
	pads := make([]int64, 2*len(shape))
	for i, d := range shape {
		if d > 1 && rapid.Bool().Draw(g.t, "crop") {
			pads[i] = -1
			out[i]--
		}
	}
	g.node("Pad", name, out, graph.Attrs{"pads": pads, "mode": "constant", "value": 0.0}, x)
}

// concat joins v and others that fit along an axis.
func (g growth) concat(name string, v int) {
	axis := rapid.IntRange(0, len(g.Values[v].Shape)-1).Draw(g.t, "axis")
	fits := func(a, b []int64) bool { return equalBut(a, b, int64(axis)) }
	parts := []string{g.Values[v].Name}
	whole := slices.Clone(g.Values[v].Shape)
	for range rapid.IntRange(0, 3).Draw(g.t, "parts") {
		u := g.like(v, fits)
		parts = append(parts, g.Values[u].Name)
		whole[axis] += g.Values[u].Shape[axis]
	}
	if graph.Elements(whole) < 2000 {
		g.node("Concat", name, whole, graph.Attrs{"axis": int64(axis)}, parts...)
	}
}

// drawOptions draws how inputs and outputs are kept, and whether there is
// temporary memory.
func drawOptions(t *rapid.T) Options {
	o := Options{
		PlaceInputs: rapid.Bool().Draw(t, "place inputs"), PlaceOutputs: rapid.Bool().Draw(t, "place outputs"),
		Alignment: rapid.SampledFrom([]int64{0, 4, 8, 64}).Draw(t, "alignment"), MaxSteps: 200, OrderSteps: 200,
	}
	if rapid.Bool().Draw(t, "scratch") {
		o.Scratch = func(i *Instruction) int64 {
			if i.Op == "MatMul" {
				return 100
			}
			return 0
		}
	}
	return o
}

// switched returns o with the switches that are bits of mask.
func switched(o Options, mask int) Options {
	o.NoViews, o.NoInPlace, o.NoConcat, o.NoReorder = mask&1 != 0, mask&2 != 0, mask&4 != 0, mask&8 != 0
	return o
}

func TestRandomGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, o := drawGraph(t, rapid.IntRange(1, 14).Draw(t, "nodes")), drawOptions(t)
		frames := map[int]int64{}
		for mask := range 16 {
			p, err := Build(c, switched(o, mask))
			require.NoError(t, err)
			require.NoError(t, Validate(p))
			require.NoError(t, Verify(p, c))
			require.LessOrEqual(t, p.Frame.LowerBound, p.Frame.Bytes)
			require.LessOrEqual(t, p.Frame.Bytes, p.Frame.NaiveBytes)
			frames[mask] = p.Frame.Bytes
			again, err := Build(c, switched(o, mask))
			require.NoError(t, err)
			require.Equal(t, p.Instructions, again.Instructions)
			require.Equal(t, p.Buffers, again.Buffers)
		}
		for mask := range 16 {
			for _, bit := range []int{1, 2, 4, 8} {
				require.LessOrEqual(t, frames[mask&^bit], frames[mask|bit], "switches %b against %b", mask&^bit,
					mask|bit)
			}
		}
	})
}
