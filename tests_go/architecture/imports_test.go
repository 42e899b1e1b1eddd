// Package architecture holds the packages to what they may depend on.
package architecture

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "tlruntime/"

// imports lists, for every package that `go list` names, its own ones of this module
// and those of others; of the standard library none.
func imports(t *testing.T, pattern ...string) string {
	t.Helper()
	arguments := append([]string{"list", "-f", "{{.ImportPath}}:{{range .Imports}} {{.}}{{end}}"}, pattern...)
	c := exec.Command("go", arguments...)
	c.Dir = "../.."
	out, err := c.Output()
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		kept := slices.DeleteFunc(fields[1:], func(path string) bool {
			return !strings.Contains(path, ".") && !strings.HasPrefix(path, module)
		})
		b.WriteString(strings.ReplaceAll(strings.Join(append(fields[:1], kept...), " "), module, "") + "\n")
	}
	return b.String()
}

// What each package imports stands in imports.txt: a new line there is a decision.
// To write it anew: TL_WRITE=1 go test ./tests_go/architecture
func TestImports(t *testing.T) {
	got := imports(t, "./runtime/...", "./capi", "./cmd/...")
	if os.Getenv("TL_WRITE") != "" {
		require.NoError(t, os.WriteFile("imports.txt", []byte(got), 0o644))
	}
	wanted, err := os.ReadFile("imports.txt")
	require.NoError(t, err)
	assert.Equal(t, string(wanted), got)
}

// The library stays small: what reads models, draws and compiles is not in it.
func TestWhatIsInTheLibrary(t *testing.T) {
	c := exec.Command("go", "list", "-deps", "./capi")
	c.Dir = "../.."
	out, err := c.Output()
	require.NoError(t, err)
	allowed := []string{"github.com/dustin/go-humanize", "github.com/ebitengine/purego", "golang.org/x/sys/unix"}
	for line := range bytes.Lines(out) {
		path := strings.TrimSpace(string(line))
		switch {
		case strings.HasPrefix(path, module+"runtime/plan"):
			assert.Contains(t, []string{"runtime/plan/offsets", "runtime/plan/offsets/check", "runtime/planner"}, strings.TrimPrefix(path, module))
		case strings.HasPrefix(path, module), !strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
		default:
			assert.True(t, slices.ContainsFunc(allowed, func(a string) bool { return path == a || strings.HasPrefix(path, a+"/") }), path)
		}
	}
}

// Arithmetic on plans needs no memory of the runtime, and no C.
func TestPlanningIsPure(t *testing.T) {
	for line := range strings.Lines(imports(t, "./runtime/plan/...", "./runtime/lower/...")) {
		for _, path := range strings.Fields(line)[1:] {
			assert.True(t, strings.HasPrefix(path, "runtime/plan") || strings.HasPrefix(path, "runtime/lower") ||
				path == "github.com/dustin/go-humanize" || strings.HasPrefix(line, "runtime/plan/picture/headless:"), line)
		}
	}
}
