package graph_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/ops"
)

// extremes are numbers at which arithmetic breaks.
var extremes = []int64{math.MinInt64, math.MinInt64 + 1, -1 << 56, -1, 0, 1, 2, 3, 1 << 31, 1<<31 + 1, 1 << 56,
	math.MaxInt64 - 1, math.MaxInt64}

func wildInt() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-4, 5), rapid.Int64Range(0, 3), rapid.SampledFrom(extremes))
}

// wildAttr draws a value; lists have the lengths that lists for a tensor of this
// rank may have.
func wildAttr(t *rapid.T, kind ops.Kind, rank int) any {
	switch kind {
	case ops.KindInt:
		return wildInt().Draw(t, "int")
	case ops.KindFloat:
		return rapid.Float64().Draw(t, "float")
	case ops.KindString:
		return rapid.SampledFrom([]string{"SAME_UPPER", "SAME_LOWER", "VALID", "reflect", "edge", "constant", "f16",
			"?"}).Draw(t, "string")
	case ops.KindInts:
		n := rapid.SampledFrom([]int{rank, 2 * rank, max(rank-2, 0), max(2*rank-4, 0), 1}).Draw(t, "length")
		return rapid.SliceOfN(wildInt(), n, n).Draw(t, "ints")
	case ops.KindTensor:
		return drawContent(t)
	case ops.KindAny:
		return wildInt().Draw(t, "to")
	}
	return drawAttr(t)
}

// wildArgument makes an input or constant of a type that the argument takes, most
// of the time.
func wildArgument(t *rapid.T, g *graph.Graph, a *ops.Argument, shape []int64, n int64) string {
	name := fmt.Sprint("v", len(g.Inputs)+len(g.Constants))
	d := rapid.SampledFrom([]graph.DType{graph.F32, graph.I64, graph.Bool, graph.I32, graph.F64}).Draw(t, "dtype")
	for _, likely := range []graph.DType{graph.F32, graph.I64, graph.Bool} {
		if a.Types.Has(likely) && rapid.IntRange(0, 5).Draw(t, "right type") > 0 {
			d = likely
			break
		}
	}
	if a.Parameter || rapid.IntRange(0, 3).Draw(t, "constant") == 0 {
		if rapid.IntRange(0, 4).Draw(t, "other length") == 0 {
			n = rapid.Int64Range(0, 6).Draw(t, "length")
		}
		k := graph.NewTensor(d, list(n))
		for i := range n {
			if d == graph.F32 || d == graph.F64 {
				k.SetFloat(i, rapid.Float64().Draw(t, "x"))
			} else if d == graph.Bool {
				k.SetInt(i, rapid.Int64Range(0, 1).Draw(t, "x"))
			} else {
				k.SetInt(i, wildInt().Draw(t, "x"))
			}
		}
		g.Constants = append(g.Constants, graph.Constant{name, k})
		return name
	}
	v := graph.Value{Name: name, DType: d}
	for _, x := range shape {
		if rapid.IntRange(0, 5).Draw(t, "other extent") == 0 {
			x = wildInt().Draw(t, "extent")
		}
		v.Shape = append(v.Shape, graph.Dim{Size: max(x, 0)})
	}
	g.Inputs = append(g.Inputs, v)
	return name
}

// wildNode draws a node of any operator with attributes that it knows, and values
// for them that it may not like.
func wildNode(t *rapid.T, g *graph.Graph, i int) graph.Node {
	spec, _ := ops.Normal(rapid.SampledFrom(ops.Operators()).Draw(t, "op"))
	n := graph.Node{Op: spec.Name, Attrs: graph.Attrs{}}
	shape := rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 5).Draw(t, "shape")
	length := rapid.Int64Range(0, 4).Draw(t, "length")
	for _, a := range spec.Inputs {
		if a.Optional && rapid.Bool().Draw(t, "left out") {
			n.Inputs = append(n.Inputs, "")
			continue
		}
		if len(g.Nodes) > 0 && !a.Parameter && rapid.IntRange(0, 2).Draw(t, "from a node") == 0 {
			n.Inputs = append(n.Inputs, fmt.Sprint("y", i-1, "_0"))
			continue
		}
		n.Inputs = append(n.Inputs, wildArgument(t, g, &a, shape, length))
	}
	for _, a := range spec.Accepts {
		if rapid.IntRange(0, 4).Draw(t, a.Name) == 0 {
			n.Attrs[a.Name] = wildAttr(t, a.Kind, len(shape))
		}
	}
	for o := range rapid.IntRange(1, 2).Draw(t, "outputs") {
		n.Outputs = append(n.Outputs, fmt.Sprintf("y%d_%d", i, o))
	}
	return n
}

func checkWild(t *rapid.T) {
	g := &graph.Graph{Opset: rapid.SampledFrom([]int64{0, 1, 6, 9, 12, 13}).Draw(t, "opset")}
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		g.Nodes = append(g.Nodes, wildNode(t, g, i))
	}
	g.Outputs = g.Nodes[len(g.Nodes)-1].Outputs[:1]
	c, err := check.Check(g, check.Options{FoldBytes: 1 << 16})
	if err != nil {
		require.NotEmpty(t, err.Error())
		return
	}
	requireSound(t, c)
}

// TestWildGraphs: operators with any arguments and attributes give a sound Checked
// or an error.
func TestWildGraphs(t *testing.T) { rapid.Check(t, checkWild) }

// FuzzWildGraphs is TestWildGraphs led by coverage.
func FuzzWildGraphs(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkWild)) }
