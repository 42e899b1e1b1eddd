package content_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tlruntime/compiler/content"
)

// What is no file would have the caller wait, or has no end.
func TestPipesDevicesAndFoldersAreRefused(t *testing.T) {
	folder := t.TempDir()
	pipe, endless := filepath.Join(folder, "pipe"), filepath.Join(folder, "endless")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink("/dev/zero", endless))
	for _, path := range []string{pipe, endless, folder} {
		_, err := content.Read(path, nil)
		assert.ErrorContains(t, err, path+" is no file with content")
	}
	_, err := content.Read(filepath.Join(folder, "missing"), nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestFilesAreReadWhereThereIsRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("content"), 0o600))
	linked := path + ".link"
	require.NoError(t, os.Symlink(path, linked))
	data, err := content.Read(linked, nil)
	require.NoError(t, err)
	assert.Equal(t, "content", string(data))
	_, err = content.Read(path, func(bytes uint64) bool { return bytes < 21 })
	var refused *content.MemoryError
	require.ErrorAs(t, err, &refused)
	assert.EqualValues(t, 7, refused.Bytes)
	assert.EqualError(t, err, "the system refuses the memory for a graph of 7 bytes")
	_, err = content.Read(path, func(bytes uint64) bool { return bytes == 21 })
	require.NoError(t, err)
}
