package llvm

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower"
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

var update = flag.Bool("update", false, "write what docs/lowering.md shows; read what has changed in it")

// TestExampleOfTheDocumentation holds the files that docs/lowering.md shows to what
// the lowering makes of the example, and runs it.
func TestExampleOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../testdata/example.tl")
	require.NoError(t, err)
	p, err := ir.Parse(string(text))
	require.NoError(t, err)
	m, err := lower.Lower(p, lower.Options{})
	require.NoError(t, err)
	var lowered []string
	for _, f := range m.Functions {
		lowered = append(lowered, flow.Print(f))
	}
	module, err := Emit(m, Options{Version: 15})
	require.NoError(t, err)
	show := func(file, text string) {
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), text, "%s; -update writes it", file)
	}
	show("../testdata/example.low", strings.Join(lowered, "\n"))
	show("../testdata/example.ll", cut(module, "define ptr @build("))

	tc := findToolchain(t)
	b := &batch{roots: []string{"example"}, floats: []bool{false}, want: []string{show64(t, string(text))}}
	executable := tc.build(t, module, b.observer(), "-O1")
	for _, path := range []string{"1", "0"} {
		b.check(t, "example", execute(t, executable, path))
	}
}

func show64(t *testing.T, text string) string { return show(interpreted(t, text, "example")) }

// cut returns the function of a module that begins so.
func cut(module, head string) string {
	_, rest, _ := strings.Cut(module, head)
	body, _, _ := strings.Cut(rest, "\n}\n")
	return head + body + "\n}\n"
}
