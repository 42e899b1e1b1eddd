package models_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/content"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/models"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/tests_go/problems"
	"tlruntime/tests_go/problems/graphs"
)

// rows is a graph whose output grows with its symbol.
func rows() *graph.Graph {
	return &graph.Graph{Name: "rows",
		Inputs:  []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Symbol: "n"}, {Size: 3}}}},
		Outputs: []string{"y"},
		Nodes: []graph.Node{
			{Op: "Transpose", Inputs: []string{"x"}, Outputs: []string{"t"}, Attrs: graph.Attrs{"perm": []int64{1, 0}}},
			{Op: "Relu", Inputs: []string{"t"}, Outputs: []string{"y"}},
		},
	}
}

func TestFilesKeepTheGraph(t *testing.T) {
	for _, name := range []string{"model.json", "model.ONNX"} {
		path := filepath.Join(t.TempDir(), name)
		content, err := models.Encode(rows(), path, check.Options{})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, content, 0o644))
		read, err := models.Read(path, nil)
		require.NoError(t, err)
		assert.Equal(t, "rows", read.Name)
		assert.Equal(t, rows().Inputs, read.Inputs)
		assert.Equal(t, rows().Nodes[0].Attrs, read.Nodes[0].Attrs)
		loaded, err := models.Load(path, nil)
		require.NoError(t, err)
		assert.Equal(t, "model", loaded.Name)
	}
}

func TestOutputsOfONNXHaveSymbols(t *testing.T) {
	content, err := models.Encode(rows(), "x.onnx", check.Options{})
	require.NoError(t, err)
	assert.True(t, bytes.Count(content, []byte("\x01n")) >= 2, "the symbol n is in the input and in the output")
	options := check.Options{Bind: map[string]int64{"n": 5}}
	c, err := check.Check(rows(), options)
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"", "n"}}, models.Symbolic(rows(), options, c))
}

func TestWhatIsNoModel(t *testing.T) {
	folder := t.TempDir()
	damaged := filepath.Join(folder, "damaged.json")
	require.NoError(t, os.WriteFile(damaged, []byte("{"), 0o644))
	text := filepath.Join(folder, "model.txt")
	require.NoError(t, os.WriteFile(text, nil, 0o644))
	for path, words := range map[string]string{
		text:                                  "ends in .onnx or .json",
		folder:                                "is a folder",
		filepath.Join(folder, "missing"):      "no such file",
		filepath.Join(folder, "missing.json"): "no such file",
		filepath.Join(folder, "missing.onnx"): "no such file",
		damaged:                               damaged + ": line 1",
	} {
		_, err := models.Load(path, nil)
		assert.ErrorContains(t, err, words)
	}
	_, err := models.Parse(nil, "yaml", nil)
	assert.ErrorContains(t, err, "there are onnx and json")
	_, err = models.Encode(rows(), "model.txt", check.Options{})
	assert.ErrorContains(t, err, "ends in .onnx or .json")
}

// A value of JSON takes many times what its digits do.
func TestNumbersOfJSONNeedRoomForEach(t *testing.T) {
	text := []byte(`{"tl_graph": 1, "outputs": ["` + strings.Repeat(`", "`, 1000) + `"]}`)
	_, err := models.Parse(text, "json", func(bytes uint64) bool { return bytes < 100*uint64(len(text)) })
	var refused *content.MemoryError
	require.ErrorAs(t, err, &refused)
	_, err = models.Parse(text, "json", func(bytes uint64) bool { return bytes < 150*uint64(len(text)) })
	require.NoError(t, err)
}

// A capacity is obeyed or refused; without one the plan is the planner's.
func TestPlansFitTheCapacity(t *testing.T) {
	c, err := check.Check(rows(), check.Options{Bind: map[string]int64{"n": 5}})
	require.NoError(t, err)
	placed := plan.Options{PlaceInputs: true}
	free, err := models.Plan(c, remat.Options{Plan: placed})
	require.NoError(t, err)
	assert.Empty(t, free.Again)
	assert.Positive(t, free.Cost, "time is told without a capacity, too")
	assert.Equal(t, free.Given, free.Cost)
	fits, err := models.Plan(c, remat.Options{Plan: placed, Capacity: free.Plan.Frame.Bytes})
	require.NoError(t, err)
	assert.Equal(t, free.Plan.Frame.Bytes, fits.Plan.Frame.Bytes)
	placed.Budget = time.Minute
	fits, err = models.Plan(c, remat.Options{Plan: placed, Capacity: free.Plan.Frame.Bytes})
	require.NoError(t, err)
	assert.Equal(t, free.Cost, fits.LeastCost)
	placed.Budget = 0
	_, err = models.Plan(c, remat.Options{Plan: placed, Capacity: 1})
	var refused *remat.CapacityError
	assert.ErrorAs(t, err, &refused)
}

// A plan that fits as it is has the time that was given for better offsets.
func TestABudgetBesideACapacityIsUsed(t *testing.T) {
	c, err := check.Check(graphs.Of(problems.Packing(1, 250, 0.97)), check.Options{})
	require.NoError(t, err)
	o := remat.Options{Plan: plan.Options{NoReorder: true}, Capacity: 1 << 40}
	for _, o.Plan.Budget = range []time.Duration{time.Millisecond, time.Second} {
		began := time.Now()
		r, err := models.Plan(c, o)
		require.NoError(t, err)
		assert.True(t, r.Plan.Frame.Optimal || time.Since(began) >= o.Plan.Budget, "the time is used")
		assert.Empty(t, r.Again)
	}
}

// Two constants that are equal for one number of a symbol alone do not tie a plan to that number.
func TestConstantsThatAreEqualForOneNumber(t *testing.T) {
	value := func(name string, first graph.Dim) graph.Value {
		return graph.Value{Name: name, DType: graph.F32, Shape: []graph.Dim{first, {Size: 2}}}
	}
	g := &graph.Graph{Inputs: []graph.Value{value("x", graph.Dim{Symbol: "n"}), value("z", graph.Dim{Size: 8})},
		Constants: []graph.Constant{{Name: "eight", Tensor: graph.NewTensor(graph.F32, []int64{8, 2})}},
		Outputs:   []string{"a", "b"}, Nodes: []graph.Node{{Op: "Shape", Inputs: []string{"x"}, Outputs: []string{"shape"}},
			{Op: "ConstantOfShape", Inputs: []string{"shape"}, Outputs: []string{"zeros"}},
			{Op: "Add", Inputs: []string{"x", "zeros"}, Outputs: []string{"a"}},
			{Op: "Add", Inputs: []string{"z", "eight"}, Outputs: []string{"b"}}}}
	r, err := models.PlanSymbolic(g, check.Options{Bind: map[string]int64{"n": 8}}, remat.Options{})
	require.NoError(t, err)
	assert.Equal(t, []plan.Symbol{{Name: "n", From: 0, To: 8}}, r.Plan.Symbolic.Symbols)
}
