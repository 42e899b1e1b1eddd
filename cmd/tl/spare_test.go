package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/cmd/tl/internal/npy"
	"tlruntime/compiler/graph"
)

// kept runs the command, which has to refuse to write over a file, and compares the file.
func kept(t *testing.T, file string, arguments ...string) {
	t.Helper()
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	_, err = tl(t, arguments...)
	assert.ErrorContains(t, err, "would replace it; name another file to write", arguments)
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, before, after, arguments)
}

// TestNoCommandWritesOverWhatItReads: `tl plan digits.json -o digits.json` replaced the model by its plan.
func TestNoCommandWritesOverWhatItReads(t *testing.T) {
	model, folder := write(t, "perceptron.json", perceptron), t.TempDir()
	soft, hard := filepath.Join(folder, "soft.json"), filepath.Join(folder, "hard.json")
	require.NoError(t, os.Symlink(model, soft))
	require.NoError(t, os.Link(model, hard))
	for _, output := range []string{model, soft, hard} {
		kept(t, model, "plan", model, "--bind", "batch=4", "-o", output)
		kept(t, model, "plan", model, "--bind", "batch=4", "-o", filepath.Join(folder, "plan.h"), "-o", output)
		kept(t, model, "plan", model, "--bind", "batch=4", "--symbolic", "-o", output)
		kept(t, model, "plan", model, "--state", "w", "--bind", "batch=4", "-o", output)
		kept(t, model, "compile", model, "--bind", "batch=4", "-o", output)
		kept(t, model, "export", model, output)
		kept(t, model, "run", model, "--bind", "batch=4", "--capacity", "1MiB", "--spill-file", output)
	}
	assert.NoFileExists(t, filepath.Join(folder, "plan.h"), "nothing is written before the refusal")
	frozen := filepath.Join(folder, "y.npy")
	require.NoError(t, create(frozen, func(w io.Writer) error {
		return npy.Write(w, graph.NewTensor(graph.F32, []int64{3}))
	}))
	kept(t, frozen, "plan", model, "--bind", "batch=4", "--freeze", "b="+frozen, "-o", frozen)
	kept(t, frozen, "compile", model, "--bind", "batch=4", "--freeze", "b="+frozen, "-o", frozen)
	kept(t, frozen, "run", model, "--bind", "batch=4", "--input", "b="+frozen, "-o", folder)
	kept(t, frozen, "run", model, "--bind", "batch=4", "--input", "b="+frozen, "-o", folder, "--on", "mpi")

	list := write(t, "list.csv", "id,lower,upper,size\na,0,2,64\n")
	kept(t, list, "plan", list, "-o", list)
	program := write(t, "list.tl", "func f() { }\n")
	kept(t, program, "lower", program, "-o", program)
	kept(t, chainModel, "tflite", chainModel, "-o", chainModel)
}

// A model of the ONNX format may have its constants in files beside it.
func TestFilesOfConstantsAreKept(t *testing.T) {
	model, weights := withConstantsOutside(t, t.TempDir())
	kept(t, weights, "plan", model, "-o", weights)
	kept(t, weights, "compile", model, "-o", weights)
	kept(t, weights, "export", model, weights)
}

// Devices and pipes hold nothing to lose, and a terminal is both standard input and standard output.
func TestADeviceMayBeReadAndWritten(t *testing.T) {
	assert.NoError(t, spare([]string{os.DevNull, "", standard}, os.DevNull, "", standard))
}

// A failure names the file that the user gave, not the one beside it that is written first.
func TestAFailureNamesTheFileOfTheUser(t *testing.T) {
	wanted := filepath.Join(t.TempDir(), "none", "plan.json")
	assert.EqualError(t, create(wanted, says("")), "open "+wanted+": no such file or directory")
	full := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(full, "folder", "inside"), 0o755))
	beside, at := filepath.Join(full, "beside"), filepath.Join(full, "folder")
	require.NoError(t, os.WriteFile(beside, nil, 0o600))
	assert.ErrorContains(t, ofFile(os.Rename(beside, at), beside, at), "replace "+at+": ")
}
