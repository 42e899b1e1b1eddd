package architecture

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A host may have a handler for SIGSEGV that ends the process, so nothing in the library
// may fault on purpose and go on (docs/threads-and-fork.md).
func TestNobodyRecoversFromFaults(t *testing.T) {
	c := exec.Command("go", "list", "-f",
		"{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}{{range .CgoFiles}}{{$d}}/{{.}}\n{{end}}",
		"./capi", "./cshim", "./runtime/...")
	c.Dir = "../.."
	out, err := c.Output()
	require.NoError(t, err)
	files := strings.Fields(string(out))
	require.Greater(t, len(files), 200)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "SetPanicOnFault", file)
	}
}
