package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	folder := t.TempDir()
	from := filepath.Join(folder, "run.json")
	run := func(arguments ...string) error {
		c := reportCommand()
		c.SetArgs(arguments)
		c.SilenceUsage, c.SilenceErrors = true, true
		return c.Execute()
	}
	require.ErrorContains(t, run(from), "run.json")
	require.NoError(t, os.WriteFile(from, []byte(`{"traceEvents":[]}`), 0o600))
	require.ErrorContains(t, run(from), "not a trace of TL Runtime")
	require.NoError(t, os.WriteFile(from, []byte(`{"traceEvents":[{"name":"alloc","ph":"i","ts":3,"sf":1,
		"args":{"address":"0x10000","bytes":77,"kind":"object"}}],"stackFrames":{"1":{"name":"here"}},
		"otherData":{"writer":"TL Runtime","complete":true}}`), 0o600))
	require.NoError(t, run(from, "--title", "one"))
	page, err := os.ReadFile(filepath.Join(folder, "run.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "<h1>one</h1>")
	require.Contains(t, string(page), "here")
	require.NoError(t, run(from, "-o", filepath.Join(folder, "other.html")))
	require.FileExists(t, filepath.Join(folder, "other.html"))
	require.Error(t, run(from, "-o", filepath.Join(folder, "no", "such.html")))
}
