package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rooms are the folders of cshim from the bottom to the top. A file may include headers of its own room and of
// rooms below it; what a lower room calls of an upper one is declared in the lower one's header. cshim itself is above
// all of them.
var rooms = []string{"base", "inline", "shapes", "copies", "heap", "registry", "mempool", "host", "guard", "stacks", "object",
	"tensor", "pools", "python", "report"}

var ownInclude = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

const mostSources = 45

func TestRoomsOfTheFastPath(t *testing.T) {
	const root = "../../cshim"
	folders, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, folder := range folders {
		if folder.IsDir() {
			assert.Contains(t, rooms, folder.Name(), "cshim/%s has no place in the order", folder.Name())
		}
	}
	for at, room := range append(rooms, ".") {
		files, err := filepath.Glob(filepath.Join(root, room, "*.[ch]"))
		require.NoError(t, err)
		assert.NotEmpty(t, files, "cshim/%s", room)
		assert.LessOrEqual(t, len(files), mostSources, "cshim/%s", room)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range ownInclude.FindAllStringSubmatch(string(text), -1) {
				included, err := filepath.Rel(root, filepath.Join(filepath.Dir(file), m[1]))
				require.NoError(t, err)
				of := filepath.Dir(included)
				if of == room || slices.Contains([]string{"tl_runtime.h", "tl_graph.h"}, m[1]) {
					continue
				}
				below := slices.Index(rooms, of)
				assert.True(t, below >= 0 && below < at, "%s includes %s, which is not below it", file, included)
			}
		}
	}
}
