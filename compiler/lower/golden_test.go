package lower

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

var update = flag.Bool("update", false, "write the golden files; read what has changed in them")

// print is a module's text.
func print(m *Module) string {
	var texts []string
	for _, f := range m.Functions {
		texts = append(texts, flow.Print(f))
	}
	return strings.Join(texts, "\n")
}

func lowered(t *testing.T, text string, options Options) *Module {
	t.Helper()
	p, err := ir.Parse(text)
	require.NoError(t, err)
	m, err := Lower(p, options)
	require.NoError(t, err)
	return m
}

// codes are the operations that the files count, by name.
var codes = map[string]flow.Code{"New": flow.New, "Copy": flow.Copy, "Return": flow.Return,
	"FunctionEnter": flow.FunctionEnter,
	"FunctionExit":  flow.FunctionExit, "EnterScope": flow.EnterScope, "ExitScope": flow.ExitScope,
	"Acquire": flow.Acquire,
	"Release": flow.Release, "Register": flow.Register, "Unregister": flow.Unregister, "Clear": flow.Clear,
	"Unshare": flow.Unshare, "StoreElement": flow.StoreElement, "NewVec": flow.NewVec, "StoreAt": flow.StoreAt,
	"Append": flow.Append, "RemoveLast": flow.RemoveLast, "Call": flow.Call, "Fill": flow.Fill,
	"Reset": flow.Reset, "Taken": flow.Taken, "Take": flow.Take}

var counted = regexp.MustCompile(`(?m)^// counts: (.*)$`)

// TestGolden lowers the programs in testdata/golden: the text has to be that of the
// file beside it, and the operations as many as the program's comment says. Structs are
// cells where the name begins with that.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.tl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tl"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	m := lowered(t, string(text), Options{Cells: strings.HasPrefix(file, "testdata/golden/cells")})
	checkFile(t, strings.TrimSuffix(file, ".tl")+".low", print(m))

	counts := counted.FindStringSubmatch(string(text))
	require.NotNil(t, counts, "a comment says how many operations there are")
	for _, part := range strings.Split(counts[1], ", ") {
		name, digits, _ := strings.Cut(part, " ")
		want, err := strconv.Atoi(digits)
		require.NoError(t, err)
		code, known := codes[name]
		require.True(t, known, "no operation %s", name)
		got := 0
		for _, f := range m.Functions {
			got += countOf(f, code)
		}
		if got != want {
			t.Errorf("%d operations %s, not %d\n%s", got, name, want, print(m))
		}
	}
}

// checkFile compares a text with a file's, or writes it there.
func checkFile(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "%s; -update writes it", file)
}
