package sealed

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatWasCutOrChangedIsNotWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	assert.False(t, IsWhole(path), "it is not there")
	require.Error(t, Seal(path))
	for _, size := range []int{0, 1, 5000} {
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), size), 0o700))
		assert.False(t, IsWhole(path), "it is not sealed")
		require.NoError(t, Seal(path))
		assert.True(t, IsWhole(path))
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, at := range []int{0, size / 2, size, len(whole) - 1} {
			require.NoError(t, os.WriteFile(path, whole[:at], 0o700))
			assert.False(t, IsWhole(path), "%d of %d bytes", at, len(whole))
			changed := bytes.Clone(whole)
			changed[at] ^= 1
			require.NoError(t, os.WriteFile(path, changed, 0o700))
			assert.False(t, IsWhole(path), "byte %d changed", at)
		}
		require.NoError(t, os.WriteFile(path, whole, 0o700))
		about, err := os.Stat(path)
		require.NoError(t, err)
		assert.EqualValues(t, 0o700, about.Mode().Perm())
		assert.True(t, IsWhole(path))
	}
}

func TestAFileThatOthersMayWriteIsNotWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("code"), 0o600))
	require.NoError(t, os.Chmod(path, 0o666)) // whatever the umask is
	require.NoError(t, Seal(path))
	assert.True(t, IsWhole(path), "the seal takes the right from them")
	require.NoError(t, os.Chmod(path, 0o720))
	assert.False(t, IsWhole(path))
}
