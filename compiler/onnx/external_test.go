package onnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/onnx/onnxpb"
)

// weightsOf reads four bytes that a model keeps in another file.
func weightsOf(model, location, offset, length string) (graph.Tensor, error) {
	t := &onnxpb.TensorProto{DataType: 2, Dims: []int64{4}, DataLocation: onnxpb.TensorProto_EXTERNAL}
	for key, value := range map[string]string{"location": location, "offset": offset, "length": length} {
		if value != "" {
			t.ExternalData = append(t.ExternalData, &onnxpb.StringStringEntryProto{Key: key, Value: value})
		}
	}
	return (&reader{path: model}).tensor(t)
}

func TestTheLengthOfExternalContentIsThatOfTheTensor(t *testing.T) {
	model := modelIn(t, t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(model), "weights"), make([]byte, 8), 0o600))
	for _, length := range []string{"", "4"} {
		_, err := weightsOf(model, "weights", "4", length)
		assert.NoError(t, err)
	}
	for _, length := range []string{"0", "3", "5", "8", "-4", "x", "4294967300", "18446744073709551620"} {
		_, err := weightsOf(model, "weights", "", length)
		assert.ErrorContains(t, err, "the tensor has 4", length)
	}
	_, err := weightsOf(model, "weights", "9223372036854775807", "4")
	assert.ErrorContains(t, err, "at byte 9223372036854775807")
}

func TestLinksOfExternalContentStayBesideTheModel(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	folder, blobs := filepath.Join(root, "models"), filepath.Join(root, "blobs")
	for _, made := range []string{folder, blobs, filepath.Join(folder, "part")} {
		require.NoError(t, os.Mkdir(made, 0o700))
	}
	write := func(path string) { require.NoError(t, os.WriteFile(path, []byte{1, 2, 3, 4}, 0o600)) }
	link := func(target, path string) { require.NoError(t, os.Symlink(target, path)) }
	write(filepath.Join(folder, "inside"))
	write(filepath.Join(folder, "part", "below"))
	write(filepath.Join(blobs, "blob"))
	write(filepath.Join(root, "secret"))
	model := modelIn(t, folder)
	link("inside", filepath.Join(folder, "within"))
	link(filepath.Join(folder, "within"), filepath.Join(folder, "twice"))
	link(filepath.Join("..", "secret"), filepath.Join(folder, "out"))
	link(filepath.Join(blobs, "blob"), filepath.Join(folder, "cached"))
	link(root, filepath.Join(folder, "up"))
	link("/proc/self/environ", filepath.Join(folder, "proc"))
	link("loop", filepath.Join(folder, "loop"))
	for _, good := range []string{"inside", "within", "twice", "part/below"} {
		got, err := weightsOf(model, good, "", "")
		if assert.NoError(t, err, good) {
			assert.Equal(t, []byte{1, 2, 3, 4}, got.Data)
		}
	}
	for _, bad := range []string{"out", "cached", "up/secret", "proc", "loop", "../secret", filepath.Join(root, "secret"), ""} {
		_, err := weightsOf(model, bad, "", "")
		assert.Error(t, err, bad)
	}
	// A cache has links to model and content in a folder of their names.
	link(modelIn(t, blobs), filepath.Join(folder, "linked.onnx"))
	_, err = weightsOf(filepath.Join(folder, "linked.onnx"), "cached", "", "4")
	assert.NoError(t, err)
	_, err = weightsOf(filepath.Join(folder, "linked.onnx"), "out", "", "4")
	assert.ErrorContains(t, err, "which is not beside the model")
}
