package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/memory"
)

// What the linker's table says of each address of a function is its name; a stripped
// program has that of exported ones only.
func TestSymbolsOfFunctions(t *testing.T) {
	var s Symbols
	path := compiled(t, "-O2", "-rdynamic")
	low, high := symbol(t, path, "_ZN5Layer4growEi")
	stripped := filepath.Join(t.TempDir(), "stripped")
	require.NoError(t, exec.Command("strip", "-o", stripped, path).Run())
	for _, file := range []string{path, stripped} {
		for address := low; address < high; address++ {
			require.Equal(t, "_ZN5Layer4growEi", s.Function(file, address))
		}
		require.NotEqual(t, "_ZN5Layer4growEi", s.Function(file, low-1))
		require.NotEqual(t, "_ZN5Layer4growEi", s.Function(file, high))
		require.Empty(t, s.Function(file, 1<<40))
	}
	require.NotZero(t, memory.Purposes()[symbolsPurpose])
	s.Forget()
	require.Zero(t, memory.Purposes()[symbolsPurpose])
}

func TestFilesWithoutSymbols(t *testing.T) {
	var s Symbols
	path := compiled(t, "-O2")
	low, _ := symbol(t, path, "main")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	short, text := filepath.Join(t.TempDir(), "short"), filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(short, whole[:len(whole)/2], 0o600))
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o600))
	for _, file := range []string{"", short, text, filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		require.Empty(t, s.Function(file, low), "%s", file)
	}
	memory.FailAfter(0)
	require.Empty(t, s.Function(path, low))
	memory.FailAfter(-1)
	s.Forget()
	require.Equal(t, "main", s.Function(path, low))
	s.Forget()
}
