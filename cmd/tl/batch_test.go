package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/cmd/tl/internal/npy"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// rowsOf is a file of so many rows of two numbers.
func rowsOf(rows int64) graph.Tensor {
	return graph.Tensor{DType: graph.F32, Shape: []int64{rows, 2}, Data: make([]byte, rows*8)}
}

// Files of one symbol have the same number of rows; those of different symbols make
// the same number of samples.
func TestRowsOfSeveralInputs(t *testing.T) {
	type file struct {
		symbol string
		rows   int64
	}
	for _, c := range []struct {
		files   []file
		samples int
		says    string
	}{
		{[]file{{"N", 4}, {"N", 4}}, 1, ""},
		{[]file{{"N", 7}, {"N", 7}}, 2, ""},
		{[]file{{"N", 4}, {"N", 8}}, 0, "8 rows, that of another input 4; both are of the symbol N"},
		{[]file{{"N", 8}, {"N", 4}}, 0, "4 rows, that of another input 8"},
		{[]file{{"N", 3}, {"N", 4}}, 0, "4 rows, that of another input 3"},
		{[]file{{"N", 0}}, 0, "no sample"},
		{[]file{{"N", 7}, {"M", 5}}, 2, ""},
		{[]file{{"N", 4}, {"M", 8}}, 2, ""},
		{[]file{{"N", 3}, {"M", 4}}, 1, ""},
		{[]file{{"N", 3}, {"M", 8}}, 0, "3 rows of the symbol N, which is 1 samples of 4, and 2 samples of others"},
		{[]file{{"N", 12}, {"M", 8}}, 0, "2 samples, that of another input 3"},
		{[]file{{"", 4}, {"M", 8}}, 2, ""},
		{[]file{{"", 8}}, 0, "the file has shape [8 2]; the model wants [4 2]"},
	} {
		b := &batch{samples: 1, rows: map[string]int64{}}
		var err error
		for _, f := range c.files {
			if err == nil {
				_, err = b.add(rowsOf(f.rows), &plan.Buffer{DType: graph.F32, Shape: []int64{4, 2}, Bytes: 32},
					f.symbol)
			}
		}
		if err == nil {
			err = b.even(map[string]int64{"N": 4, "M": 4})
		}
		if c.says != "" {
			assert.ErrorContains(t, err, c.says, c.files)
			continue
		}
		require.NoError(t, err, c.files)
		assert.Equal(t, c.samples, b.samples, c.files)
	}
}

// A cache that is empty at first: its symbol is bound to 0, and each run has all of its rows.
func TestRowsOfASymbolThatIsZero(t *testing.T) {
	b := &batch{samples: 1, rows: map[string]int64{}}
	buffer := func(rows int64) *plan.Buffer {
		return &plan.Buffer{DType: graph.F32, Shape: []int64{rows, 2}, Bytes: 8 * rows}
	}
	past, err := b.add(rowsOf(0), buffer(0), "P")
	require.NoError(t, err)
	require.Empty(t, past)
	_, err = b.add(rowsOf(7), buffer(4), "N")
	require.NoError(t, err)
	require.NoError(t, b.even(map[string]int64{"P": 0, "N": 4}))
	require.Equal(t, 2, b.samples)
	_, err = b.add(rowsOf(3), buffer(0), "Q")
	require.ErrorContains(t, err, "the file has shape [3 2]; the model wants [0 2]")

	out, err := tl(t, "plan", write(t, "perceptron.json", perceptron), "--bind", "batch=0")
	require.NoError(t, err)
	require.Contains(t, out, "0 B")
}

// Each output loses the padding of the symbol that its own rows follow.
func TestTrimBySymbol(t *testing.T) {
	b := &batch{samples: 2, rows: map[string]int64{"N": 7, "M": 5, "K": 4}}
	out := graph.Tensor{DType: graph.U8, Shape: []int64{2, 4}, Data: []byte{0, 1, 2, 3, 4, 5, 6, 7}}
	assert.Equal(t, graph.Tensor{DType: graph.U8, Shape: []int64{7}, Data: out.Data[:7]}, b.trim(out, []string{"N"}))
	assert.Equal(t, graph.Tensor{DType: graph.U8, Shape: []int64{5}, Data: out.Data[:5]}, b.trim(out, []string{"M"}))
	assert.Equal(t, out, b.trim(out, []string{"K"}), "whole in both samples")
	assert.Equal(t, out, b.trim(out, []string{""}))
}

// What no machine holds is an error before anything is made.
func TestRunOfHugeModel(t *testing.T) {
	model := write(t, "perceptron.json", perceptron)
	for _, rows := range []string{"1000000000000", "9000000000000"} {
		_, err := tl(t, "run", model, "--bind", "batch="+rows)
		assert.ErrorContains(t, err, "bind or declare smaller extents", rows)
	}
}

// Where the library is nowhere, the error says how to name it.
func TestRunWithoutLibrary(t *testing.T) {
	needsRun(t)
	t.Setenv("TL_RUNTIME_LIBRARY", "")
	t.Chdir(t.TempDir())
	// else the system has it
	if _, err := tl(t, "run", write(t, "perceptron.json", perceptron), "--bind", "batch=2"); err != nil {
		assert.ErrorContains(t, err, "--runtime or $TL_RUNTIME_LIBRARY")
	}
}

func TestNegativeBudget(t *testing.T) {
	_, err := tl(t, "plan", write(t, "perceptron.json", perceptron), "--bind", "batch=2", "--budget", "-1s")
	assert.ErrorContains(t, err, "--budget -1s")
	_, err = tl(t, "plan", write(t, "list.csv", "id,lower,upper,size\na,0,2,64\n"), "--budget", "-1s")
	assert.ErrorContains(t, err, "--budget -1s")
}

// What stood in a file stays when nothing can be written in its place.
func TestFailureKeepsTheFile(t *testing.T) {
	model := write(t, "perceptron.json", perceptron)
	notes := write(t, "notes.txt", "mine")
	_, err := tl(t, "plan", model, "--bind", "batch=2", "-o", notes)
	require.ErrorContains(t, err, "a plan is written as")
	page := write(t, "page.html", "mine")
	_, err = tl(t, "plan", write(t, "list.csv", "id,lower,upper,size\na,0,9223372036854775807,64\n"), "-o", page)
	require.ErrorContains(t, err, "a picture shows 2^53 steps")
	for _, path := range []string{notes, page} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "mine", string(content))
		files, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		assert.Len(t, files, 1, "nothing is left beside it")
	}
}

// A list of buffers may begin before step 0.
func TestPictureOfNegativeSteps(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.svg")
	_, err := tl(t, "plan", write(t, "list.csv", "id,lower,upper,size\na,-5,2,64\nb,-1,9,64\n"), "-o", page)
	require.NoError(t, err)
	assert.FileExists(t, page)
}

// No output is written over another one's file.
func TestFileNames(t *testing.T) {
	assert.Equal(t, []string{"a_b.npy", "a_b_2.npy", "A_B_3.npy", "a_b.npy", "a_b_2_2.npy"},
		fileNames([]string{"a/b", "a_b", "A/B", "a/b", "a_b_2"}))
}

// Random numbers of narrow floats are neither tiny nor infinite.
func TestRandomHalves(t *testing.T) {
	runtime := needsRun(t)
	for _, d := range []string{"f16", "bf16"} {
		model := write(t, "wide.json",
			`{"tl_graph": 1, "inputs": [{"name": "x", "dtype": "`+d+`", "shape": [64]}], "outputs": ["y"],
		 "nodes": [{"op": "Cast", "inputs": ["x"], "outputs": ["y"], "attrs": {"to": "f32"}}]}`)
		folder := t.TempDir()
		_, err := tl(t, "run", model, "-o", folder, "--runtime", runtime)
		require.NoError(t, err)
		for i, x := range float32s(read32(t, filepath.Join(folder, "y.npy"))) {
			assert.True(t, x != 0 && x > -8 && x < 8 && (x > 1e-4 || x < -1e-4), "%s: element %d is %g", d, i, x)
		}
	}
}

// Narrow floats are printed as numbers.
func TestPreviewOfHalves(t *testing.T) {
	words := func(list ...uint16) (data []byte) {
		for _, w := range list {
			data = binary.LittleEndian.AppendUint16(data, w)
		}
		return data
	}
	half := graph.Tensor{DType: graph.F16, Shape: []int64{6}, Data: words(0x3c00, 0xc100, 0x0001, 0x7bff, 0xfc00,
		0x7e00)}
	assert.Equal(t, "1 -2.5 5.96e-08 6.55e+04 -Inf NaN", preview(half))
	brain := graph.Tensor{DType: graph.BF16, Shape: []int64{2}, Data: words(0x3f80, 0xc020)}
	assert.Equal(t, "1 -2.5", preview(brain))
	assert.Equal(t, "-0 0", preview(graph.Tensor{DType: graph.F16, Shape: []int64{2}, Data: words(0x8000, 0)}))
}

// An output that was written in place of a value of another shape has its own.
func TestShapeOfOutputInPlace(t *testing.T) {
	runtime := needsRun(t)
	model := write(t, "inplace.json",
		`{"tl_graph": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}], "outputs": ["y"],
	 "constants": [{"name": "six", "dtype": "i64", "shape": [1], "data": [6]}],
	 "nodes": [{"op": "Neg", "inputs": ["x"], "outputs": ["a"]}, {"op": "Reshape", "inputs": ["a", "six"], "outputs": ["b"]},
	           {"op": "Abs", "inputs": ["b"], "outputs": ["y"]}]}`)
	folder := t.TempDir()
	out, err := tl(t, "run", model, "-o", folder, "--runtime", runtime)
	require.NoError(t, err)
	assert.Contains(t, out, "f32 [6]")
	assert.Equal(t, []int64{6}, read32(t, filepath.Join(folder, "y.npy")).Shape)
}

func read32(t *testing.T, path string) graph.Tensor {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	got, err := npy.Read(bytes.NewReader(content))
	require.NoError(t, err)
	return got
}

func float32s(t graph.Tensor) []float32 {
	list := make([]float32, graph.Elements(t.Shape))
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
	}
	return list
}

// docs/tl.md tells of every flag that there is, and of no other.
func TestFlagsOfTheDocumentation(t *testing.T) {
	content, err := os.ReadFile("../../docs/tl.md")
	require.NoError(t, err)
	there := map[string]bool{"help": true, "version": true}
	for _, c := range rootCommand().Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { there[f.Name] = true })
	}
	told := map[string]bool{}
	for _, m := range regexp.MustCompile("--([a-z][a-z-]*)").FindAllStringSubmatch(string(content), -1) {
		told[m[1]] = true
	}
	assert.Equal(t, there, told)
}
