package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph/ops"
)

// twisted has two operators that nobody knows, and a branch.
const twisted = `{"tl_graph": 1,
 "inputs": [{"name": "x", "dtype": "f32", "shape": ["n", 4]}, {"name": "c", "dtype": "bool", "shape": []}],
 "outputs": ["z"],
 "nodes": [{"op": "Relu", "inputs": ["x"], "outputs": ["a"]},
           {"name": "t1", "op": "com.example.Twist", "inputs": ["a"], "outputs": ["b"], "attrs": {"turns": 2}},
           {"name": "t2", "op": "com.example.Twist", "inputs": ["b"], "outputs": ["d"]},
           {"name": "choice", "op": "If", "inputs": ["c"], "outputs": ["z"], "bodies": {
             "then_branch": {"tl_graph": 1, "outputs": ["p"], "nodes": [
               {"name": "t3", "op": "Bend", "inputs": ["d"], "outputs": ["p"]}], "values": [{"name": "p", "dtype": "f32", "shape": ["n", 4]}]},
             "else_branch": {"tl_graph": 1, "outputs": ["q"], "nodes": [{"op": "Neg", "inputs": ["d"], "outputs": ["q"]}]}}}],
 "values": [{"name": "b", "dtype": "f32", "shape": ["n", 2]}, {"name": "d", "dtype": "f32", "shape": ["n", 4]}]}`

// A model with operators that have no kernel is planned, written in all forms but code, and
// exported; what would run it names all of them.
func TestOperatorsWithoutKernels(t *testing.T) {
	model, folder := write(t, "twisted.json", twisted), t.TempDir()
	for _, form := range []string{"json", "h", "svg", "html"} {
		out, err := tl(t, "plan", model, "--bind", "n=3", "--validate", "-o", folder+"/plan."+form)
		require.NoError(t, err)
		assert.Contains(t, out, "twisted: 4 operators")
		assert.Contains(t, out, "no kernel for 2 operators (3 nodes), so the model cannot be run: Bend (1), "+
			"com.example.Twist (2)")
	}
	for _, arguments := range [][]string{{"plan", model, "--bind", "n=3", "-o", folder + "/plan.ll"},
		{"run", model, "--bind", "n=3"}, {"compile", model, "--bind", "n=3", "-o", folder + "/model.tlm"}} {
		_, err := tl(t, arguments...)
		require.ErrorContains(t, err, `com.example.Twist on f32 (2 nodes, the first is "t1"), Bend on f32 ("t3")`)
		require.ErrorContains(t, err, "`tl operators` lists those that there are")
	}
	onnx, back := folder+"/model.onnx", folder+"/model.json"
	for _, step := range [][]string{{"export", model, onnx}, {"export", onnx, back}} {
		_, err := tl(t, step...)
		require.NoError(t, err)
	}
	first, err := tl(t, "plan", model, "--bind", "n=3")
	require.NoError(t, err)
	second, err := tl(t, "plan", back, "--bind", "n=3")
	require.NoError(t, err)
	assert.Equal(t, strings.Replace(first, "twisted:", "", 1), strings.Replace(second, "model:", "", 1))
}

// Without an interpreter the error says so, and names every value.
func TestTypesThatNobodyTells(t *testing.T) {
	model := write(t, "twisted.json", strings.Split(twisted, ` "values": [{"name": "b"`)[0][:len(strings.Split(twisted,
		` "values": [{"name": "b"`)[0])-2]+"}")
	_, err := tl(t, "plan", model, "--bind", "n=3", "--python", "no-such-interpreter")
	for _, says := range []string{`"b" of node "t1"`, `"d" of node "t2"`, "no-such-interpreter", "value_info"} {
		require.ErrorContains(t, err, says)
	}
}

func TestListOfOperators(t *testing.T) {
	out, err := tl(t, "operators")
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 1+len(ops.Operators())+len(ops.Runners()))
	assert.Regexp(t, `(?m)^Exp +yes +f32 f64 f16 bf16$`, out)
	assert.Regexp(t, `(?m)^Loop +yes +`, out)
	assert.Regexp(t, `(?m)^Concat +yes +f32 .* string `, out)
	assert.Regexp(t, `(?m)^Flatten +becomes Reshape +`, out)
	out, err = tl(t, "operators", "--json", "Clip", "Flatten")
	require.NoError(t, err)
	var list []operatorForm
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list, 2)
	assert.Equal(t, []string{"input T", "min T?!", "max T?!"}, list[0].Inputs)
	assert.Contains(t, list[0].Kernel, "f32")
	assert.Contains(t, list[0].Types["T"], "u64")
	assert.Empty(t, list[1].Kernel)
	assert.Equal(t, "Reshape.", list[1].Becomes)
	_, err = tl(t, "operators", "Twist")
	assert.ErrorContains(t, err, `there is no operator "Twist" here`)
}
