package npy

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []graph.DType{graph.F32, graph.F64, graph.F16, graph.I8, graph.I16, graph.I32, graph.I64, graph.U8,
			graph.U16,
			graph.U32, graph.U64, graph.Bool}
		in := graph.Tensor{DType: rapid.SampledFrom(all).Draw(t, "dtype"), Shape: rapid.SliceOfN(rapid.Int64Range(0, 5),
			0, 4).Draw(t, "shape")}
		n := int(graph.Elements(in.Shape) * in.DType.Bytes())
		in.Data = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")
		var file bytes.Buffer
		require.NoError(t, Write(&file, in))
		assert.Zero(t, (file.Len()-n)%64, "content begins at a multiple of 64")
		out, err := Read(&file)
		require.NoError(t, err)
		assert.Equal(t, in.DType, out.DType)
		assert.Equal(t, append([]int64{}, in.Shape...), out.Shape)
		assert.Equal(t, append([]byte{}, in.Data...), append([]byte{}, out.Data...))
	})
}

func file(version byte, header, content string) []byte {
	b := append([]byte(magic), version, 0, byte(len(header)), 0)
	if version > 1 {
		b = append(b, 0, 0)
	}
	return append(b, header+content...)
}

func TestWhatNumPyWrites(t *testing.T) {
	for _, version := range []byte{1, 2, 3} {
		got, err := Read(bytes.NewReader(file(version, "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }  \n",
			"\x01\x00\xff\xff")))
		require.NoError(t, err)
		assert.Equal(t, graph.Tensor{DType: graph.I16, Shape: []int64{2}, Data: []byte{1, 0, 255, 255}}, got)
	}
	got, err := Read(bytes.NewReader(file(1, "{'descr': '|b1', 'fortran_order': True, 'shape': (), }\n", "\x01")))
	require.NoError(t, err)
	assert.Equal(t, graph.Tensor{DType: graph.Bool, Shape: []int64{}, Data: []byte{1}}, got)
}

func TestWhatIsRefused(t *testing.T) {
	for content, says := range map[string]string{
		"":       "no array in NumPy's file format",
		"PK\x03": "no array in NumPy's file format",
		string(file(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (0,), }\n",
			"")): "type >f4 are not supported",
		string(file(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (0,), }\n",
			"")): "type <c8 are not supported",
		string(file(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }\n",
			"abcd")): "column by column",
		string(file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n",
			"abcd")): "has 4 bytes of content; f32 of shape [2] has 8",
		string(file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n",
			"")): "is not understood",
		string(file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999, 999999999), }",
			"")): "no shape of an array",
		string(file(1,
			"{'descr'", "")[:9]): "header is cut off",
	} {
		_, err := Read(bytes.NewReader([]byte(content)))
		assert.ErrorContains(t, err, says)
	}
	assert.ErrorContains(t, Write(&bytes.Buffer{}, graph.Tensor{DType: graph.BF16}), "no elements of type bf16")
}

// No input can do more than be refused.
func FuzzRead(f *testing.F) {
	f.Add(file(1, "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", "abcd"))
	f.Fuzz(func(_ *testing.T, content []byte) { _, _ = Read(bytes.NewReader(content)) })
}
