package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// go build looks for changes in a package's own folder: each package of cshim has a sum of the others' headers.
func TestAnEditOfAHeaderRebuildsEveryRoom(t *testing.T) {
	root := repository(t)
	for _, room := range []string{"heap", "base"} {
		require.NoError(t, replace(filepath.Join(root, "cshim", room, room+".go"), "package "+room+"\n"))
	}
	before, faults := render(root)
	require.Empty(t, faults)
	header := filepath.Join(root, "cshim/base/layout.h")
	text, err := os.ReadFile(header)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(header, append(text, "/* More. */\n"...), 0o644))
	after, faults := render(root)
	require.Empty(t, faults)
	for _, folder := range []string{"cshim/", "cshim/heap/"} {
		assert.NotEqual(t, before[folder+generatedHeaders], after[folder+generatedHeaders], folder)
	}
	const own = "cshim/base/" + generatedHeaders
	assert.Equal(t, before[own], after[own], "go build sees the folder of layout.h itself")
}
