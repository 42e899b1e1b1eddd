package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"tlruntime/compiler/onnx/onnxpb"
)

// withConstantsOutside writes a chain of operators there and back, as thereAndBack, that adds a constant of the file
// "weights" beside it.
func withConstantsOutside(t *testing.T, folder string) (model, weights string) {
	weights = filepath.Join(folder, "weights")
	require.NoError(t, os.WriteFile(weights, make([]byte, 4*64*64), 0o600))
	at := func(i int) string { return fmt.Sprint("v", i) }
	g := &onnxpb.GraphProto{
		Name: "outside",
		Initializer: []*onnxpb.TensorProto{{Name: "w", DataType: 1, Dims: []int64{64, 64},
			DataLocation: onnxpb.TensorProto_EXTERNAL,
			ExternalData: []*onnxpb.StringStringEntryProto{{Key: "location", Value: "weights"}}}},
		Node: []*onnxpb.NodeProto{{OpType: "Tanh", Input: []string{"w"}, Output: []string{at(1)}}},
	}
	for i := 1; i < 8; i++ {
		g.Node = append(g.Node, &onnxpb.NodeProto{OpType: "Tanh", Input: []string{at(i)}, Output: []string{at(i + 1)}})
	}
	for i := 7; i > 0; i-- {
		g.Node = append(g.Node, &onnxpb.NodeProto{OpType: "Add", Input: []string{at(15 - i), at(i)},
			Output: []string{at(15 - i + 1)}})
	}
	g.Output = []*onnxpb.ValueInfoProto{{Name: at(15)}}
	data, err := proto.Marshal(&onnxpb.ModelProto{IrVersion: 8, Graph: g,
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: 17}}})
	require.NoError(t, err)
	model = filepath.Join(folder, "outside.onnx")
	require.NoError(t, os.WriteFile(model, data, 0o600))
	return model, weights
}

// What a user names as the file of moved values is no file that the model's constants, or a frozen input, come from.
func TestASpillFileIsNoFileOfConstants(t *testing.T) {
	runtime, folder := needsRun(t), t.TempDir()
	model, weights := withConstantsOutside(t, folder)
	run := func(flags ...string) error {
		_, err := tl(t, append([]string{"run", model, "--runtime", runtime, "--capacity", "48KiB", "--spill=900GB"},
			flags...)...)
		return err
	}
	before, err := os.ReadFile(weights)
	require.NoError(t, err)
	assert.ErrorContains(t, run("--spill-file", weights), weights+" is read, and")
	frozen := write(t, "frozen.npy", "")
	assert.ErrorContains(t, run("--spill-file", frozen, "--freeze", "x="+frozen), frozen+" is read, and")
	after, err := os.ReadFile(weights)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	require.NoError(t, run("--spill-file", filepath.Join(folder, "spilled")))
	assert.FileExists(t, filepath.Join(folder, "spilled"))
}
