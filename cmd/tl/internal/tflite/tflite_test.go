package tflite

import (
	"encoding/binary"
	"slices"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"

	"tlruntime/cmd/tl/internal/tflite/schema"
	"tlruntime/runtime/offsets"
)

// tensor is one of a model that a test makes.
type tensor struct {
	name     string
	shape    []int32
	kind     int8
	content  []byte
	variable bool
}

type operator struct{ inputs, outputs []int32 }

type subgraph struct {
	tensors         []tensor
	operators       []operator
	inputs, outputs []int32
}

func numbers(b *flatbuffers.Builder, list []int32) flatbuffers.UOffsetT {
	b.StartVector(4, len(list), 4)
	for _, n := range slices.Backward(list) {
		b.PrependInt32(n)
	}
	return b.EndVector(len(list))
}

// forward writes offsets in their order.
func forward(b *flatbuffers.Builder, list []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	list = slices.Clone(list)
	slices.Reverse(list)
	return vector(b, list)
}

// build writes a model. Buffer 0 is empty, as always; each tensor with content has one of its own. One entry of
// metadata is there already.
func build(graphs ...subgraph) []byte {
	b := flatbuffers.NewBuilder(0)
	bufferOf := func(content []byte) flatbuffers.UOffsetT {
		data := b.CreateByteVector(content)
		schema.BufferStart(b)
		if content != nil {
			schema.BufferAddData(b, data)
		}
		return schema.BufferEnd(b)
	}
	buffers := []flatbuffers.UOffsetT{bufferOf(nil)}
	var list []flatbuffers.UOffsetT
	for _, g := range graphs {
		var tensors, operators []flatbuffers.UOffsetT
		for _, t := range g.tensors {
			name, shape := b.CreateString(t.name), numbers(b, t.shape)
			buffer := 0
			if t.content != nil {
				buffer = len(buffers)
				buffers = append(buffers, bufferOf(t.content))
			}
			schema.TensorStart(b)
			schema.TensorAddName(b, name)
			schema.TensorAddShape(b, shape)
			schema.TensorAddType(b, t.kind)
			schema.TensorAddBuffer(b, uint32(buffer))
			schema.TensorAddIsVariable(b, t.variable)
			tensors = append(tensors, schema.TensorEnd(b))
		}
		for _, o := range g.operators {
			inputs, outputs := numbers(b, o.inputs), numbers(b, o.outputs)
			schema.OperatorStart(b)
			schema.OperatorAddInputs(b, inputs)
			schema.OperatorAddOutputs(b, outputs)
			operators = append(operators, schema.OperatorEnd(b))
		}
		t, o, inputs, outputs := forward(b, tensors), forward(b, operators), numbers(b, g.inputs), numbers(b, g.outputs)
		schema.SubGraphStart(b)
		schema.SubGraphAddTensors(b, t)
		schema.SubGraphAddOperators(b, o)
		schema.SubGraphAddInputs(b, inputs)
		schema.SubGraphAddOutputs(b, outputs)
		list = append(list, schema.SubGraphEnd(b))
	}
	note := b.CreateString("min_runtime_version")
	schema.MetadataStart(b)
	schema.MetadataAddName(b, note)
	metadata := forward(b, []flatbuffers.UOffsetT{schema.MetadataEnd(b)})
	graphsAt, buffersAt, description := forward(b, list), forward(b, buffers), b.CreateString("a model of a test")
	schema.ModelStart(b)
	schema.ModelAddVersion(b, 3)
	schema.ModelAddSubgraphs(b, graphsAt)
	schema.ModelAddBuffers(b, buffersAt)
	schema.ModelAddDescription(b, description)
	schema.ModelAddMetadata(b, metadata)
	b.FinishWithFileIdentifier(schema.ModelEnd(b), []byte(identifier))
	return b.FinishedBytes()
}

const f32, i8, text, resource = 0, 9, 5, 13

// chain is x -> a -> b -> y, with a weight, a variable, an optional input, a tensor that nobody uses, and one of text.
func chain() subgraph {
	return subgraph{
		tensors: []tensor{
			{name: "x", shape: []int32{1, 10}, kind: f32}, {name: "weight", shape: []int32{4}, kind: f32, content: make([]byte, 16)},
			{name: "a", shape: []int32{1, 33}, kind: i8}, {name: "state", shape: []int32{8}, kind: i8, variable: true},
			{name: "b", shape: []int32{}, kind: f32}, {name: "unused", shape: []int32{5}, kind: f32},
			{name: "words", shape: []int32{2}, kind: text}, {name: "y", shape: []int32{2, 16}, kind: f32},
			{name: "none", shape: []int32{0, 3}, kind: f32},
		},
		operators: []operator{
			{[]int32{0, 1, -1}, []int32{2, 8}}, {[]int32{2, 3}, []int32{4, 6}}, {[]int32{4, 6, 8}, []int32{7}},
		},
		inputs: []int32{0}, outputs: []int32{7},
	}
}

func TestBuffersOfAModel(t *testing.T) {
	m, err := Read(build(chain()))
	require.NoError(t, err)
	require.Equal(t, []offsets.Buffer{
		{Name: "x", Bytes: 48, First: 0, End: 2, Alignment: 16}, {Name: "a", Bytes: 48, First: 1, End: 3, Alignment: 16},
		{Name: "b", Bytes: 16, First: 2, End: 4, Alignment: 16}, {Name: "y", Bytes: 128, First: 3, End: 5, Alignment: 16},
	}, m.Buffers)
	require.Equal(t, 1, m.Online) // words
}

// The interpreter may read one offset for the tensors of one number in all subgraphs.
func TestTensorsOfOtherSubgraphsStayOnline(t *testing.T) {
	body := subgraph{tensors: []tensor{{name: "in", shape: []int32{4}, kind: f32},
		{name: "constant", shape: []int32{1}, kind: f32, content: make([]byte, 4)}, {name: "none", shape: []int32{0}, kind: f32},
		{name: "kept", shape: []int32{1}, kind: resource}, {name: "out", shape: []int32{4}, kind: f32}}}
	m, err := Read(build(chain(), body))
	require.NoError(t, err)
	var names []string
	for _, b := range m.Buffers {
		names = append(names, b.Name)
	}
	require.Equal(t, []string{"a", "y"}, names)
	require.Equal(t, 6, m.Online) // x, b, words; in, kept, out
	require.Equal(t, 14, m.count)
}

// planOf returns the words of the plan in a model, and checks that there is one.
func planOf(t *testing.T, file []byte) (words []int32) {
	t.Helper()
	root, found := schema.GetRootAsModel(file, 0), 0
	var entry schema.Metadata
	for i := range root.MetadataLength() {
		root.Metadata(&entry, i)
		if string(entry.Name()) != planName {
			continue
		}
		found++
		var b schema.Buffer
		require.True(t, root.Buffers(&b, int(entry.Buffer())))
		data := b.DataBytes()
		table := b.Table()
		require.Zero(t, table.Vector(flatbuffers.UOffsetT(table.Offset(4)))%Alignment, "the interpreter reads it in place")
		for ; len(data) > 0; data = data[4:] {
			words = append(words, int32(binary.LittleEndian.Uint32(data)))
		}
	}
	require.Equal(t, 1, found)
	return words
}

// A model with a plan has all that it had; a plan replaces the one before.
func TestAPlanIsWrittenBesideTheRest(t *testing.T) {
	file := build(chain(), subgraph{tensors: []tensor{{name: "c", shape: []int32{1}, kind: f32, content: []byte{1, 2, 3, 4}}}})
	m, err := Read(file)
	require.NoError(t, err)
	planned, err := m.Write([]int64{0, 48, 96, 112})
	require.NoError(t, err)
	require.Equal(t, []int32{1, 0, 10, 0, -1, 48, -1, 96, -1, -1, 112, -1, -1}, planOf(t, planned))
	again, err := Read(planned)
	require.NoError(t, err)
	require.Equal(t, m.Buffers, again.Buffers)
	other, err := again.Write([]int64{112, 64, 0, 16})
	require.NoError(t, err)
	require.Equal(t, []int32{1, 0, 10, 112, -1, 64, -1, 0, -1, -1, 16, -1, -1}, planOf(t, other))
	for _, file := range [][]byte{planned, other} {
		require.Equal(t, identifier, string(file[4:8]))
		root := schema.GetRootAsModel(file, 0)
		require.EqualValues(t, 3, root.Version())
		require.Equal(t, "a model of a test", string(root.Description()))
		require.Equal(t, 2, root.MetadataLength())
		var entry schema.Metadata
		root.Metadata(&entry, 0)
		require.Equal(t, "min_runtime_version", string(entry.Name()))
		var b schema.Buffer
		root.Buffers(&b, 2)
		require.Equal(t, []byte{1, 2, 3, 4}, b.DataBytes())
	}
	_, err = m.Write([]int64{0, 48, 96, 1 << 31})
	require.ErrorContains(t, err, `the arena is larger than 2 GiB: tensor "y" lies at 2147483648`)
}

// No file that was cut or written over ends the program, and a file that is read can be written.
func TestDamagedModels(t *testing.T) {
	file := build(chain(), chain())
	for n := range file {
		if m, err := Read(file[:n]); err == nil {
			_, _ = m.Write(make([]int64, len(m.Buffers)))
		}
		for _, value := range []byte{0, 1, 0x7F, 0xFF} {
			damaged := slices.Clone(file)
			damaged[n] = value
			if m, err := Read(damaged); err == nil {
				_, _ = m.Write(make([]int64, len(m.Buffers)))
			}
		}
	}
	for _, bad := range []struct{ file, message string }{
		{"", "no TensorFlow Lite model"}, {"12345678", "no TensorFlow Lite model"}, {"\xff\xff\xff\x7fTFL3", "no complete"},
		{string(build()), "no subgraph"},
		{string(build(subgraph{inputs: []int32{3}})), "uses tensor 3"},
	} {
		_, err := Read([]byte(bad.file))
		require.ErrorContains(t, err, bad.message)
	}
}
