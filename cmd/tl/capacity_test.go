package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/remat"
)

// thereAndBack is a chain whose values are needed again in the opposite order.
func thereAndBack() string {
	var nodes []string
	node := func(op, out string, in ...string) {
		nodes = append(nodes, fmt.Sprintf(`{"op": %q, "inputs": ["%s"], "outputs": [%q]}`, op, strings.Join(in, `", "`), out))
	}
	for i := range 8 {
		node("Tanh", fmt.Sprint("v", i+1), fmt.Sprint("v", i))
	}
	for i := 7; i > 0; i-- {
		node("Add", fmt.Sprint("v", 15-i+1), fmt.Sprint("v", 15-i), fmt.Sprint("v", i))
	}
	return `{"tl_graph": 1, "inputs": [{"name": "v0", "dtype": "f32", "shape": [64, 64]}], "outputs": ["v15"],
		"nodes": [` + strings.Join(nodes, ",\n") + `]}`
}

// The flags of less memory: by computing again, by moving, with rates of the user's own.
func TestACapacityBelowThePlan(t *testing.T) {
	model, folder := write(t, "chain.json", thereAndBack()), t.TempDir()
	file := filepath.Join(folder, "plan.json")
	out, err := tl(t, "plan", model, "--capacity", "64KiB", "--validate")
	require.NoError(t, err)
	assert.Contains(t, out, "of the operators compute values again\n")
	assert.NotContains(t, out, "the second space")
	out, err = tl(t, "plan", model, "--capacity", "64KiB", "--spill=500GB", "--validate", "-o", file)
	require.NoError(t, err)
	assert.Regexp(t, `\d transfers move \d+ KiB; the second space has \d+ KiB`, out)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(content), `"op":"MoveOut"`)
	assert.Contains(t, string(content), `"kind":"outside"`)

	// Where functions cost nothing, all is computed again, though moves cost little.
	rates := *remat.Measured
	rates.Classes = map[remat.Class]remat.Rate{}
	for _, class := range remat.Classes {
		rates.Classes[class] = remat.Rate{}
	}
	rates.Classes[remat.Move] = remat.Rate{Byte: 1e-12}
	f, err := os.Create(filepath.Join(folder, "rates.json"))
	require.NoError(t, err)
	require.NoError(t, rates.WriteJSON(f))
	require.NoError(t, f.Close())
	out, err = tl(t, "plan", model, "--capacity", "64KiB", "--spill", "--cost", f.Name())
	require.NoError(t, err)
	assert.Contains(t, out, "of the operators compute values again\n")
	assert.NotContains(t, out, "the second space")

	for says, flags := range map[string][]string{
		"add --capacity BYTES":         {"--spill"},
		"--spill=fast: it is a number": {"--capacity", "64KiB", "--spill=fast"},
		"--cost: open":                 {"--capacity", "64KiB", "--cost", filepath.Join(folder, "none.json")},
		"rates: ":                      {"--capacity", "64KiB", "--cost", file},
		"chain.json: --capacity 1B: the capacity in bytes is 1;": {"--capacity", "1B"},
		"--capacity 1,5KiB: it is a number":                      {"--capacity", "1,5KiB"},
		"--spill=1,5GB: it is a number":                          {"--capacity", "64KiB", "--spill=1,5GB"},
		"--capacity many: it is a number of":                     {"--capacity", "many"},
	} {
		_, err := tl(t, append([]string{"plan", model}, flags...)...)
		assert.ErrorContains(t, err, says)
	}
}

// A model gives the same when its values are moved.
func TestRunWithASecondSpace(t *testing.T) {
	runtime := needsRun(t)
	model, folder := write(t, "chain.json", thereAndBack()), t.TempDir()
	for name, flags := range map[string][]string{
		"kept": nil, "moved": {"--capacity", "48KiB", "--spill=900GB"},
		"filed": {"--capacity", "48KiB", "--spill=900GB", "--spill-file", filepath.Join(folder, "spilled")},
		"fits":  {"--capacity", "1MiB", "--spill-file", filepath.Join(folder, "none")},
	} {
		_, err := tl(t, append([]string{"run", model, "--runtime", runtime, "-o", filepath.Join(folder, name)}, flags...)...)
		require.NoError(t, err)
	}
	kept, err := os.ReadFile(filepath.Join(folder, "kept", "v15.npy"))
	require.NoError(t, err)
	moved, err := os.ReadFile(filepath.Join(folder, "moved", "v15.npy"))
	require.NoError(t, err)
	assert.Equal(t, kept, moved)
	filed, err := os.ReadFile(filepath.Join(folder, "filed", "v15.npy"))
	require.NoError(t, err)
	assert.Equal(t, kept, filed)
	spilled, err := os.ReadFile(filepath.Join(folder, "spilled"))
	require.NoError(t, err)
	assert.NotEmpty(t, bytes.Trim(spilled, "\x00"), "the values went through the file")
	assert.NoFileExists(t, filepath.Join(folder, "none"), "what fits needs none")
}

func TestSpillFilesThatAreRefused(t *testing.T) {
	runtime := needsRun(t)
	model, folder := write(t, "chain.json", thereAndBack()), t.TempDir()
	content := write(t, "x.npy", "")
	for says, flags := range map[string][]string{
		"add --capacity BYTES":               {"--spill-file", filepath.Join(folder, "spilled")},
		"a file is aligned to 4096":          {"--capacity", "48KiB", "--alignment", "8192", "--spill-file", "x"},
		"--spill-file: open":                 {"--capacity", "48KiB", "--spill=900GB", "--spill-file", folder},
		"it is no regular file":              {"--capacity", "48KiB", "--spill=900GB", "--spill-file", os.DevNull},
		`"a\tb" has a tab or a line`:         {"--capacity", "48KiB", "--spill-file", "a\tb"},
		`"a\nb" has a tab or a line`:         {"--capacity", "48KiB", "--spill-file", "a\nb"},
		model + " is read, and the output":   {"--capacity", "48KiB", "--spill-file", model},
		content + " is read, and the output": {"--capacity", "48KiB", "--spill-file", content, "--input", "x=" + content},
		"spill-file slots]":                  {"--capacity", "48KiB", "--slots", "--spill-file", "x"},
		"if any flags in the group [":        {"--capacity", "48KiB", "--on", "mpi", "--spill-file", "x"},
	} {
		_, err := tl(t, append([]string{"run", model, "--runtime", runtime}, flags...)...)
		assert.ErrorContains(t, err, says)
	}
}

// The caller's memory is two arguments, and the header says how much each is.
func TestCallerMemoryWithASecondSpace(t *testing.T) {
	model, folder := write(t, "chain.json", thereAndBack()), t.TempDir()
	header, code := filepath.Join(folder, "chain.h"), filepath.Join(folder, "chain.ll")
	_, err := tl(t, "plan", model, "--capacity", "64KiB", "--spill=500GB", "--caller-memory", "-o", header, "-o", code)
	require.NoError(t, err)
	content, err := os.ReadFile(header)
	require.NoError(t, err)
	assert.Regexp(t, `#define chain_OUTSIDE_BYTES \d+\n`, string(content))
	assert.Contains(t, string(content), "void* scratch, void* outside);")
	content, err = os.ReadFile(code)
	require.NoError(t, err)
	assert.Contains(t, string(content), "ptr %constants, ptr %scratch, ptr %outside)")
}
