package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/cmd/tl/internal/compile"
	"tlruntime/cmd/tl/internal/npy"
	"tlruntime/compiler/graph"
	"tlruntime/runtime/offsets"
)

// perceptron computes relu(x * w + b); its first axis is a symbol.
const perceptron = `{"tl_graph": 1, "name": "perceptron",
 "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", 2]}],
 "outputs": ["y"],
 "constants": [{"name": "w", "dtype": "f32", "shape": [2, 3], "data": [[1, 0.5, -1], [0, 2, 0.25]]},
               {"name": "b", "dtype": "f32", "shape": [3], "data": [1, 2, 3]}],
 "nodes": [{"name": "fc", "op": "Gemm", "inputs": ["x", "w", "b"], "outputs": ["h"]},
           {"op": "Relu", "inputs": ["h"], "outputs": ["y"]}]}`

// tl runs the command and returns what it printed.
func tl(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(arguments)
	err := root.Execute()
	return out.String(), err
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestPlanWritesWhatItIsAskedFor(t *testing.T) {
	model, folder := write(t, "perceptron.json", perceptron), t.TempDir()
	arguments := []string{"plan", model, "--bind", "batch=4", "--validate"}
	for ending, wanted := range map[string]string{
		"json": `"tl_plan": 1`, "h": "#define", "ll": "define i32 @perceptron(", "svg": "<svg",
		"html": "<!DOCTYPE html>",
	} {
		path := filepath.Join(folder, "plan."+ending)
		out, err := tl(t, append(arguments, "-o", path)...)
		require.NoError(t, err)
		assert.Contains(t, out, "perceptron: 2 operators, 2 instructions")
		assert.Contains(t, out, "(proved)")
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, strings.ToLower(string(content)), strings.ToLower(wanted))
	}
}

// A constant may become an input, or have other content.
func TestConstantsThatAreThawed(t *testing.T) {
	model := write(t, "perceptron.json", perceptron)
	content := filepath.Join(t.TempDir(), "b.npy")
	require.NoError(t, create(content, func(w io.Writer) error {
		return npy.Write(w, graph.NewTensor(graph.F32, []int64{3}))
	}))
	plan := func(arguments ...string) string {
		out, err := tl(t, append([]string{"plan", model, "--bind", "batch=4"}, arguments...)...)
		require.NoError(t, err)
		return out
	}
	assert.Regexp(t, `constants +36 B.*\n +inputs +32 B`, plan())
	assert.Regexp(t, `constants +12 B.*\n +inputs +56 B`, plan("--thaw", "w"))
	assert.Regexp(t, `constants +0 B.*\n +inputs +68 B`, plan("--thaw", "w,b"))
	assert.Regexp(t, `constants +36 B.*\n +inputs +32 B`, plan("--freeze", "b="+content))
	_, err := tl(t, "plan", model, "--bind", "batch=4", "--thaw", "c")
	require.EqualError(t, err, "--thaw c: the model has no constant of that name")
}

// One header says how much memory the function takes and how it is called.
func TestMemoryOfTheCaller(t *testing.T) {
	model, folder := write(t, "perceptron.json", perceptron), t.TempDir()
	header, code := filepath.Join(folder, "plan.h"), filepath.Join(folder, "plan.ll")
	arguments := []string{"plan", model, "--bind", "batch=4", "--caller-memory"}
	_, err := tl(t, append(arguments, "-o", header, "-o", code)...)
	require.NoError(t, err)
	text, err := os.ReadFile(header)
	require.NoError(t, err)
	assert.Contains(t, string(text), "#define PERCEPTRON_FRAME_BYTES 0\n")
	assert.Contains(t, string(text), "#define perceptron_FRAME_BYTES 0\n")
	assert.Contains(t, string(text), "const void* const* constants, void* scratch);")
	text, err = os.ReadFile(code)
	require.NoError(t, err)
	assert.Contains(t, string(text), "ptr %constants, ptr %scratch)")
	assert.NotContains(t, string(text), "@tl_")
	_, err = tl(t, append(arguments, "--slots")...)
	require.ErrorContains(t, err, "[slots caller-memory]")
}

func TestACapacityOfBuffers(t *testing.T) {
	list := write(t, "buffers.csv", "id,lower,upper,size\na,0,2,64\nb,1,3,64\nc,2,4,32\n")
	_, err := tl(t, "plan", list, "--capacity", "128")
	require.NoError(t, err)
	_, err = tl(t, "plan", list, "--capacity", "127")
	require.ErrorContains(t, err, "no frame has less than 128")
}

func TestPlanOfBuffers(t *testing.T) {
	list := write(t, "buffers.csv", "id,lower,upper,size\na,0,2,64\nb,1,3,64\nc,2,4,32\n")
	placed := filepath.Join(t.TempDir(), "placed.csv")
	out, err := tl(t, "plan", list, "--validate", "-o", placed)
	require.NoError(t, err)
	assert.Contains(t, out, "buffers.csv: 3 buffers")
	assert.Contains(t, out, "128")
	content, err := os.ReadFile(placed)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	assert.Equal(t, "id,lower,upper,size,offset", lines[0])
	assert.Len(t, lines, 4)
}

// TestHintsOfAList has places that the search would not find first.
func TestHintsOfAList(t *testing.T) {
	const buffers = "id,lower,upper,size,hint\na,0,2,64,%s\nb,1,3,32,%s\nc,2,4,64,%s\n"
	placed := func(a, b, c string) string {
		to := filepath.Join(t.TempDir(), "placed.csv")
		_, err := tl(t, "plan", write(t, "buffers.csv", fmt.Sprintf(buffers, a, b, c)), "--validate", "-o", to)
		require.NoError(t, err)
		text, err := os.ReadFile(to)
		require.NoError(t, err)
		return string(text)
	}
	hinted := "id,lower,upper,size,offset\na,0,2,64,32\nb,1,3,32,0\nc,2,4,64,32\n"
	assert.Equal(t, hinted, placed("32", "0", "32"))
	assert.NotEqual(t, hinted, placed("-1", "-1", "-1"))
	list := write(t, "slices.json", `{"buffers":[{"name":"a","bytes":64,"first":0,"end":2}],"hints":[1,2]}`)
	_, err := tl(t, "plan", "--slices", list)
	assert.ErrorContains(t, err, "tell all or none")
}

// The columns may stand in any order; what a list has of a buffer is kept, and a list that was written is read.
func TestFurtherColumns(t *testing.T) {
	list := write(t, "buffers.csv", "size,id,upper,lower,alignment,hint,offset,gaps\n"+
		"64,a,9,0,,-1,-1,2-5 6-8\n64,b,5,2,32,7,-1,\n10,c,9,0,16,,64,\n4,d,9,0,16,,,\n")
	problem, err := readBuffers(list)
	require.NoError(t, err)
	require.Equal(t, []offsets.Buffer{
		{Name: "a", Bytes: 64, End: 9, Gaps: []offsets.Interval{{First: 2, End: 5}, {First: 6, End: 8}}},
		{Name: "b", Bytes: 64, Alignment: 32, First: 2, End: 5},
		{Name: "c", Bytes: 10, Alignment: 16, End: 9, Pinned: true, Offset: 64},
		{Name: "d", Bytes: 4, Alignment: 16, End: 9},
	}, problem.Buffers)
	require.Equal(t, []int64{-1, 7, -1, -1}, problem.Hints)
	placed := filepath.Join(t.TempDir(), "placed.csv")
	out, err := tl(t, "plan", list, "--validate", "-o", placed)
	require.NoError(t, err)
	assert.Contains(t, out, "  84  ")
	out, err = tl(t, "plan", placed, "--validate")
	require.NoError(t, err)
	assert.Contains(t, out, "  84  ")
}

// Some lie in others, and a list is a .csv or a .json.
func TestSlices(t *testing.T) {
	list := write(t, "slices.csv", "id,lower,upper,size,alias,alias_offset\n"+
		"whole,0,2,64,,\npart,1,5,16,whole,32\nother,3,4,64,,\n")
	placed := filepath.Join(t.TempDir(), "placed.csv")
	out, err := tl(t, "plan", "--slices", list, "--validate", "-o", placed)
	require.NoError(t, err)
	assert.Contains(t, out, "  128  ") // the whole lasts while its part does
	problem, err := readBuffers(placed)
	require.NoError(t, err)
	at := problem.Buffers
	assert.Equal(t, at[0].Offset+32, at[1].Offset)
	assert.True(t, at[1].Alias && at[1].Base == 0 && at[1].BaseOffset == 32)

	same := write(t, "slices.json", `{"buffers": [{"name": "whole", "bytes": 64, "first": 0, "end": 2},
		{"bytes": 16, "first": 1, "end": 5, "alias": true, "base": 0, "baseOffset": 32},
		{"bytes": 64, "first": 3, "end": 4, "gaps": [], "alignment": 32}]}`)
	out, err = tl(t, "plan", "--slices", same, "--validate")
	require.NoError(t, err)
	assert.Contains(t, out, "  128  ")
	_, err = tl(t, "plan", "--slices", same, "--capacity", "127")
	require.ErrorContains(t, err, "no frame has less than 128")
	for text, says := range map[string]string{
		`{"buffers": [{"size": 1}]}`:      "unknown field",
		`{"buffers": [{"bytes": -1}]}`:    "buffer 0",
		`{"buffers": [], "spaces": [{}]}`: "has spaces of its own",
	} {
		_, err = tl(t, "plan", "--slices", write(t, "bad.json", text), "--capacity", "100")
		require.ErrorContains(t, err, says)
	}
	for text, says := range map[string]string{
		"a,0,1,5,b,\n":            `no buffer has that id`,
		"a,0,1,5,,\na,0,1,5,a,\n": "two buffers have the id",
		"a,0,1,5,a,x\n":           `"x" is no number`,
	} {
		_, err = tl(t, "plan", write(t, "bad.csv", "id,lower,upper,size,alias,alias_offset\n"+text))
		require.ErrorContains(t, err, says)
	}
	spaces := write(t, "spaces.json", `{"buffers": [{"bytes": 9, "end": 2}, {"bytes": 9, "end": 2}],
		"spaces": [{"capacity": 10}, {}]}`)
	out, err = tl(t, "plan", "--slices", spaces, "--validate", "-o", filepath.Join(t.TempDir(), "placed.json"))
	require.NoError(t, err)
	assert.Contains(t, out, "  18  ")
	_, err = tl(t, "plan", "--slices", spaces, "-o", placed)
	require.ErrorContains(t, err, "is written as .json")
	_, err = tl(t, "plan", "--slices", write(t, "list.txt", ""))
	require.ErrorContains(t, err, "a list of slices ends in .csv or .json")
}

func TestErrors(t *testing.T) {
	model := write(t, "perceptron.json", perceptron)
	array := filepath.Join(t.TempDir(), "x.npy")
	var file bytes.Buffer
	require.NoError(t, npy.Write(&file, graph.Tensor{DType: graph.I32, Shape: []int64{1, 2}, Data: make([]byte, 8)}))
	require.NoError(t, os.WriteFile(array, file.Bytes(), 0o600))
	for _, c := range []struct {
		arguments []string
		says      string
	}{
		{[]string{"plan", array}, "ends in .onnx or .json"},
		{[]string{"plan", "model.txt"}, "no such file"},
		{[]string{"plan", "absent.onnx"}, "absent.onnx"},
		{[]string{"plan", model}, `"batch"`},
		{[]string{"plan", model, "--bind", "batch=-1"}, "--bind batch=-1: a symbol is bound to a number from 0"},
		{[]string{"plan", model, "--bind", "batch=1", "-o", "plan.txt"},
			"a plan is written as .json, .h, .ll, .svg or .html"},
		{[]string{"plan", write(t, "bad.csv", "a,b\n1,2\n")}, `a column "a"; id,lower,upper,size are needed`},
		{[]string{"plan", write(t, "bad.csv", "id,lower,size\n1,2,3\n")}, "id,lower,upper,size is needed"},
		{[]string{"plan", write(t, "bad.csv", "id,lower,upper,size,gaps\na,0,9,5,3\n")}, `line 2: the gap "3" is not FIRST-END`},
		{[]string{"plan", write(t, "bad.csv", "id,lower,upper,size,size\na,0,9,5,3\n")}, `a column "size"`},
		{[]string{"plan", write(t, "bad.csv", "id,lower,upper,size\na,0,x,5\n")}, `line 2: "x" is no number`},
		{[]string{"plan", write(t, "bad.csv", "id,lower,upper,size\na,2,1,5\n")}, `buffer 0 ("a")`},
		{[]string{"run", model, "--bind", "batch=1", "--repeat", "0"}, "at least once"},
		{[]string{"run", model, "--bind", "batch=1", "-i", "z=x.npy"}, "no such input; it has x"},
		{[]string{"run", model, "--bind", "batch=1", "-i", "x=x.txt"}, "x.txt"},
		{[]string{"run", model, "--bind", "batch=1", "-i", "x=" + array}, "elements of type i32; the model wants f32"},
		{[]string{"run", model, "--bind", "batch=1", "--compiler", "tcc"}, `no compiler "tcc"`},
		{[]string{"run", model, "--bind", "batch=1", "--runtime", "absent.so"}, "absent.so"},
		{[]string{"export", model, "model.txt"}, "ends in .onnx or .json"},
	} {
		out, err := tl(t, c.arguments...)
		require.Error(t, err, c.arguments)
		assert.Contains(t, err.Error()+out, c.says, c.arguments)
	}
	_, err := os.Stat("plan.txt")
	assert.ErrorIs(t, err, os.ErrNotExist, "what could not be written is not left behind")
}

// A model is the same in both formats, symbols of outputs included.
func TestExport(t *testing.T) {
	model := write(t, "perceptron.json", perceptron)
	folder := t.TempDir()
	onnx, back := filepath.Join(folder, "model.onnx"), filepath.Join(folder, "model.json")
	for _, step := range [][]string{{"export", model, onnx}, {"export", onnx, back}} {
		_, err := tl(t, step...)
		require.NoError(t, err)
	}
	first, err := tl(t, "plan", model, "--bind", "batch=8")
	require.NoError(t, err)
	second, err := tl(t, "plan", back, "--bind", "batch=8")
	require.NoError(t, err)
	assert.Equal(t, strings.Replace(first, "perceptron:", "", 1), strings.Replace(second, "model:", "", 1))
}

// needsRun skips where no model can be run.
func needsRun(t *testing.T) (runtime string) {
	t.Helper()
	runtime, err := filepath.Abs("../../build/libtl_runtime.so")
	require.NoError(t, err)
	if _, err := os.Stat(runtime); err != nil {
		fmt.Println("skip: build/libtl_runtime.so is not built; make lib does it")
		t.Skip("no library")
	}
	if _, err := compile.Find("", os.Getenv("TL_PYTHON")); err != nil {
		fmt.Println("skip:", err)
		t.Skip(err)
	}
	t.Setenv(compile.CacheVariable, t.TempDir())
	return runtime
}

func floats(list ...float32) (data []byte) {
	for _, f := range list {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
	}
	return data
}

// Five rows go through a plan for two at a time: rows of padding are cut off.
func TestRunInParts(t *testing.T) {
	runtime := needsRun(t)
	model, folder := write(t, "perceptron.json", perceptron), t.TempDir()
	var file bytes.Buffer
	given := graph.Tensor{DType: graph.F32, Shape: []int64{5, 2}, Data: floats(0, 0, 1, 0, 0, 1, -1, -1, 2, 4)}
	require.NoError(t, npy.Write(&file, given))
	input := filepath.Join(folder, "x.npy")
	require.NoError(t, os.WriteFile(input, file.Bytes(), 0o600))
	for _, memory := range [][]string{nil, {"--slots"}} {
		out, err := tl(t, append([]string{"run", model, "--bind", "batch=2", "-i", "x=" + input, "-o", folder, "--json",
			"--runtime", runtime}, memory...)...)
		require.NoError(t, err)
		var report result
		require.NoError(t, json.Unmarshal([]byte(out), &report))
		assert.Equal(t, 3, report.Report.Runs)
		assert.Zero(t, report.Report.Allocations)
		assert.Zero(t, report.Report.Mallocs)
		assert.Zero(t, report.Report.LiveBytes)
		content, err := os.Open(filepath.Join(folder, "y.npy"))
		require.NoError(t, err)
		got, err := npy.Read(content)
		require.NoError(t, err)
		require.NoError(t, content.Close())
		assert.Equal(t, []int64{5, 3}, got.Shape)
		assert.Equal(t, floats(1, 2, 3, 2, 2.5, 2, 1, 4, 3.25, 0, 0, 3.75, 3, 11, 2), got.Data)
	}
}

// The same seed makes up the same inputs, another one others.
func TestRunOnRandomInputs(t *testing.T) {
	runtime := needsRun(t)
	model := write(t, "perceptron.json", perceptron)
	outputs := map[string]string{}
	for name, seed := range map[string]string{"first": "1", "again": "1", "other": "2"} {
		out, err := tl(t, "run", model, "--bind", "batch=2", "--random", seed, "--runtime", runtime)
		require.NoError(t, err)
		outputs[name] = out[strings.LastIndex(out, "  y"):]
	}
	assert.Equal(t, outputs["first"], outputs["again"])
	assert.NotEqual(t, outputs["first"], outputs["other"])
}
