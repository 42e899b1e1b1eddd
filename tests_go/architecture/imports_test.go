// Package architecture holds the packages to what they may depend on.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "tlruntime/"

// layer is a group of packages, by their paths or by folders that end with a slash, and
// what they may import beside the standard library and each other.
type layer struct {
	name     string
	packages []string
	imports  []string // layers
	others   []string // modules of others
}

// layers are from the bottom to the top. A package that is in none of them fails the test.
var layers = []layer{
	{name: "foundation", packages: []string{"runtime/layout", "runtime/memory", "runtime/status", "runtime/config",
		"runtime/dtype", "runtime/limit", "include",
		"runtime/handle", "runtime/headroom", "runtime/invariant", "runtime/output", "runtime/usdt", "cshim/base",
		"cshim/copies", "cshim/heap", "cshim/mempool", "cshim/registry", "cshim/shapes"},
		others: []string{"golang.org/x/sys/unix", "github.com/dustin/go-humanize"}},
	{name: "storage", packages: []string{"runtime/heap", "runtime/registry"}, imports: []string{"foundation"}},
	{name: "objects", packages: []string{"runtime/object"}, imports: []string{"foundation", "storage"}},
	{name: "tensors", packages: []string{"runtime/device", "runtime/device/", "runtime/mempool", "runtime/tensor",
		"runtime/sparse"},
		imports: []string{"foundation", "objects"}, others: []string{"github.com/ebitengine/purego",
			"github.com/stretchr/testify/require"}},
	{name: "placement", packages: []string{"runtime/offsets", "runtime/offsets/", "runtime/plans"},
		imports: []string{"foundation"}, others: []string{"golang.org/x/sys/unix"}},
	{name: "figures", packages: []string{"runtime/observe/figures", "runtime/observe/openmetrics", "runtime/observe/source"},
		imports: []string{"foundation"},
		others:  []string{"github.com/dustin/go-humanize"}},
	{name: "observation", packages: []string{"runtime/observe/"}, imports: []string{"foundation", "storage", "objects",
		"tensors", "figures"},
		others: []string{"github.com/dustin/go-humanize"}},
	{name: "library", packages: []string{"runtime/consistency", "capi", "cshim", "cshim/"},
		imports: []string{"foundation", "storage", "objects", "tensors", "placement", "figures", "observation"}},
	{name: "compiler", packages: []string{"compiler/"}, imports: []string{"foundation", "placement"},
		others: []string{"github.com/dustin/go-humanize", "google.golang.org/protobuf/"}},
	{name: "command", packages: []string{"cmd/tl", "cmd/tl/"}, imports: []string{"foundation", "placement",
		"figures", "compiler"},
		others: []string{"github.com/dustin/go-humanize", "github.com/dustin/go-humanize/",
			"github.com/google/flatbuffers/go", "github.com/ianlancetaylor/demangle", "github.com/spf13/",
			"github.com/stretchr/testify/require", "google.golang.org/protobuf/"}},
}

// pure packages are all that the compiler may import: arithmetic, a table and a text, without the
// runtime's memory or C.
var pure = []string{"runtime/offsets", "runtime/offsets/check", "runtime/dtype", "include"}

func layerOf(path string) *layer {
	for i := range layers {
		if contains(layers[i].packages, path) {
			return &layers[i]
		}
	}
	return nil
}

func contains(list []string, path string) bool {
	for _, p := range list {
		if path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// list is what `go list` prints. All folders are read first: go test keeps a result until
// something changes that the test itself has opened.
func list(t *testing.T, arguments ...string) string {
	t.Helper()
	const root = "../.."
	for _, folder := range []string{"runtime", "compiler", "capi", "cshim", "cmd"} {
		whole := func(_ string, _ fs.DirEntry, err error) error { return err }
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), whole))
	}
	c := exec.Command("go", append([]string{"list"}, arguments...)...)
	c.Dir = root
	out, err := c.Output()
	require.NoError(t, err)
	return string(out)
}

// imports are, for every package that `go list` names, its own ones of this module and those
// of others; of the standard library none.
func imports(t *testing.T, pattern ...string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	arguments := append([]string{"-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}"}, pattern...)
	for line := range strings.Lines(list(t, arguments...)) {
		fields := strings.Fields(line)
		path := strings.TrimPrefix(fields[0], module)
		all[path] = nil
		for _, i := range fields[1:] {
			if strings.HasPrefix(i, module) || isOfOthers(i) {
				all[path] = append(all[path], i)
			}
		}
	}
	return all
}

func isOfOthers(path string) bool { return strings.Contains(strings.SplitN(path, "/", 2)[0], ".") }

func (l *layer) mayImport(path string) bool {
	own, isOwn := strings.CutPrefix(path, module)
	if !isOwn {
		return contains(l.others, path)
	}
	to := layerOf(own)
	return to == l || to != nil && contains(l.imports, to.name)
}

func TestLayers(t *testing.T) {
	all := imports(t, "./runtime/...", "./compiler/...", "./capi", "./cshim/...", "./cmd/...")
	require.Greater(t, len(all), 40)
	for path, imported := range all {
		l := layerOf(path)
		if !assert.NotNil(t, l, "%s is in no layer", path) {
			continue
		}
		for _, i := range imported {
			assert.True(t, l.mayImport(i), "%s (%s) imports %s", path, l.name, i)
		}
	}
}

// The full library is the other one and the compiler.
func TestTheFullLibraryHasTheCompiler(t *testing.T) {
	others := append([]string{module + "compiler/graph", module + "compiler/plan"}, imports(t, "./capi")["capi"]...)
	full := imports(t, "-tags", "full", "./capi")["capi"]
	assert.Subset(t, full, others)
	library := layerOf("capi")
	for _, i := range full {
		own, isOwn := strings.CutPrefix(i, module)
		assert.True(t, library.mayImport(i) || isOwn && layerOf(own).name == "compiler", "capi imports %s", i)
	}
}

// Arithmetic on plans needs no memory of the runtime, and no C.
func TestTheCompilerIsPure(t *testing.T) {
	for path, imported := range imports(t, "./compiler/...", "./runtime/offsets/...") {
		for _, i := range imported {
			own, isOwn := strings.CutPrefix(i, module)
			assert.True(t, !isOwn || strings.HasPrefix(own, "compiler/") || contains(pure, own), "%s imports %s", path,
				i)
		}
	}
}

// The packages start no goroutine, so the race detector has nothing to find in them (test-race in the Makefile).
func TestTheCompilerIsSequential(t *testing.T) {
	const format = "{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}"
	for file := range strings.FieldsSeq(list(t, "-f", format, "./compiler/...", "./runtime/offsets")) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if _, starts := n.(*ast.GoStmt); starts {
				assert.Fail(t, "a goroutine", "%s starts one", file)
			}
			return true
		})
		for _, i := range parsed.Imports { // sync.WaitGroup starts goroutines, too; what is generated has a lock
			assert.True(t, i.Path.Value != `"sync"` || strings.HasSuffix(file, ".pb.go"), "%s imports sync", file)
		}
	}
}

// The command is one static file for any machine: no package of its is in C, and the heap and all above it are not in
// it.
func TestTheCommandIsWithoutTheHeap(t *testing.T) {
	const format = "{{.ImportPath}}{{if .CgoFiles}} C{{end}}"
	for line := range strings.Lines(list(t, "-deps", "-f", format, "./cmd/tl")) {
		path, isC := strings.CutSuffix(strings.TrimSpace(line), " C")
		own, isOwn := strings.CutPrefix(path, module)
		if l := layerOf(own); isOwn && l != nil {
			assert.NotContains(t, []string{"storage", "objects", "tensors", "observation", "library"}, l.name, path)
		}
		assert.False(t, isC && (isOwn || isOfOthers(path)), "%s is in C", path)
	}
}

// The library stays small: what reads models, draws and compiles is not in it, and nothing in
// runtime/ is beside it but tests of devices and the checkers.
func TestWhatIsInTheLibrary(t *testing.T) {
	others := []string{"github.com/dustin/go-humanize", "github.com/ebitengine/purego", "github.com/ebitengine/purego/",
		"golang.org/x/sys/unix"}
	linked := strings.Fields(list(t, "-deps", "./capi"))
	for _, path := range linked {
		if own, isOwn := strings.CutPrefix(path, module); isOwn {
			l := layerOf(own)
			assert.True(t, l != nil && l.name != "compiler" && l.name != "command", path)
		} else if isOfOthers(path) {
			assert.True(t, contains(others, path), path)
		}
	}
	beside := []string{"runtime/consistency", "runtime/device/devicetest"}
	for path := range imports(t, "./runtime/...") {
		assert.True(t, contains(beside, path) || contains(linked, module+path), "%s is not in the library", path)
	}
}
