package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func runLower(t *testing.T, in string, args ...string) (out, errors string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := rootCommand()
	root.SetArgs(append([]string{"lower"}, args...))
	root.SetIn(strings.NewReader(in))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	err = root.Execute()
	return stdout.String(), stderr.String(), err
}

const list = `
struct Node { value: int, next: Node }
func total(list: Node) -> int {
	let s = 0
	while list is none == 0 { s = s + list.value list = list.next }
	return s
}
func twice(a: Node, n: int) -> int { let b = a b = a.next b.value = n return b.value }
`

func TestLowerWritesWhatItIsAskedFor(t *testing.T) {
	file, to := write(t, "list.tl", list), filepath.Join(t.TempDir(), "list.ll")
	out, _, err := runLower(t, "", file)
	require.NoError(t, err)
	require.Contains(t, out, "define i64 @total(ptr %list) {")
	require.Contains(t, out, "; Written for LLVM 16")
	printed, _, err := runLower(t, "", file, "-o", to)
	require.NoError(t, err)
	require.Empty(t, printed)
	written, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, out, string(written))
	fromInput, _, err := runLower(t, list, "-")
	require.NoError(t, err)
	require.Equal(t, out, fromInput)

	out, _, err = runLower(t, list, "-", "--llvm", "14", "--init", "start_list")
	require.NoError(t, err)
	require.Contains(t, out, "define i32 @start_list() {")
	require.Contains(t, out, "-opaque-pointers")
	out, _, err = runLower(t, list, "-", "--emit", "operations")
	require.NoError(t, err)
	require.Contains(t, out, "\tlist.5 = list\n")
	out, _, err = runLower(t, list, "-", "--emit", "text")
	require.NoError(t, err)
	require.Contains(t, out, "struct Node {\n\tvalue: int\n\tnext: Node\n}\n")
	again, _, err := runLower(t, out, "-", "--emit", "text")
	require.NoError(t, err)
	require.Equal(t, out, again)
}

var counting = regexp.MustCompile(`call (ptr @tl_ptr_acquire|i32 @tl_ptr_release)\(`)

// TestLowerCancelsPairs counts calls in the IR: of the function itself, without the
// routines that the module brings along.
func TestLowerCancelsPairs(t *testing.T) {
	for _, one := range []struct {
		function string
		options  []string
		calls    int
	}{
		{"total", nil, 0},
		{"total", []string{"--no-borrows"}, 4},
		{"twice", nil, 2}, // the copy that is changed
		{"twice", []string{"--no-cancel"}, 4},
	} {
		out, _, err := runLower(t, list, append([]string{"-"}, one.options...)...)
		require.NoError(t, err)
		_, body, found := strings.Cut(out, "@"+one.function+"(")
		require.True(t, found)
		body, _, _ = strings.Cut(body, "\n}\n")
		require.Len(t, counting.FindAllString(body, -1), one.calls, "%s %v\n%s", one.function, one.options, body)
	}
}

// TestLowerMakesCells wants a cell reused, and no object or scope.
func TestLowerMakesCells(t *testing.T) {
	const next = list + "func next(a: Node) -> Node { return new Node{value: a.value + 1, next: a.next} }"
	out, stats, err := runLower(t, next, "-", "--cells", "--stats")
	require.NoError(t, err)
	require.Contains(t, out, "call ptr @Node$reset.1(ptr %a)")
	require.NotContains(t, out, "@tl_object_new")
	require.NotContains(t, out, "@tl_mem_")
	require.Regexp(t, `(?m)^( +\d+){10} +1 +next *$`, stats)
	out, _, err = runLower(t, next, "-", "--cells", "--no-reuse")
	require.NoError(t, err)
	require.NotContains(t, out, "$reset")
}

// TestLowerTellsAllErrors wants every error with its place, in the order of the text.
func TestLowerTellsAllErrors(t *testing.T) {
	file := write(t, "wrong.tl", "func f() -> int {\n\tlet a = b\n\treturn a + 1.5\n}\nstruct P { q: Q }\n"+
		"func g() {\n\tlet p = new P{}\n\tp.x = 1\n\tbreak\n}\n")
	out, errors, err := runLower(t, "", file)
	require.EqualError(t, err, file+" has 4 errors")
	require.Empty(t, out)
	require.Equal(t, strings.ReplaceAll(`FILE:2:10: function f: there is no variable b; declare it by let before, in this list or one around it
FILE:5:12: struct P, field q: there is no struct Q
FILE:8:2: function g: struct P has no field x
FILE:9:2: function g: there is no loop around it; break and continue stand in the body of a while
Error: FILE has 4 errors
`, "FILE", file), errors)

	_, errors, err = runLower(t, "func f( { }\nfunc g() { let = 1 }\nfunc abort() { }", "-")
	require.EqualError(t, err, "- has 2 errors")
	require.Contains(t, errors, "-:1:9: a name expected, found \"{\"\n-:2:16: a name expected, found \"=\"\n")
	_, errors, err = runLower(t, "func f() { }\n\nfunc abort() { }", "-")
	require.EqualError(t, err, "- has an error")
	require.Contains(t, errors, "-:3:6: function abort has a name that the module takes from elsewhere; rename it\n")
}

func TestLowerRefusesWrongOptions(t *testing.T) {
	for want, args := range map[string][]string{
		"--emit tree: choose llvm, operations or text":  {"-", "--emit", "tree"},
		"--llvm 13: the text is for versions 14 to 20":  {"-", "--llvm", "13"},
		"got 0 arguments; usage: tl lower FILE [flags]": {},
		"no such file": {"nowhere.tl"},
	} {
		_, _, err := runLower(t, list, args...)
		require.ErrorContains(t, err, want)
	}
	kept := write(t, "kept.ll", "mine")
	_, _, err := runLower(t, "func f( {", "-", "-o", kept)
	require.Error(t, err)
	content, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, "mine", string(content))
}

func TestLowerTellsWhatCountingCosts(t *testing.T) {
	const build = `
struct Node { value: int, next: Node }
func build(n: int) -> Node {
	let head = none Node
	while n { head = new Node{value: n, next: head} n = n - 1 }
	return head
}
` + "func total(list: Node) -> int { let s = 0 while list is none == 0 { s = s + list.value list = list.next } return s }"
	figures := func(args ...string) (table []string) {
		out, stats, err := runLower(t, build, append([]string{"-", "--stats"}, args...)...)
		require.NoError(t, err)
		require.Contains(t, out, "define ptr @build(", "the module is written as well")
		for line := range strings.Lines(stats) {
			table = append(table, strings.Join(strings.Fields(line), " "))
		}
		return table
	}
	require.Equal(t, []string{
		"acquire release register unregister scopes unshare borrowed in slots moved cancelled reused",
		"1 1 1 1 2 0 0 0 1 0 0 build", "0 0 0 0 0 0 3 0 0 0 0 total", "1 1 1 1 2 0 3 0 1 0 0 in all",
	}, figures())
	require.Contains(t, figures("--no-moves", "--no-borrows"), "2 2 1 0 2 0 1 0 0 0 0 total")
	_, stats, err := runLower(t, "func f( {", "-", "--stats")
	require.Error(t, err)
	require.NotContains(t, stats, "acquire")
}
