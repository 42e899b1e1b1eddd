package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
)

// sketch builds a Checked node by node, shapes given by hand.
type sketch struct {
	graph.Checked
	names map[string]int
}

func newSketch() *sketch {
	return &sketch{Checked: graph.Checked{Name: "test", Symbols: map[string]int64{"N": 1}}, names: map[string]int{}}
}

func (s *sketch) value(name string, producer int, shape ...int64) int {
	s.names[name] = len(s.Values)
	s.Values = append(s.Values, graph.TypedValue{Name: name, DType: graph.F32, Shape: shape, Producer: producer})
	return s.names[name]
}

func (s *sketch) input(name string, shape ...int64) {
	s.Inputs = append(s.Inputs, s.value(name, -1, shape...))
}

func (s *sketch) constant(name string, shape ...int64) {
	v := s.value(name, -1, shape...)
	s.Values[v].Constant = &graph.Tensor{DType: graph.F32, Shape: shape, Data: make([]byte, 4*graph.Elements(shape))}
}

// node adds a node called as its result.
func (s *sketch) node(op, result string, shape []int64, attrs graph.Attrs, in ...string) {
	n := graph.TypedNode{Name: "n_" + result, Op: op, Attrs: attrs}
	for _, name := range in {
		v := -1
		if name != "" {
			v = s.names[name]
		}
		n.Inputs = append(n.Inputs, v)
	}
	n.Outputs = []int{s.value(result, len(s.Nodes), shape...)}
	s.Values[n.Outputs[0]].DType = s.typeOf(op, attrs, n.Inputs[0])
	s.Nodes = append(s.Nodes, n)
}

// typeOf returns the type of a result: that of the first argument, unless the
// operator says another.
func (s *sketch) typeOf(op string, attrs graph.Attrs, argument int) graph.DType {
	switch op {
	case "Cast":
		return graph.DType(attrs.Int("to"))
	case "Equal":
		return graph.Bool
	}
	return s.Values[argument].DType
}

// split adds a Split into equal parts; nobody asks for those named "".
func (s *sketch) split(in string, axis int64, results ...string) {
	whole := s.Values[s.names[in]].Shape
	n := graph.TypedNode{Name: fmt.Sprint("n_", strings.Join(results, "")), Op: "Split", Inputs: []int{s.names[in]}}
	var extents []int64
	for _, name := range results {
		shape := append([]int64{}, whole...)
		shape[axis] /= int64(len(results))
		extents = append(extents, shape[axis])
		if name == "" {
			n.Outputs = append(n.Outputs, -1)
			continue
		}
		n.Outputs = append(n.Outputs, s.value(name, len(s.Nodes), shape...))
		s.Values[s.names[name]].DType = s.Values[n.Inputs[0]].DType
	}
	n.Attrs = graph.Attrs{"axis": axis, "split": extents}
	s.Nodes = append(s.Nodes, n)
}

func (s *sketch) output(names ...string) {
	for _, name := range names {
		s.Outputs = append(s.Outputs, s.names[name])
	}
}

// build plans the sketch, and has the plan checked.
func (s *sketch) build(t *testing.T, o Options) *ExecutionPlan {
	t.Helper()
	p, err := Build(&s.Checked, o)
	require.NoError(t, err)
	require.NoError(t, Validate(p))
	require.NoError(t, Verify(p, &s.Checked))
	return p
}

func opsOf(p *ExecutionPlan) []string {
	list := []string{}
	for _, i := range p.Instructions {
		list = append(list, i.Op)
	}
	return list
}

func shape(d ...int64) []int64 { return d }

func TestArgumentsKeepTheirOrder(t *testing.T) {
	s := newSketch()
	s.input("a", 4)
	s.input("b", 4)
	s.node("Sub", "c", shape(4), nil, "b", "a")
	s.output("c")
	p := s.build(t, Options{})
	require.Len(t, p.Instructions, 1)
	i := p.Instructions[0]
	assert.Equal(t, "n_c", i.Node)
	assert.Equal(t, []string{"b", "a"}, []string{i.Inputs[0].Name, i.Inputs[1].Name})
	assert.Equal(t, p.Inputs[1].Buffer, i.Inputs[0].Buffer)
	assert.Equal(t, p.Inputs[0].Buffer, i.Inputs[1].Buffer)
	assert.Equal(t, p.Outputs[0].Buffer, i.Outputs[0].Buffer)
	assert.Zero(t, p.Frame.Bytes, "all of it is the caller's memory")
}

func TestThePlanOwnsItsOperators(t *testing.T) {
	s := newSketch()
	s.input("a", 2, 3)
	s.constant("k", 2, 3)
	s.node("Add", "b", shape(2, 3), nil, "a", "k")
	s.node("Gemm", "c", shape(2, 3), graph.Attrs{"perm": []int64{1, 2}}, "b", "k")
	s.output("c")
	p := s.build(t, Options{})
	want := s.build(t, Options{})
	s.Nodes[1].Attrs["perm"].([]int64)[0] = 7
	s.Nodes[1].Op, s.Nodes[0].Inputs[0], s.Symbols["N"] = "Sub", 1, 9
	s.Values[1].Constant.Data[0], s.Values[0].Shape[0] = 1, 8
	assert.Equal(t, want, p)
}

func TestOutputsThatNeedACopy(t *testing.T) {
	s := newSketch()
	s.input("a", 4)
	s.constant("k", 4)
	s.node("Relu", "r", shape(4), nil, "a")
	s.node("Reshape", "v", shape(2, 2), nil, "r")
	s.output("r", "v", "a", "k", "r")
	p := s.build(t, Options{})
	assert.Equal(t, []string{"Copy", "Relu", "Copy", "Copy", "Copy"}, opsOf(p))
	seen := map[int]bool{}
	for _, o := range p.Outputs {
		assert.Equal(t, Output, p.Buffers[o.Buffer].Kind)
		seen[o.Buffer] = true
	}
	assert.Len(t, seen, 5, "each output has a buffer of its own")
}

func TestInPlaceInAChain(t *testing.T) {
	s := newSketch()
	s.input("a", 64)
	s.node("Exp", "b", shape(64), nil, "a")
	s.node("Relu", "c", shape(64), nil, "b")
	s.node("Add", "d", shape(64), nil, "a", "c")
	s.node("ReduceSum", "e", shape(), nil, "d")
	s.output("e")
	p := s.build(t, Options{})
	assert.EqualValues(t, 256, p.Frame.Bytes)
	p = s.build(t, Options{NoInPlace: true})
	assert.EqualValues(t, 512, p.Frame.Bytes)
	assert.EqualValues(t, 3*256, p.Frame.NaiveBytes)
}

func TestAConcatIsWrittenByItsParts(t *testing.T) {
	for _, axis := range []int64{0, 1} {
		s := newSketch()
		s.input("a", 2, 8)
		s.node("Exp", "b", shape(2, 8), nil, "a")
		s.node("Relu", "c", shape(2, 8), nil, "a")
		whole := shape(2, 8)
		whole[axis] *= 2
		s.node("Concat", "d", whole, graph.Attrs{"axis": axis}, "b", "c")
		s.node("ReduceSum", "e", shape(), nil, "d")
		s.output("e")
		p := s.build(t, Options{})
		assert.Equal(t, []string{"Exp", "Relu", "ReduceSum"}, opsOf(p))
		p = s.build(t, Options{NoConcat: true})
		assert.Equal(t, []string{"Exp", "Relu", "Concat", "ReduceSum"}, opsOf(p))
	}
}

// dense builds a block of layers each of which reads all before it, joined anew
// from all of them or by one Concat more.
func dense(flat bool, layers int, pixels int64) *sketch {
	s := newSketch()
	s.input("in", 1, 4, pixels)
	s.node("MaxPool", "f0", shape(1, 4, pixels), nil, "in")
	features, all := []string{"f0"}, "f0"
	for i := range layers {
		name, channels := fmt.Sprintf("f%d", i+1), int64(4*(i+2))
		s.node("MaxPool", name, shape(1, 4, pixels), nil, all)
		features = append(features, name)
		parts := []string{all, name}
		if flat {
			parts = features
		}
		all = fmt.Sprintf("p%d", i+1)
		s.node("Concat", all, shape(1, channels, pixels), graph.Attrs{"axis": int64(1)}, parts...)
	}
	s.node("ReduceSum", "out", shape(), nil, all)
	s.output("out")
	return s
}

func TestAChainOfConcatsSharesOneBuffer(t *testing.T) {
	for _, flat := range []bool{false, true} {
		s := dense(flat, 6, 16)
		p := s.build(t, Options{})
		assert.NotContains(t, opsOf(p), "Concat")
		assert.NotContains(t, opsOf(p), "Copy")
		assert.EqualValues(t, 7*4*16*4, p.Frame.Bytes, "the last of them, and nothing else")
		p = s.build(t, Options{NoConcat: true})
		assert.EqualValues(t, (7+6+1)*4*16*4, p.Frame.Bytes)
	}
}
