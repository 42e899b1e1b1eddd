package lower

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// imports returns what the packages below a folder import, by file; those of tests
// not.
func imports(t *testing.T, folder string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			found[path] = append(found[path], name)
		}
		return nil
	}))
	require.NotEmpty(t, found)
	return found
}

// TestImports holds the lowering to Go alone: its own packages, the table of element types, what writers of LLVM
// share, and the standard library, without C. And the shared library does without the lowering.
func TestImports(t *testing.T) {
	for path, names := range imports(t, ".") {
		for _, name := range names {
			standard := !strings.Contains(strings.Split(name, "/")[0], ".") && !strings.HasPrefix(name, "tlruntime/")
			own := strings.HasPrefix(name, "tlruntime/compiler/lower") || name == "tlruntime/compiler/llvm/text" ||
				name == "tlruntime/runtime/dtype"
			if name == "C" || name == "unsafe" || !standard && !own {
				t.Errorf("%s imports %q", path, name)
			}
		}
	}
	for path, names := range imports(t, "../../capi") {
		for _, name := range names {
			if strings.HasPrefix(name, "tlruntime/compiler/lower") {
				t.Errorf("%s imports %q: the library would grow", path, name)
			}
		}
	}
}
