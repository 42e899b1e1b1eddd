package graph_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/ops"
)

// single makes a graph of one node. Its arguments are written as
//
//	f32(2,3)   an input
//	i64[1,-1]  a constant with one axis
//	f32=1.5    a scalar constant
//	-          one that is left out
//
// and named a, b, c, ... Results are y0, y1, ...
func single(op, args string, attrs graph.Attrs, outputs int) *graph.Graph {
	g := &graph.Graph{Nodes: []graph.Node{{Name: "n", Op: op, Attrs: attrs}}}
	n := &g.Nodes[0]
	for i, arg := range strings.Fields(args) {
		name := string(rune('a' + i))
		n.Inputs = append(n.Inputs, name)
		switch at := strings.IndexAny(arg, "([="); {
		case at < 0:
			n.Inputs[i] = ""
		case arg[at] == '(':
			in := graph.Value{Name: name, DType: parseDType(arg[:at])}
			for _, d := range splitInts(arg[at:]) {
				in.Shape = append(in.Shape, graph.Dim{Size: d})
			}
			g.Inputs = append(g.Inputs, in)
		case arg[at] == '[':
			list := splitInts(arg[at:])
			g.Constants = append(g.Constants,
				graph.Constant{name, integers(parseDType(arg[:at]), list)})
		default:
			x, err := strconv.ParseFloat(arg[at+1:], 64)
			if err != nil {
				panic(err)
			}
			g.Constants = append(g.Constants, graph.Constant{name, numbers(parseDType(arg[:at]), []int64{}, x)})
		}
	}
	for i := range outputs {
		n.Outputs = append(n.Outputs, fmt.Sprint("y", i))
	}
	g.Outputs = n.Outputs
	return g
}

func parseDType(name string) graph.DType {
	d, ok := graph.ParseDType(name)
	if !ok {
		panic(name)
	}
	return d
}

func splitInts(text string) []int64 {
	var list []int64
	for part := range strings.SplitSeq(strings.Trim(text, "()[]"), ",") {
		if part == "" {
			continue
		}
		x, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			panic(err)
		}
		list = append(list, x)
	}
	return list
}

// numbers makes a tensor.
func numbers(d graph.DType, shape []int64, list ...float64) graph.Tensor {
	t := graph.NewTensor(d, shape)
	for i, x := range list {
		if d == graph.F32 || d == graph.F64 {
			t.SetFloat(int64(i), x)
		} else {
			t.SetInt(int64(i), int64(x))
		}
	}
	return t
}

// summary writes what Check found: the outputs, then the nodes.
func summary(c *graph.Checked) string {
	var parts []string
	for _, out := range c.Outputs {
		v := c.Values[out]
		text := v.DType.String() + strings.ReplaceAll(graph.ShapeText(v.Shape), " ", "")
		if v.Constant != nil {
			text += " constant"
		}
		parts = append(parts, text)
	}
	for _, n := range c.Nodes {
		text := n.Op
		if len(n.Attrs) > 0 {
			text += strings.TrimPrefix(fmt.Sprint(map[string]any(n.Attrs)), "map")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// requireSound holds a Checked to what its comments promise.
func requireSound(t require.TestingT, c *graph.Checked) {
	names := map[string]bool{}
	for i, v := range c.Values {
		require.True(t, graph.Fits(v.Shape, v.DType), v.Name)
		require.NotEmpty(t, v.Name)
		require.False(t, names[v.Name], "%s stands twice", v.Name)
		names[v.Name] = true
		if v.Constant != nil {
			require.Empty(t, graph.TensorFault(v.Constant))
			require.Equal(t, v.Shape, v.Constant.Shape)
			require.Equal(t, v.DType, v.Constant.DType)
		}
		if v.Producer >= 0 {
			require.Nil(t, v.Constant)
			require.Contains(t, c.Nodes[v.Producer].Outputs, i)
		}
	}
	used := make([]bool, len(c.Values))
	for _, v := range append(append([]int{}, c.Outputs...), c.Inputs...) {
		used[v] = true
	}
	for i, n := range c.Nodes {
		requireSoundNode(t, c, i, n)
		for _, v := range n.Inputs {
			if v >= 0 {
				used[v] = true
			}
		}
	}
	require.NotContains(t, used, false, "a value that nobody asked for")
}

func requireSoundNode(t require.TestingT, c *graph.Checked, i int, n graph.TypedNode) {
	spec, ok := ops.Normal(n.Op)
	require.True(t, ok, n.Op)
	require.Empty(t, spec.Becomes, n.Op)
	require.NotEmpty(t, n.Name)
	require.Len(t, n.Attrs, len(spec.Attrs), n.Op)
	for _, a := range spec.Attrs {
		want := map[ops.Kind]any{ops.KindInt: int64(0), ops.KindFloat: 0.0, ops.KindString: "", ops.KindInts: []int64{}, ops.KindFloats: []float64{},
			ops.KindTensor: graph.Tensor{}}
		require.IsType(t, want[a.Kind], n.Attrs[a.Name], "%s: %s", n.Op, a.Name)
	}
	for at, v := range n.Inputs {
		if v < 0 {
			require.True(t, spec.Inputs[at].Optional)
			continue
		}
		require.Less(t, c.Values[v].Producer, i)
	}
	wanted := 0
	for _, v := range n.Outputs {
		if v >= 0 {
			wanted++
			require.Equal(t, i, c.Values[v].Producer)
		}
	}
	require.Positive(t, wanted)
}

// checkedText checks a graph of one node and returns the summary, or the error's
// text without the node's name.
func checkedText(t *testing.T, g *graph.Graph) string {
	c, err := check.Check(g, check.Options{})
	if err != nil {
		var e *graph.Error
		require.ErrorAs(t, err, &e)
		return strings.TrimPrefix(err.Error(), fmt.Sprintf("node \"n\" (%s): ", g.Nodes[0].Op))
	}
	requireSound(t, c)
	return summary(c)
}

func integers(d graph.DType, list []int64) graph.Tensor {
	t := graph.NewTensor(d, []int64{int64(len(list))})
	for i, x := range list {
		t.SetNumber(int64(i), float64(x))
	}
	return t
}
