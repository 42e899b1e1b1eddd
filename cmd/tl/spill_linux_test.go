package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onDisk is how many bytes a file takes on its disk.
func onDisk(t *testing.T, path string) int64 {
	var about syscall.Stat_t
	require.NoError(t, syscall.Stat(path, &about))
	return 512 * about.Blocks
}

// A file of holes has its room before anything is written to it: a full disk is an error, and no end of the process.
func TestASparseSpillFileGetsItsRoom(t *testing.T) {
	const bytes = 1 << 20
	path := filepath.Join(t.TempDir(), "sparse")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(4*bytes))
	require.NoError(t, f.Close())
	require.Less(t, onDisk(t, path), int64(bytes), "it is sparse")
	require.NoError(t, reserved(path, bytes))
	about, err := os.Stat(path)
	require.NoError(t, err)
	assert.EqualValues(t, bytes, about.Size(), "it has the size of the second space")
	assert.GreaterOrEqual(t, onDisk(t, path), int64(bytes))
}

func TestADiskWithoutRoomForTheSpillFile(t *testing.T) {
	folder := t.TempDir()
	missing, there := filepath.Join(folder, "missing"), filepath.Join(folder, "there")
	require.NoError(t, os.WriteFile(there, []byte("content"), 0o600))
	for _, path := range []string{missing, there} {
		assert.ErrorContains(t, reserved(path, 1<<60), "there is no room for 1152921504606846976 bytes")
	}
	assert.NoFileExists(t, missing)
	content, err := os.ReadFile(there)
	require.NoError(t, err)
	assert.Equal(t, "content", string(content))
}

// Where the file system reserves no room, zeros are written.
func TestASpillFileThatIsFilled(t *testing.T) {
	const bytes = 3<<20 + 5
	f, err := os.Create(filepath.Join(t.TempDir(), "filled"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, zero(f, bytes))
	about, err := f.Stat()
	require.NoError(t, err)
	assert.EqualValues(t, bytes, about.Size())
	assert.GreaterOrEqual(t, onDisk(t, f.Name()), int64(bytes))
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	require.NoError(t, err)
	defer full.Close()
	require.ErrorContains(t, zero(full, bytes), "no space left")
}
