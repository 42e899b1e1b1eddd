package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed is a line of a package's comment that says what files hold: a tab, their names with commas between, and the
// text.
var listed = regexp.MustCompile(`(?m)^//\t((?:\w+\.(?:go|[chs]), *)*\w+\.(?:go|[chs])) +\S`)

var packageComment = regexp.MustCompile(`(?m)^// Package (?:.*\n//)*.*\npackage `)

// A package's comment that says what files hold says it of each.
func TestListsOfFilesAreComplete(t *testing.T) {
	const root = "../.."
	var lists int
	for _, folder := range []string{"runtime", "compiler", "capi", "cshim", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, f fs.DirEntry, err error) error {
			if err != nil || f.IsDir() || !strings.HasSuffix(path, ".go") || isNoSource(f.Name()) {
				return err
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if list := listed.FindAllStringSubmatch(packageComment.FindString(string(text)), -1); list != nil {
				lists++
				checkList(t, path, list)
			}
			return nil
		})
		require.NoError(t, err)
	}
	assert.Greater(t, lists, 20)
}

func isNoSource(name string) bool {
	return strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "generated_")
}

func checkList(t *testing.T, path string, list [][]string) {
	there, named := map[string]bool{}, map[string]bool{}
	for _, pattern := range []string{"*.go", "*.[chs]"} {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(path), pattern))
		require.NoError(t, err)
		for _, file := range files {
			if name := filepath.Base(file); !isNoSource(name) {
				there[name] = true
			}
		}
	}
	for _, line := range list {
		for name := range strings.SplitSeq(line[1], ",") {
			name = strings.TrimSpace(name)
			assert.False(t, named[name], "%s names %s twice", path, name)
			assert.True(t, there[name], "%s names %s, which is not there", path, name)
			named[name] = true
		}
	}
	for name := range there {
		assert.True(t, named[name], "%s has a list of files without %s", path, name)
	}
}
