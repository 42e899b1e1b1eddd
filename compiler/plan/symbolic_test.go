package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
)

// checker returns what BuildSymbolic asks for graphs.
func checker(g *graph.Graph) func(map[string]int64) (*graph.Checked, error) {
	return func(bind map[string]int64) (*graph.Checked, error) {
		return check.Check(g, check.Options{Bind: bind})
	}
}

func graphOf(t *testing.T, text string) *graph.Graph {
	g, err := json.Read(strings.NewReader(text))
	require.NoError(t, err)
	return g
}

// symbolicPlan plans a graph and tries every number that the plan is for: the plan for
// these numbers, with the places of the equations, has to be valid and to compute the
// graph for these numbers. It returns the plan, and how many plans were tried.
func symbolicPlan(t require.TestingT, g *graph.Graph, bounds map[string]int64, o Options) (*ExecutionPlan, int) {
	p, err := BuildSymbolic(checker(g), bounds, o)
	require.NoError(t, err)
	require.NoError(t, p.Symbolic.Check(p))
	require.NoError(t, Validate(p))
	c, err := checker(g)(bounds)
	require.NoError(t, err)
	require.NoError(t, Verify(p, c))
	s, err := sizesOf(checker(g), c, bounds, o)
	require.NoError(t, err)
	numbers := [][]int64{{}}
	for _, symbol := range p.Symbolic.Symbols {
		var points []int64
		for n := symbol.From; n <= symbol.To; n++ {
			points = append(points, n)
		}
		numbers = product(numbers, points)
	}
	for _, n := range numbers {
		m := s.again(n)
		require.NoError(t, m.err)
		frame, offsets, err := p.Places(n)
		require.NoError(t, err)
		require.LessOrEqual(t, frame, p.Frame.Bytes, "%v", n)
		sizes, err := p.BufferSizes(n)
		require.NoError(t, err)
		for i := range sizes {
			require.Equal(t, m.plan.Buffers[i].Bytes, sizes[i], "%v", n)
		}
		m.plan.Frame.Bytes, m.plan.Frame.Alignment = frame, p.Frame.Alignment
		for i := range m.plan.Buffers {
			m.plan.Buffers[i].Offset = offsets[i]
		}
		require.NoError(t, Validate(m.plan), "%v", n)
		require.NoError(t, Verify(m.plan, m.graph), "%v", n)
	}
	frame, offsets, err := p.Places(numbers[len(numbers)-1])
	require.NoError(t, err)
	require.Equal(t, p.Frame.Bytes, frame, "for the bounds the equations give the plan")
	for i := range p.Buffers {
		require.Equal(t, p.Buffers[i].Offset, offsets[i])
	}
	return p, len(numbers)
}

// attention is softmax(x k^T) v over N tokens, batch B: its scores grow with N squared.
const attention = `{"tl_graph": 1, "name": "attention",
 "inputs": [{"name": "x", "dtype": "f32", "shape": ["B", "N", 8]}, {"name": "w", "dtype": "f32", "shape": [8, 8]}],
 "outputs": ["y"],
 "nodes": [{"op": "MatMul", "inputs": ["x", "w"], "outputs": ["q"]},
           {"op": "MatMul", "inputs": ["x", "w"], "outputs": ["k"]},
           {"op": "MatMul", "inputs": ["q", "w"], "outputs": ["v"]},
           {"op": "Transpose", "inputs": ["k"], "outputs": ["t"], "attrs": {"perm": [0, 2, 1]}},
           {"op": "MatMul", "inputs": ["q", "t"], "outputs": ["s"]},
           {"op": "Softmax", "inputs": ["s"], "outputs": ["a"], "attrs": {"axis": 2}},
           {"op": "MatMul", "inputs": ["a", "v"], "outputs": ["o"]},
           {"op": "Add", "inputs": ["o", "x"], "outputs": ["z"]},
           {"op": "MatMul", "inputs": ["z", "w"], "outputs": ["y"]}]}`

func TestSizesFollowSymbols(t *testing.T) {
	p, tried := symbolicPlan(t, graphOf(t, attention), map[string]int64{"B": 3, "N": 20}, Options{})
	s := p.Symbolic
	require.Equal(t, []Symbol{{"B", 0, 3}, {"N", 1, 20}}, s.Symbols)
	assert.True(t, s.Proved)
	assert.Equal(t, 80, tried)
	sizes := map[string]string{}
	for i := range p.Buffers {
		sizes[p.Buffers[i].Name] = s.Sizes[i].String(s.Symbols)
	}
	assert.Equal(t, "32*B*N", sizes["x"])
	assert.Equal(t, "4*B*N^2", sizes["s"])
	assert.Equal(t, "256", sizes["w"])
	small, _, err := p.Places([]int64{1, 4})
	require.NoError(t, err)
	assert.Less(t, 20*small, p.Frame.Bytes, "a frame for few tokens is small")
	_, _, err = p.Places([]int64{1})
	require.ErrorContains(t, err, "1 numbers are given")
	nothing, err := p.BufferSizes([]int64{0, 20})
	require.NoError(t, err)
	assert.Zero(t, nothing[0], "x of no samples")
	_, err = p.BufferSizes([]int64{-1, 1})
	require.ErrorContains(t, err, `symbol "B" is -1`)
	_, _, err = p.Places([]int64{1, 21})
	require.ErrorContains(t, err, `symbol "N" is 21; the plan is for 0 to 20`)
	plain, err := Build(&newSketch().Checked, Options{})
	require.NoError(t, err)
	_, _, err = plain.Places(nil)
	require.ErrorContains(t, err, "the plan has no sizes as functions of symbols")
}

// A bound that is the extent of something else decides nothing.
func TestBoundsThatCoincide(t *testing.T) {
	p, tried := symbolicPlan(t, graphOf(t, attention), map[string]int64{"B": 1, "N": 8}, Options{})
	assert.Equal(t, 2*9, tried)
	assert.EqualValues(t, 0, p.Symbolic.Symbols[1].From)
}

// One row that is transposed lies row by row, so that its plan is another one. The plan
// for more rows is for numbers from 2, and one row takes the memory of two.
func TestSmallNumbersWithAnotherPlan(t *testing.T) {
	g := graphOf(t, `{"tl_graph": 1, "name": "turn", "inputs": [{"name": "x", "dtype": "f32", "shape": ["N", 40]},
  {"name": "k", "dtype": "f32", "shape": ["M", 2]}],
 "outputs": ["f", "e"], "nodes": [{"op": "Exp", "inputs": ["x"], "outputs": ["y"]},
 {"op": "Transpose", "inputs": ["y"], "outputs": ["t"], "attrs": {"perm": [1, 0]}},
 {"op": "Flatten", "inputs": ["t"], "outputs": ["f"], "attrs": {"axis": 0}},
 {"op": "Exp", "inputs": ["k"], "outputs": ["e"]}]}`)
	p, tried := symbolicPlan(t, g, map[string]int64{"M": 3, "N": 30}, Options{PlaceOutputs: true})
	assert.Equal(t, []Symbol{{"M", 0, 3}, {"N", 2, 30}}, p.Symbolic.Symbols)
	assert.True(t, p.Symbolic.Proved)
	assert.Equal(t, 4*29, tried)
	one, _, err := p.Places([]int64{1, 1})
	require.NoError(t, err)
	two, _, err := p.Places([]int64{1, 2})
	require.NoError(t, err)
	assert.Equal(t, two, one)
}

// A window with strides over an axis has no polynomial size.
func TestSizesThatAreNoPolynomials(t *testing.T) {
	g := graphOf(t, `{"tl_graph": 1, "name": "pool", "inputs": [{"name": "x", "dtype": "f32", "shape": [1, 2, "N"]}],
 "outputs": ["z"], "nodes": [
 {"op": "MaxPool", "inputs": ["x"], "outputs": ["y"], "attrs": {"kernel_shape": [2], "strides": [2]}},
 {"op": "Exp", "inputs": ["y"], "outputs": ["z"]}]}`)
	_, err := BuildSymbolic(checker(g), map[string]int64{"N": 40}, Options{})
	require.ErrorContains(t, err, `is no polynomial of the symbols of degree 3`)
}

// N^4 is a polynomial, and is not said to be none.
func TestSizesOfAHigherDegreeAreToldAsSuch(t *testing.T) {
	g := graphOf(t, `{"tl_graph": 1, "name": "power", "inputs": [{"name": "x", "dtype": "f32", "shape": ["N", "N", "N", "N"]}],
 "outputs": ["z"], "nodes": [{"op": "Exp", "inputs": ["x"], "outputs": ["z"]}]}`)
	_, err := BuildSymbolic(checker(g), map[string]int64{"N": 9}, Options{})
	require.ErrorContains(t, err, `buffer "x" is no polynomial of the symbols of degree 3`)
}

// A graph may hold for one number alone.
func TestNumbersThatAPlanIsFor(t *testing.T) {
	g := graphOf(t, `{"tl_graph": 1, "name": "broadcast", "inputs": [{"name": "x", "dtype": "f32", "shape": ["N", 4]},
  {"name": "k", "dtype": "f32", "shape": [9, 4]}], "outputs": ["z"], "nodes": [
 {"op": "Add", "inputs": ["x", "k"], "outputs": ["y"]}, {"op": "Exp", "inputs": ["y"], "outputs": ["z"]}]}`)
	_, err := BuildSymbolic(checker(g), map[string]int64{"N": 9}, Options{})
	require.ErrorContains(t, err, `the plan holds for "N" = 9 alone: for N=8 `)
	_, err = BuildSymbolic(checker(g), map[string]int64{"N": -1}, Options{})
	require.ErrorContains(t, err, `bound to -1`)
}

// Numbers beyond those that can all be compared are said to be sampled.
func TestManyNumbersAreSampled(t *testing.T) {
	g := graphOf(t, `{"tl_graph": 1, "name": "long", "inputs": [{"name": "x", "dtype": "f32", "shape": ["N", 4]}],
 "outputs": ["z"], "nodes": [{"op": "Exp", "inputs": ["x"], "outputs": ["y"]},
 {"op": "Exp", "inputs": ["y"], "outputs": ["z"]}]}`)
	p, err := BuildSymbolic(checker(g), map[string]int64{"N": 100000}, Options{PlaceInputs: true})
	require.NoError(t, err)
	assert.False(t, p.Symbolic.Proved)
	frame, _, err := p.Places([]int64{17})
	require.NoError(t, err)
	assert.EqualValues(t, alignedTo(17*16, 64), frame)
}

// wild draws a graph over matrices with N and with M rows, and over ones with other
// shapes that come of them.
func wild(t *rapid.T) *graph.Graph {
	n, m := graph.Dim{Symbol: "N"}, graph.Dim{Symbol: "M"}
	g := &graph.Graph{Name: "wild"}
	var rows []string // values (N, 6)
	for i := range rapid.IntRange(1, 2).Draw(t, "inputs") {
		name := fmt.Sprint("in", i)
		g.Inputs = append(g.Inputs, graph.Value{Name: name, DType: graph.F32, Shape: []graph.Dim{n, {Size: 6}}})
		rows = append(rows, name)
	}
	g.Inputs = append(g.Inputs, graph.Value{Name: "other", DType: graph.F32, Shape: []graph.Dim{m, {Size: 6}}})
	others := []string{"other"} // values (M, 6)
	for i := range rapid.IntRange(1, 9).Draw(t, "nodes") {
		list := &rows
		if rapid.IntRange(0, 3).Draw(t, "which") == 0 {
			list = &others
		}
		a, b := rapid.SampledFrom(*list).Draw(t, "a"), rapid.SampledFrom(*list).Draw(t, "b")
		y := fmt.Sprint("v", i)
		add := func(op, out string, attrs graph.Attrs, in ...string) {
			g.Nodes = append(g.Nodes, graph.Node{Op: op, Inputs: in, Outputs: []string{out}, Attrs: attrs})
		}
		turn := graph.Attrs{"perm": []int64{1, 0}}
		switch rapid.IntRange(0, 7).Draw(t, "op") {
		case 0:
			add("Exp", y, nil, a)
		case 1:
			add("Add", y, nil, a, b)
		case 2: // (N, N) between
			add("Transpose", y+"t", turn, b)
			add("MatMul", y+"s", nil, a, y+"t")
			add("Softmax", y+"p", graph.Attrs{"axis": int64(1)}, y+"s")
			add("MatMul", y, nil, y+"p", b)
		case 3: // (N, 12) between
			add("Concat", y+"c", graph.Attrs{"axis": int64(1)}, a, b)
			g.Nodes = append(g.Nodes, graph.Node{Op: "Split", Inputs: []string{y + "c"}, Outputs: []string{y, y + "u"},
				Attrs: graph.Attrs{"axis": int64(1), "num_outputs": int64(2)}})
		case 4: // (2N, 6) and (2N, 2N) between
			add("Concat", y+"c", graph.Attrs{"axis": int64(0)}, a, b)
			add("Relu", y+"r", nil, y+"c")
			add("Transpose", y+"k", turn, y+"r")
			add("MatMul", y+"q", nil, y+"r", y+"k")
			add("Softmax", y+"w", graph.Attrs{"axis": int64(1)}, y+"q")
			g.Outputs = append(g.Outputs, y+"w")
			add("Sub", y, nil, a, b)
		case 5: // (N, M) between
			add("Transpose", y+"t", turn, "other")
			add("MatMul", y+"s", nil, rows[0], y+"t")
			add("MatMul", y, nil, y+"s", "other")
			list = &rows
		case 6:
			add("Softmax", y, graph.Attrs{"axis": int64(0)}, a)
		case 7: // a Reshape that strides cannot express, unless there is one row
			add("Transpose", y+"t", turn, a)
			add("Flatten", y+"f", graph.Attrs{"axis": int64(0)}, y+"t")
			g.Outputs = append(g.Outputs, y+"f")
			add("Exp", y, nil, a)
		}
		*list = append(*list, y)
	}
	g.Outputs = append(g.Outputs, rows[len(rows)-1], others[len(others)-1])
	if rapid.Bool().Draw(t, "both") {
		g.Outputs = append(g.Outputs, rapid.SampledFrom(rows).Draw(t, "output"))
	}
	return g
}

func TestRandomSymbols(t *testing.T) {
	tried, narrowed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := wild(t)
		bounds := map[string]int64{"N": rapid.Int64Range(3, 9).Draw(t, "N"), "M": rapid.Int64Range(3, 9).Draw(t, "M")}
		p, n := symbolicPlan(t, g, bounds, drawOptions(t))
		tried += n
		for _, s := range p.Symbolic.Symbols {
			require.LessOrEqual(t, s.From, int64(2), "only a single row may have another plan")
			if s.From > 1 {
				narrowed++
			}
		}
	})
	fmt.Printf("%d plans tried; %d symbols from 2 on\n", tried, narrowed)
}

// What is below is said once: not again where something in between says it.
func TestAStackIsSaidOnce(t *testing.T) {
	buffer := func(offset int64) Buffer { return Buffer{Offset: offset, Bytes: 64, First: 0, Last: 9} }
	p := &ExecutionPlan{Buffers: []Buffer{buffer(128), buffer(0), buffer(64), {Offset: -1}, buffer(192)},
		Frame: Frame{Bytes: 256, Alignment: 64}}
	p.Buffers[4].First = 10
	s := Symbolic{Sizes: make([]Polynomial, 5)}
	for i := range s.Sizes {
		s.Sizes[i] = Polynomial{{64, nil}}
	}
	s.stack(p)
	assert.Equal(t, [][]int{{2}, nil, {1}, nil, nil}, s.Below)
	assert.Equal(t, []int{1, 2, 0, 4}, p.FromBelow())
	s.compact(p)
	assert.Equal(t, []int64{128, 0, 64, -1, 0}, []int64{p.Buffers[0].Offset, p.Buffers[1].Offset, p.Buffers[2].Offset,
		p.Buffers[3].Offset, p.Buffers[4].Offset}, "what is alive with nothing goes to the bottom")
	assert.EqualValues(t, 192, p.Frame.Bytes)
}

// A prompt has no past: the plan for a longer one holds for none, where that is the same plan.
func TestSymbolsMayBeNothing(t *testing.T) {
	g := graphOf(t, `{"tl_graph": 1, "name": "prefill", "inputs": [{"name": "past", "dtype": "f32", "shape": ["P", 4]},
  {"name": "x", "dtype": "f32", "shape": ["S", 4]}], "outputs": ["present", "y"], "nodes": [
 {"op": "Concat", "inputs": ["past", "x"], "outputs": ["present"], "attrs": {"axis": 0}},
 {"op": "Transpose", "inputs": ["present"], "outputs": ["keys"], "attrs": {"perm": [1, 0]}},
 {"op": "MatMul", "inputs": ["x", "keys"], "outputs": ["s"]}, {"op": "Softmax", "inputs": ["s"], "outputs": ["a"]},
 {"op": "MatMul", "inputs": ["a", "present"], "outputs": ["y"]}]}`)
	p, _ := symbolicPlan(t, g, map[string]int64{"P": 30, "S": 8}, Options{PlaceInputs: true, PlaceOutputs: true})
	assert.Equal(t, Symbol{"P", 0, 30}, p.Symbolic.Symbols[0])
	c, err := checker(g)(map[string]int64{"P": 0, "S": 8})
	require.NoError(t, err)
	alone, err := Build(c, Options{PlaceInputs: true, PlaceOutputs: true})
	require.NoError(t, err)
	frame, _, err := p.Places([]int64{0, 8})
	require.NoError(t, err)
	assert.Equal(t, alone.Frame.Bytes, frame)
	assert.Less(t, 2*frame, p.Frame.Bytes)
}
