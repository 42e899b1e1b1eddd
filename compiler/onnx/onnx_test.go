package onnx

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"tlruntime/compiler/content"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/onnx/onnxpb"
)

func tensorOf(t *rapid.T, label string) graph.Tensor {
	d := rapid.SampledFrom([]graph.DType{graph.F32, graph.F64, graph.I64, graph.Bool, graph.F16, graph.BF16}).Draw(t,
		label+" dtype")
	shape := rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 3).Draw(t, label+" shape")
	bytes := int(graph.Elements(shape) * d.Bytes())
	return graph.Tensor{DType: d, Shape: shape, Data: rapid.SliceOfN(rapid.Byte(), bytes, bytes).Draw(t, label)}
}

// A graph comes back from a model as it went in.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attrs := graph.Attrs{"i": int64(-3), "f": 0.5, "s": "text", "is": []int64{1, -2}, "fs": []float64{0.25, 2},
			"ss": []string{"a", ""}, "t": tensorOf(t, "attribute")}
		in := &graph.Graph{
			Name: "g", Opset: rapid.Int64Range(1, Newest).Draw(t, "opset"), Domains: map[string]int64{"com.example": 3},
			Inputs:    []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Symbol: "N"}, {Size: 3}}}},
			Outputs:   []string{"y"},
			Constants: []graph.Constant{{Name: "c", Tensor: tensorOf(t, "constant")}},
			Nodes: []graph.Node{{Name: "n", Op: "Sub", Inputs: []string{"x", "", "c"}, Outputs: []string{"y"},
				Attrs: attrs}, {Op: "com.example.Twist", Inputs: []string{"y"}, Outputs: []string{"z"}, Attrs: graph.Attrs{},
				Bodies: []graph.Body{{Name: "turn", Graph: body()}}}},
			Declared: []graph.Declaration{
				{Value: graph.Value{Name: "z", DType: graph.I8, Shape: []graph.Dim{{Symbol: "z.0"}}}},
				{Value: graph.Value{Name: "y", DType: graph.F32, Shape: []graph.Dim{{Symbol: "N"}}}}},
		}
		model, err := Encode(in, []graph.Value{{Name: "y", DType: graph.F32, Shape: []graph.Dim{{Symbol: "N"}}}})
		require.NoError(t, err)
		out, err := Decode(model)
		require.NoError(t, err)
		normalise(in)
		normalise(out)
		assert.Equal(t, in, out)
	})
}

func body() *graph.Graph {
	return &graph.Graph{Name: "inner", Inputs: []graph.Value{{Name: "i"}, {Name: "j"}}, Outputs: []string{"k"},
		Nodes: []graph.Node{{Op: "Add", Inputs: []string{"i", "x"}, Outputs: []string{"k"}, Attrs: graph.Attrs{}}},
		Declared: []graph.Declaration{
			{Value: graph.Value{Name: "j", DType: graph.I64, Shape: []graph.Dim{{Size: 2}}}},
			{Value: graph.Value{Name: "k", DType: graph.F32, Shape: []graph.Dim{{Symbol: "N"}}}}}}
}

// A tensor comes back from a file as it went in.
func TestTensorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := tensorOf(t, "tensor")
		var file bytes.Buffer
		require.NoError(t, WriteTensor(&file, in))
		out, err := ReadTensor(&file)
		require.NoError(t, err)
		assert.Equal(t, in.DType, out.DType)
		assert.Equal(t, append([]int64{}, in.Shape...), out.Shape)
		assert.Equal(t, append([]byte{}, in.Data...), append([]byte{}, out.Data...))
	})
	require.ErrorContains(t, WriteTensor(&bytes.Buffer{}, graph.Tensor{DType: 99}), "there is no element type 99")
}

// normalise makes empty and absent slices the same.
func normalise(g *graph.Graph) {
	fix := func(t graph.Tensor) graph.Tensor {
		return graph.Tensor{DType: t.DType, Shape: append([]int64{}, t.Shape...), Data: append([]byte{}, t.Data...)}
	}
	for i := range g.Constants {
		g.Constants[i].Tensor = fix(g.Constants[i].Tensor)
	}
	g.Nodes[0].Attrs["t"] = fix(g.Nodes[0].Attrs["t"].(graph.Tensor))
}

// The repeated fields hold the same content as raw bytes do.
func TestTypedContent(t *testing.T) {
	for _, c := range []struct {
		name string
		t    *onnxpb.TensorProto
		want []byte
	}{
		{"f32", &onnxpb.TensorProto{DataType: 1, Dims: []int64{2}, FloatData: []float32{1, -2}},
			[]byte{0, 0, 128, 63, 0, 0, 0, 192}},
		{"f64", &onnxpb.TensorProto{DataType: 11, DoubleData: []float64{1}}, []byte{0, 0, 0, 0, 0, 0, 240, 63}},
		{"i64", &onnxpb.TensorProto{DataType: 7, Dims: []int64{1}, Int64Data: []int64{-2}},
			[]byte{254, 255, 255, 255, 255, 255, 255, 255}},
		{"i32", &onnxpb.TensorProto{DataType: 6, Dims: []int64{1}, Int32Data: []int32{-2}}, []byte{254, 255, 255, 255}},
		{"u8", &onnxpb.TensorProto{DataType: 2, Dims: []int64{2}, Int32Data: []int32{1, 255}}, []byte{1, 255}},
		{"bool", &onnxpb.TensorProto{DataType: 9, Dims: []int64{2}, Int32Data: []int32{0, 1}}, []byte{0, 1}},
		{"f16", &onnxpb.TensorProto{DataType: 10, Dims: []int64{1}, Int32Data: []int32{0x3c00}}, []byte{0, 0x3c}},
		{"u32", &onnxpb.TensorProto{DataType: 12, Dims: []int64{1}, Uint64Data: []uint64{0xfffffffe}},
			[]byte{254, 255, 255, 255}},
	} {
		content, err := proto.Marshal(c.t)
		require.NoError(t, err)
		got, err := ReadTensor(bytes.NewReader(content))
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, got.Data, c.name)
	}
}

// modelIn writes an empty file where a model stands.
func modelIn(t *testing.T, folder string) string {
	path := filepath.Join(folder, "model.onnx")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

func TestExternalContent(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "weights"), []byte{9, 9, 1, 2, 3, 4}, 0o600))
	path := modelIn(t, folder)
	external := func(location, offset string) (graph.Tensor, error) {
		return (&reader{path: path}).tensor(&onnxpb.TensorProto{
			DataType: 2, Dims: []int64{4}, DataLocation: onnxpb.TensorProto_EXTERNAL,
			ExternalData: []*onnxpb.StringStringEntryProto{{Key: "location", Value: location},
				{Key: "offset", Value: offset}},
		})
	}
	got, err := external("weights", "2")
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 2, 3, 4}, got.Data)
	for _, bad := range [][2]string{{"weights", "3"}, {"weights", "-1"}, {"weights", "x"}, {"../weights", "0"},
		{"/etc/passwd", "0"}, {"absent", ""}} {
		_, err := external(bad[0], bad[1])
		assert.Error(t, err, bad)
	}
}

// A model of strangers may name any file beside it: a pipe has no writer, a file may be longer than memory, and many
// constants may be one part of it.
func TestExternalContentIsNoPipeAndNotMoreThanMemory(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, unix.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "sparse"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(folder, "sparse"), 1<<40))
	r := reader{path: modelIn(t, folder), room: func(bytes uint64) bool { return bytes <= 64 }}
	external := func(location string, elements int64) (graph.Tensor, error) {
		return r.tensor(&onnxpb.TensorProto{DataType: 2, Dims: []int64{elements},
			DataLocation: onnxpb.TensorProto_EXTERNAL,
			ExternalData: []*onnxpb.StringStringEntryProto{{Key: "location", Value: location}}})
	}
	_, err := external("pipe", 4)
	assert.ErrorContains(t, err, "no file with content")
	_, err = external("sparse", 1<<40)
	var refused *content.MemoryError
	require.ErrorAs(t, err, &refused)
	assert.EqualValues(t, 1<<40, refused.Bytes)
	one, err := external("sparse", 64)
	require.NoError(t, err)
	another, err := external("sparse", 64)
	require.NoError(t, err)
	assert.Same(t, &one.Data[0], &another.Data[0])
}

func TestWhatIsRefused(t *testing.T) {
	node := func(n *onnxpb.NodeProto) *onnxpb.ModelProto {
		return &onnxpb.ModelProto{Graph: &onnxpb.GraphProto{Node: []*onnxpb.NodeProto{n}}}
	}
	for _, c := range []struct {
		model *onnxpb.ModelProto
		says  string
	}{
		{&onnxpb.ModelProto{}, "it holds no graph"},
		{&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{}, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 99}}},
			"version 99"},
		{node(&onnxpb.NodeProto{OpType: "If", Attribute: []*onnxpb.AttributeProto{{Name: "branches", Type: 10}}}),
			`node 0 (If): attribute "branches": its type is GRAPHS`},
		{node(&onnxpb.NodeProto{OpType: "If", Attribute: []*onnxpb.AttributeProto{{Name: "then_branch", Type: 5,
			G: &onnxpb.GraphProto{SparseInitializer: []*onnxpb.SparseTensorProto{{}}}}}}),
			`node 0 (If): then_branch: 1 constants are sparse tensors`},
		{node(&onnxpb.NodeProto{OpType: "Relu"}), "there is no opset_import for the domain of Relu"},
		{&onnxpb.ModelProto{IrVersion: 8, Graph: &onnxpb.GraphProto{Node: []*onnxpb.NodeProto{{OpType: "Relu"}}}},
			"a model of IR version 8 needs one"},
		{&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{}, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 9},
			{Domain: "ai.onnx", Version: 10}}}, "has two entries in opset_import, versions 9 and 10"},
		{&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{{Name: "x"}, {Name: "x"}},
			Initializer: []*onnxpb.TensorProto{{Name: "x", DataType: 1, Dims: []int64{0}}}}},
			`inputs 0 and 1 are both called "x"`},
		{&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{Initializer: []*onnxpb.TensorProto{{Name: "c", DataType: 14}}}},
			`constant "c": elements of type COMPLEX64`},
		{&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{Initializer: []*onnxpb.TensorProto{{Name: "c", DataType: 1,
			Dims: []int64{3}}}}}, "0 bytes of content where f32 of shape [3] has 12"},
		{&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{Initializer: []*onnxpb.TensorProto{{Name: "c", DataType: 1,
			Dims: []int64{1 << 40, 1 << 40}}}}}, "no shape of a tensor"},
		{&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{SparseInitializer: []*onnxpb.SparseTensorProto{{}}}},
			"sparse tensors"},
		{&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{{Name: "x"}}}},
			`input "x": it is no tensor`},
		{&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{{Name: "x",
			Type: &onnxpb.TypeProto{
				Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: 1}}}}}}},
			`input "x": its shape is not declared`},
	} {
		content, err := proto.Marshal(c.model)
		require.NoError(t, err)
		_, err = Decode(content)
		assert.ErrorContains(t, err, c.says)
	}
	_, err := Decode([]byte("no protobuf"))
	assert.ErrorContains(t, err, "this is no ONNX model")
}

// Models older than operator sets name none, and mean the first.
func TestModelsBeforeOperatorSets(t *testing.T) {
	content, err := proto.Marshal(&onnxpb.ModelProto{IrVersion: 2, Graph: &onnxpb.GraphProto{
		Node: []*onnxpb.NodeProto{{OpType: "Relu", Input: []string{"x"}, Output: []string{"y"}}}}})
	require.NoError(t, err)
	g, err := Decode(content)
	require.NoError(t, err)
	assert.EqualValues(t, 1, g.Opset)
}

// Models of others can be read; their nodes and inputs are all there.
func TestModels(t *testing.T) {
	folder := os.Getenv("TL_TEST_DATA")
	if folder == "" {
		fmt.Println("skip: TL_TEST_DATA names no folder with models")
		t.Skip("TL_TEST_DATA names no folder with models")
	}
	for name, nodes := range map[string]int{"light_densenet121": 1746, "light_squeezenet": 105, "mnist": 12,
		"ultraface_rfb320": 110} {
		g, err := Read(filepath.Join(folder, "onnx", name+".onnx"), nil)
		require.NoError(t, err)
		assert.Len(t, g.Nodes, nodes)
		assert.Len(t, g.Inputs, 1)
	}
}

// No input can do more than be refused.
func FuzzDecode(f *testing.F) {
	model, err := Encode(&graph.Graph{Name: "g", Outputs: []string{"x"},
		Inputs: []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Size: 2}}}}}, nil)
	require.NoError(f, err)
	f.Add(model)
	f.Fuzz(func(_ *testing.T, content []byte) { _, _ = Decode(content) })
}
