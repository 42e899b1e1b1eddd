package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph/check"
)

const batchedScan = `"opset": 8, "inputs": [{"name": "x", "dtype": "f32", "shape": [4, 3, 2]},
	{"name": "start", "dtype": "f32", "shape": [4, 2]}], "outputs": ["sum", "sums"], "nodes": [
	{"name": "scan", "op": "Scan", "inputs": ["", "start", "x"], "outputs": ["sum", "sums"],
		"attrs": {"num_scan_inputs": 1, "directions": [1]}, "bodies": {
			"body": {"tl_graph": 1, "inputs": ["s", "row"], "outputs": ["t", "t"], "nodes": [
				{"op": "Add", "inputs": ["s", "row"], "outputs": ["t"]}]}}}]`

// Before operator set 9 a Scan went over samples by itself.
func TestOldScans(t *testing.T) {
	c, err := check.Check(readGraph(t, batchedScan), check.Options{})
	require.NoError(t, err)
	require.Equal(t, "scan", nodeNames(c))
	assert.Equal(t, []int64{4, 2}, c.Values[c.Outputs[0]].Shape)
	assert.Equal(t, []int64{4, 3, 2}, c.Values[c.Outputs[1]].Shape)
	one := c.Nodes[0].Bodies[0].Graph.Nodes[0]
	assert.Equal(t, "Scan", one.Op)
	assert.Equal(t, []int64{1}, one.Attrs.Ints("scan_input_directions"))
	_, err = check.Check(readGraph(t, batchedScan[:len(batchedScan)-1]+`, {"name": "n", "op": "Scan", "inputs": ["sum", "start", "x"],
		"outputs": ["z"], "attrs": {"num_scan_inputs": 1}}]`), check.Options{})
	require.EqualError(t, err, `node "n" (Scan): the model is of operator set 8, and it has sequence_lens, or no input; `+
		"leave sequence_lens out, or convert the model (onnx.version_converter)")
}

func TestScanDirections(t *testing.T) {
	_, err := check.Check(readGraph(t, sample+`"outputs": ["y"], "nodes": [{"name": "n", "op": "Scan", "inputs": ["x"],
		"outputs": ["y"], "attrs": {"num_scan_inputs": 1, "scan_output_directions": [2]},
		"bodies": {"body": `+inner(`"v"`, `"v"`, "")+`}}]`), check.Options{})
	require.EqualError(t, err, `node "n" (Scan): its attribute "scan_output_directions" has 2; use 0, or 1 to go backwards`)
}
