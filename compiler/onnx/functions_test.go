package onnx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/onnx/onnxpb"
)

// nodeOf is a node called f or, with a domain, a call.
func nodeOf(domain, op string, inputs, outputs []string, attributes ...*onnxpb.AttributeProto) *onnxpb.NodeProto {
	return &onnxpb.NodeProto{Domain: domain, OpType: op, Input: inputs, Output: outputs, Attribute: attributes}
}

func float(name string, f float32) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: name, Type: onnxpb.AttributeProto_FLOAT, F: f}
}

func refers(name, to string) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: name, Type: onnxpb.AttributeProto_FLOAT, RefAttrName: to}
}

// tensorOfFloats declares a value; an extent of -1 is not known.
func tensorOfFloats(name string, shape ...int64) *onnxpb.ValueInfoProto {
	return declaredAs(name, 1, dimensions(shape...))
}

func dimensions(shape ...int64) []*onnxpb.TensorShapeProto_Dimension {
	list := []*onnxpb.TensorShapeProto_Dimension{}
	for _, n := range shape {
		list = append(list, dimension(graph.Dim{Size: n}))
	}
	return list
}

func declaredAs(name string, kind int32, dims []*onnxpb.TensorShapeProto_Dimension) *onnxpb.ValueInfoProto {
	return &onnxpb.ValueInfoProto{Name: name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
		TensorType: &onnxpb.TypeProto_Tensor{ElemType: kind, Shape: &onnxpb.TensorShapeProto{Dim: dims}}}}}
}

// modelOf computes y of x, four floats, with operators of version 20.
func modelOf(nodes []*onnxpb.NodeProto, functions ...*onnxpb.FunctionProto) *onnxpb.ModelProto {
	sets := []*onnxpb.OperatorSetIdProto{{Version: 20}, {Domain: "own", Version: 1}}
	return &onnxpb.ModelProto{IrVersion: 10, Functions: functions, OpsetImport: sets, Graph: &onnxpb.GraphProto{Name: "g", Node: nodes,
		Input: []*onnxpb.ValueInfoProto{tensorOfFloats("x", 4)}, Output: []*onnxpb.ValueInfoProto{tensorOfFloats("y", 4)}}}
}

func decoded(t *testing.T, m *onnxpb.ModelProto) (*graph.Graph, error) {
	t.Helper()
	content, err := proto.Marshal(m)
	require.NoError(t, err)
	return Decode(content)
}

func operatorsOf(t *testing.T, m *onnxpb.ModelProto) (*graph.Checked, []string) {
	t.Helper()
	g, err := decoded(t, m)
	require.NoError(t, err)
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	var list []string
	for _, n := range c.Nodes {
		list = append(list, n.Name+" "+n.Op)
	}
	return c, list
}

// A function is its nodes, with the attributes of the call, of the declaration, or none.
func TestFunctionsAreInlined(t *testing.T) {
	slope := &onnxpb.FunctionProto{Domain: "own", Name: "Slope", Input: []string{"in"}, Output: []string{"out"},
		AttributeProto: []*onnxpb.AttributeProto{float("slope", 0.25)},
		Node: []*onnxpb.NodeProto{nodeOf("", "Neg", []string{"in"}, []string{"x"}),
			nodeOf("", "LeakyRelu", []string{"x"}, []string{"out"}, refers("alpha", "slope"))}}
	twice := &onnxpb.FunctionProto{Domain: "own", Name: "Twice", Input: []string{"a", "left_out"}, Output: []string{"b", "c"},
		Node: []*onnxpb.NodeProto{nodeOf("own", "Slope", []string{"a"}, []string{"m"}, refers("slope", "s")),
			nodeOf("own", "Slope", []string{"m"}, []string{"b"}), nodeOf("", "Clip", []string{"a", "left_out"}, []string{"c"})}}
	call := nodeOf("own", "Twice", []string{"x"}, []string{"y", ""}, float("s", 0.5))
	call.Name = "call"
	c, list := operatorsOf(t, modelOf([]*onnxpb.NodeProto{call}, slope, twice))
	assert.Equal(t, []string{"Neg_0 Neg", "LeakyRelu_1 LeakyRelu", "Neg_2 Neg", "LeakyRelu_3 LeakyRelu"}, list)
	assert.Equal(t, 0.5, c.Nodes[1].Attrs.Float("alpha"))
	assert.Equal(t, 0.25, c.Nodes[3].Attrs.Float("alpha"))
	assert.Equal(t, "call/m", c.Values[c.Nodes[1].Outputs[0]].Name)
	assert.Equal(t, []int{0}, c.Nodes[0].Inputs, "the x of the function is another one")
	assert.Equal(t, "y", c.Values[c.Outputs[0]].Name)
}

// What a graph in a function reads and makes has the names of the call; a function's result may be its argument.
func TestGraphsInFunctions(t *testing.T) {
	branch := func(name, op string) *onnxpb.AttributeProto {
		return &onnxpb.AttributeProto{Name: name, Type: onnxpb.AttributeProto_GRAPH, G: &onnxpb.GraphProto{
			Node:   []*onnxpb.NodeProto{nodeOf("", op, []string{"in"}, []string{"x"})},
			Output: []*onnxpb.ValueInfoProto{{Name: "x"}}}}
	}
	f := &onnxpb.FunctionProto{Domain: "own", Name: "Choose", Input: []string{"c", "in"}, Output: []string{"out", "in"},
		Node: []*onnxpb.NodeProto{nodeOf("", "If", []string{"c"}, []string{"out"}, branch("then_branch", "Neg"),
			branch("else_branch", "Relu"))}}
	m := modelOf([]*onnxpb.NodeProto{nodeOf("own", "Choose", []string{"c", "x"}, []string{"a", "same"}),
		nodeOf("", "Add", []string{"a", "same"}, []string{"y"})}, f)
	m.Graph.Input = append(m.Graph.Input, declaredAs("c", 9, dimensions()))
	c, list := operatorsOf(t, m)
	assert.Equal(t, []string{"Identity_0 Identity", "If_1 If", "Add_2 Add"}, list)
	assert.Equal(t, []int{0}, c.Nodes[1].Inputs[1:], "both branches read x of the model")
}

func TestFunctionsThatStay(t *testing.T) {
	f := &onnxpb.FunctionProto{Domain: "own", Name: "F", Input: []string{"a"}, Output: []string{"b"},
		Node: []*onnxpb.NodeProto{nodeOf("own", "F", []string{"a"}, []string{"b"})}}
	m := modelOf([]*onnxpb.NodeProto{nodeOf("own", "F", []string{"x"}, []string{"y"})}, f)
	_, err := decoded(t, m)
	require.ErrorContains(t, err, "the function F of the model calls itself; none may")
	for _, domain := range []string{"", "ai.onnx"} {
		f.OpsetImport = []*onnxpb.OperatorSetIdProto{{Domain: domain, Version: 19}}
		_, list := operatorsOf(t, m)
		assert.Equal(t, []string{"own.F_0 own.F"}, list, "its operators mean those of another version")
	}
	f.OpsetImport = nil
	m.Functions = nil
	for i := range 30 { // each calls the one before twice
		name, inner := fmt.Sprint("F", i+1), nodeOf("own", fmt.Sprint("F", i), []string{"a"}, []string{"b"})
		m.Functions = append(m.Functions, &onnxpb.FunctionProto{Domain: "own", Name: name, Input: []string{"a"},
			Output: []string{"b"}, Node: []*onnxpb.NodeProto{proto.CloneOf(inner), proto.CloneOf(inner)}})
	}
	m.Graph.Node[0].OpType = "F30"
	_, err = decoded(t, m)
	require.ErrorContains(t, err, "its functions come to more than 1048576 nodes")
}

// A model without operators of its own has the version of its functions'.
func TestVersionsOfFunctions(t *testing.T) {
	f := &onnxpb.FunctionProto{Domain: "own", Name: "F", Input: []string{"a"}, Output: []string{"b"},
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 13}},
		Node:        []*onnxpb.NodeProto{nodeOf("", "Neg", []string{"a"}, []string{"b"})}}
	m := modelOf([]*onnxpb.NodeProto{nodeOf("own", "F", []string{"x"}, []string{"y"})}, f)
	m.OpsetImport = m.OpsetImport[1:]
	g, err := decoded(t, m)
	require.NoError(t, err)
	assert.EqualValues(t, 13, g.Opset)
}

// Some exporters write -1 or the name ? for an extent that they do not know.
func TestExtentsThatAreNotKnown(t *testing.T) {
	m := modelOf([]*onnxpb.NodeProto{nodeOf("", "Relu", []string{"x"}, []string{"y"})})
	unknown := []*onnxpb.TensorShapeProto_Dimension{dimension(graph.Dim{Symbol: "?"}), dimension(graph.Dim{Size: -1}),
		dimension(graph.Dim{Symbol: "?"}), dimension(graph.Dim{Symbol: "n"}), {}}
	m.Graph.Input[0], m.Graph.Output[0] = declaredAs("x", 1, unknown), declaredAs("y", 1, unknown)
	g, err := decoded(t, m)
	require.NoError(t, err)
	axes := func(name string) []graph.Dim {
		return []graph.Dim{{Symbol: name + ".0"}, {Symbol: name + ".1"}, {Symbol: name + ".2"}, {Symbol: "n"},
			{Symbol: name + ".4"}}
	}
	assert.Equal(t, axes("x"), g.Inputs[0].Shape)
	assert.Equal(t, axes("y"), g.Declared[0].Shape)
	_, err = check.Check(g, check.Options{Bind: map[string]int64{"x.0": 2, "x.1": 3, "x.2": 4, "n": 5, "x.4": 6}})
	require.NoError(t, err)
}
