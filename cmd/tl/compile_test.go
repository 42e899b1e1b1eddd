package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompiledModelDescribesItself(t *testing.T) {
	needsRun(t)
	model, folder := write(t, "perceptron.json", perceptron), t.TempDir()
	files := []string{filepath.Join(folder, "a.tlm"), filepath.Join(folder, "b.tlm")}
	for _, file := range files {
		out, err := tl(t, "compile", model, "--bind", "batch=4", "-o", file)
		require.NoError(t, err)
		assert.Contains(t, out, file)
	}
	first, err := os.ReadFile(files[0])
	require.NoError(t, err)
	second, err := os.ReadFile(files[1])
	require.NoError(t, err)
	assert.Equal(t, first, second, "equal models make equal files")

	z, err := zip.OpenReader(files[0])
	require.NoError(t, err)
	defer z.Close()
	sizes := map[string]uint64{}
	for _, f := range z.File {
		sizes[f.Name] = f.UncompressedSize64
		assert.Equal(t, zip.Store, f.Method)
	}
	assert.Len(t, sizes, 3)
	assert.NotZero(t, sizes["module.so"])
	assert.EqualValues(t, 128, sizes["constants"], "two constants of less than 64 bytes")
	f, err := z.Open("model.json")
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	var about bundle
	require.NoError(t, json.Unmarshal(text, &about))
	assert.Equal(t, []bundleTensor{{"x", "f32", []int64{4, 2}, 32, "batch"}}, about.Inputs)
	assert.Equal(t, []bundleTensor{{"y", "f32", []int64{4, 3}, 48, "batch"}}, about.Outputs)
	assert.Equal(t, []int64{0, 64}, about.Constants)
	assert.Equal(t, map[string]int64{"batch": 4}, about.Bounds)
	assert.Equal(t, "perceptron", about.Name)
	assert.Equal(t, function, about.Function)
}

func TestEngineErrors(t *testing.T) {
	model := write(t, "perceptron.json", perceptron)
	on := func(arguments ...string) string {
		_, err := tl(t, append([]string{"run", model, "--bind", "batch=4"}, arguments...)...)
		require.Error(t, err)
		return err.Error()
	}
	for _, engine := range []string{"spark", "dask", "dask://", "ray://here"} {
		assert.Contains(t, on("--on", engine), "--on "+engine+": an engine is dask://HOST:PORT, or mpi under mpiexec")
	}
	assert.Contains(t, on("--on", "mpi", "--repeat", "2"), "--repeat 2: with --on all samples are run once")
	assert.Contains(t, on("--on", "mpi", "-i", "x=nowhere.npy"), "--input x: stat nowhere.npy")
	assert.Contains(t, on("--on", "mpi", "--python", "no-such-python"), "engines are reached through Python")
	assert.Contains(t, on("--on", "mpi", "--python", "false"), "false cannot import tl_runtime and numpy (exit status 1)")
	python := filepath.Join(t.TempDir(), "python")
	script := "#!/bin/sh\necho Traceback >&2\necho 'ImportError: numpy is broken' >&2\nexit 1\n"
	require.NoError(t, os.WriteFile(python, []byte(script), 0o700))
	assert.Contains(t, on("--on", "mpi", "--python", python), "(ImportError: numpy is broken); install them there")
	_, err := tl(t, "compile", model, "--bind", "batch=4")
	assert.ErrorContains(t, err, "-o FILE is needed")
}
