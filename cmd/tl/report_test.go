package main

import (
	"io"
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
		if err := (&reporting{from: from, to: page}).run(io.Discard); c.want == "" {
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

// traceOf is a trace with one allocation.
func traceOf(bytes string) string {
	return `{"writer":"TL Runtime","traceEvents":[{"name":"process_name","ph":"M","pid":1,"args":{"name":"net"}},` +
		`{"name":"alloc","ph":"i","pid":1,"ts":3,"sf":1,"args":{"address":"0x10000","bytes":` + bytes +
		`,"kind":"object"}}],"stackFrames":{"1":{"name":"conv","file":"/s/net.c","line":5}},"otherData":{"complete":true}}` +
		"\n"
}

// TestReportOfTwoTraces compares them, as a page and as text.
func TestReportOfTwoTraces(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
		return filepath.Join(folder, name)
	}
	before, after := file("a.json", traceOf("77")), file("b.json", traceOf("4000"))
	cut, other := file("cut.json", traceOf("77")[:180]), file("other.json", `{"traceEvents":[]}`)
	link := filepath.Join(folder, "link.json")
	require.NoError(t, os.Link(before, link))
	run := func(arguments ...string) (string, error) {
		var out strings.Builder
		c := reportCommand()
		c.SetArgs(arguments)
		c.SetOut(&out)
		c.SilenceUsage, c.SilenceErrors = true, true
		err := c.Execute()
		return out.String(), err
	}
	_, err := run("--compare", "", after)
	require.ErrorContains(t, err, "--compare needs the name of an earlier trace")
	text, err := run("--compare", before, after)
	require.NoError(t, err)
	require.Empty(t, text)
	page, err := os.ReadFile(filepath.Join(folder, "b-compared.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "&#43;3.8 KiB")
	require.NoFileExists(t, filepath.Join(folder, "b.html"))

	text, err = run("--text", "--compare", before, after)
	require.NoError(t, err)
	require.Contains(t, text, "+3.8 KiB  net.c:5 conv\n")
	text, err = run("--text", after)
	require.NoError(t, err)
	require.Contains(t, text, "3.9 KiB  net.c:5 conv\n")
	require.NoFileExists(t, filepath.Join(folder, "b.html"), "text alone")
	text, err = run("--compare", before, after, "-o", "-", "--title", "two runs")
	require.NoError(t, err)
	require.Contains(t, text, "<h1>two runs</h1>")
	_, err = run("--text", before, "-o", filepath.Join(folder, "also.html"))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(folder, "also.html"))

	for want, arguments := range map[string][]string{
		"are the same file":                  {"--compare", before, link},
		"a.json is read, and":                {"--compare", before, after, "-o", before},
		"no such file":                       {"--compare", filepath.Join(folder, "none.json"), after},
		"other.json: not a trace":            {"--compare", other, after},
		"got 0 arguments; usage: report":     {"--compare", before},
		"leave one out":                      {"--text", after, "-o", "-"},
		"cut.json is damaged: it breaks off": {"--text", "--compare", cut, after},
	} {
		text, err = run(arguments...)
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, traceOf("77"), func() string { b, _ := os.ReadFile(before); return string(b) }())
}
