package main

import (
	"os"
	"path/filepath"
	"strings"
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

// TestReportOfDamagedTraces holds the command to fail, and to say what is wrong.
func TestReportOfDamagedTraces(t *testing.T) {
	folder := t.TempDir()
	from, page := filepath.Join(folder, "run.json"), filepath.Join(folder, "run.html")
	const whole = `{"writer":"TL Runtime","traceEvents":[{"name":"alloc","ph":"i","pid":1,"ts":3,"args":{"address":"0x10000","bytes":77,"kind":"object"}}` +
		`],"otherData":{"complete":false}}` + "\n"
	const other = `{"writer":"TL Runtime","traceEvents":[],"otherData":{}}` + "\n"
	for _, c := range []struct {
		name, text, want string
		page             bool
	}{
		{"whole", whole, "", true},
		{"empty", "", "the file is empty", false},
		{"no JSON", "<html>", "not a trace in JSON", false},
		{"another trace over it", other + whole[len(other):], "damaged near byte", false},
		{"interleaved", whole[:60] + other + whole[60:], "damaged near byte", false},
		{"of two processes", strings.Replace(whole, `],"oth`, `,{"name":"free","pid":2}],"oth`, 1),
			"of process 2, and others are of 1", false},
		{"cut off", whole[:len(whole)-30], "is damaged: it breaks off at byte", true},
	} {
		require.NoError(t, os.RemoveAll(page))
		require.NoError(t, os.WriteFile(from, []byte(c.text), 0o600))
		if err := report(from, page, ""); c.want == "" {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorContains(t, err, c.want, c.name)
			require.ErrorContains(t, err, from, c.name)
		}
		if c.page {
			require.FileExists(t, page, c.name)
		} else {
			require.NoFileExists(t, page, c.name)
		}
	}
}
