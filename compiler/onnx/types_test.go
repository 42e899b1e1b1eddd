package onnx

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/onnx/onnxpb"
	"tlruntime/compiler/plan"
)

// onlyPlanned plans a model of which no instruction with such an element can be run.
func onlyPlanned(t *testing.T, m *onnxpb.ModelProto) *plan.ExecutionPlan {
	t.Helper()
	g, err := decoded(t, m)
	require.NoError(t, err)
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	p, err := plan.Build(c, plan.Options{PlaceInputs: true, PlaceOutputs: true})
	require.NoError(t, err)
	require.NoError(t, plan.Verify(p, c))
	missing := llvm.Missing(p)
	require.NotEmpty(t, missing)
	assert.Contains(t, missing.Error(), "there is no code for elements of this type")
	return p
}

// Strings and floats of a byte have places, whatever moves them.
func TestTypesThatAreOnlyPassedOn(t *testing.T) {
	for kind := range int32(27) {
		each := int64(1)
		if kind == 8 {
			each = 8
		} else if kind < 17 {
			continue
		}
		m := modelOf([]*onnxpb.NodeProto{nodeOf("", "Transpose", []string{"s"}, []string{"a"}),
			nodeOf("", "Concat", []string{"a", "a"}, []string{"t"}, &onnxpb.AttributeProto{Name: "axis",
				Type: onnxpb.AttributeProto_INT}), nodeOf("", "Relu", []string{"x"}, []string{"y"})})
		m.Graph.Input = append(m.Graph.Input, declaredAs("s", kind, dimensions(2, 3)))
		m.Graph.Output = append(m.Graph.Output, declaredAs("t", kind, dimensions(6, 2)))
		p := onlyPlanned(t, m)
		assert.EqualValues(t, 12*each, p.Buffers[p.Outputs[1].Buffer].Bytes)
	}
}

// A known operator that does not take such a type has results of the types that the model states.
func TestKnownOperatorsOfTypesThatAreOnlyPassedOn(t *testing.T) {
	m := modelOf([]*onnxpb.NodeProto{nodeOf("", "Equal", []string{"s", "s"}, []string{"b"}),
		nodeOf("", "Cast", []string{"b"}, []string{"y"}, &onnxpb.AttributeProto{Name: "to",
			Type: onnxpb.AttributeProto_INT, I: 1})})
	m.Graph.Input = append(m.Graph.Input, declaredAs("s", 8, dimensions(4)))
	_, err := decoded(t, m)
	require.NoError(t, err)
	g, err := decoded(t, m)
	require.NoError(t, err)
	_, err = check.Check(g, check.Options{})
	require.ErrorContains(t, err, "its input 0 (A) is string; Equal takes f32 f64 i32")
	m.Graph.ValueInfo = append(m.Graph.ValueInfo, declaredAs("b", 9, dimensions(4)))
	onlyPlanned(t, m)
}

// Floats of a byte that are computed while a model runs: their quantisation is other operators, of which none runs.
func TestQuantisationToFloatsOfAByte(t *testing.T) {
	m := modelOf([]*onnxpb.NodeProto{nodeOf("", "QuantizeLinear", []string{"x", "scale", "zero"}, []string{"q"}),
		nodeOf("", "DequantizeLinear", []string{"q", "scale"}, []string{"y"})})
	m.Graph.Initializer = []*onnxpb.TensorProto{{Name: "scale", DataType: 1, FloatData: []float32{0.5}},
		{Name: "zero", DataType: 17, RawData: []byte{0}}}
	p := onlyPlanned(t, m)
	kinds := map[string]int64{}
	for _, b := range p.Buffers {
		kinds[b.DType.String()] += b.Bytes
	}
	assert.EqualValues(t, 4, kinds["f8e4m3fn"])
}

// Weights of four and of two bits are unpacked, computed with while the plan is made, and written as they were.
func TestWeightsOfLessThanAByte(t *testing.T) {
	for _, w := range []struct {
		kind int32
		raw  []byte
		want []float64
	}{
		{22, []byte{0xe1, 0x83}, []float64{1, -2, 3, -8}},
		{21, []byte{0xe1, 0x83}, []float64{1, 14, 3, 8}},
		{26, []byte{0xb4}, []float64{0, 1, -1, -2}},
		{25, []byte{0xb4}, []float64{0, 1, 3, 2}},
	} {
		constant := &onnxpb.TensorProto{Name: "w", DataType: w.kind, Dims: []int64{4}, RawData: w.raw}
		m := modelOf([]*onnxpb.NodeProto{nodeOf("", "DequantizeLinear", []string{"w", "scale"}, []string{"d"}),
			nodeOf("", "Mul", []string{"x", "d"}, []string{"y"})})
		m.Graph.Initializer = []*onnxpb.TensorProto{constant, {Name: "scale", DataType: 1, FloatData: []float32{0.5}}}
		c, list := operatorsOf(t, m)
		require.Equal(t, []string{"Mul_1 Mul"}, list)
		for i, x := range w.want {
			assert.Equal(t, x/2, c.Values[c.Nodes[0].Inputs[1]].Constant.FloatAt(int64(i)))
		}
		g, err := decoded(t, m)
		require.NoError(t, err)
		written, err := encodeTensor(g.Constants[0].Tensor)
		require.NoError(t, err)
		assert.Equal(t, w.raw, written.RawData)
		constant.RawData, constant.Int32Data = nil, []int32{int32(w.raw[0])}
		_, err = decoded(t, m)
		assert.Equal(t, len(w.raw) == 2, err != nil, "each number is a byte")
	}
}

// Constants of strings are told apart, and not written: a graph has no text of them.
func TestConstantsOfStrings(t *testing.T) {
	m := modelOf([]*onnxpb.NodeProto{nodeOf("", "Relu", []string{"x"}, []string{"y"})})
	texts := func(name string, list ...string) *onnxpb.TensorProto {
		c := &onnxpb.TensorProto{Name: name, DataType: 8, Dims: []int64{int64(len(list))}}
		for _, s := range list {
			c.StringData = append(c.StringData, []byte(s))
		}
		return c
	}
	m.Graph.Initializer = []*onnxpb.TensorProto{texts("a", "x", "y"), texts("b", "x", "y"), texts("c", "y", "x")}
	g, err := decoded(t, m)
	require.NoError(t, err)
	assert.Equal(t, g.Constants[0].Data, g.Constants[1].Data)
	assert.NotEqual(t, g.Constants[0].Data, g.Constants[2].Data)
	_, err = Encode(g, nil)
	require.ErrorContains(t, err, `constant "a": it holds strings, of which a graph keeps no text`)
}

// What is optional is there in a plan.
func TestOptionals(t *testing.T) {
	m := modelOf([]*onnxpb.NodeProto{nodeOf("", "Optional", []string{"x"}, []string{"o"},
		&onnxpb.AttributeProto{Name: "type", Type: onnxpb.AttributeProto_TYPE_PROTO}),
		nodeOf("", "OptionalGetElement", []string{"o"}, []string{"a"}),
		nodeOf("", "OptionalGetElement", []string{"given"}, []string{"b"}),
		nodeOf("", "OptionalHasElement", []string{"given"}, []string{"there"}),
		nodeOf("", "Where", []string{"there", "a", "b"}, []string{"y"})})
	given := tensorOfFloats("given", 4)
	given.Type = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_OptionalType{
		OptionalType: &onnxpb.TypeProto_Optional{ElemType: given.Type}}}
	m.Graph.Input = append(m.Graph.Input, given)
	c, list := operatorsOf(t, m)
	assert.Contains(t, list[len(list)-1], "Where")
	assert.Equal(t, graph.F32, c.Values[c.Inputs[1]].DType)
	m.Graph.Node[0].Input = nil
	g, err := decoded(t, m)
	require.NoError(t, err)
	_, err = check.Check(g, check.Options{})
	require.ErrorContains(t, err, "it is an optional that is empty, which has no place in a plan")
}
