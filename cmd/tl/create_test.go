package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func says(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// TestWhatIsNoFileIsWrittenTo: `tl plan MODEL -o /dev/null` of root left a file in the place of the device. A pipe is
// of the same kind.
func TestWhatIsNoFileIsWrittenTo(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	require.NoError(t, err)
	defer reader.Close()
	require.NoError(t, create(pipe, says("through it")))
	text := make([]byte, 10)
	_, err = io.ReadFull(reader, text)
	require.NoError(t, err)
	assert.Equal(t, "through it", string(text))
	info, err := os.Lstat(pipe)
	require.NoError(t, err)
	assert.Equal(t, os.ModeNamedPipe, info.Mode().Type())
	own := fmt.Sprintf("/proc/self/fd/%d", reader.Fd())
	if _, err := os.Stat(own); err == nil { // as /dev/stdout and what a shell makes of >(program)
		require.NoError(t, create(own, says("by number ")))
		_, err = io.ReadFull(reader, text)
		require.NoError(t, err)
		assert.Equal(t, "by number ", string(text))
	}
	assert.Error(t, create(t.TempDir(), says("a folder")))
}

func TestAFileIsReplacedWhenItIsWhole(t *testing.T) {
	folder := t.TempDir()
	file, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	require.NoError(t, os.Symlink("file", link))
	for _, path := range []string{file, link} {
		require.NoError(t, create(path, says(path)))
		refused := errors.New("refused")
		assert.ErrorIs(t, create(path, func(w io.Writer) error { return errors.Join(says("half")(w), refused) }), refused)
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, path, string(content))
	}
	ahead := filepath.Join(folder, "ahead")
	require.NoError(t, os.Symlink(filepath.Join(folder, "later"), ahead))
	require.NoError(t, create(ahead, says("made")))
	for _, path := range []string{link, ahead} {
		info, err := os.Lstat(path)
		require.NoError(t, err)
		assert.Equal(t, os.ModeSymlink, info.Mode().Type())
	}
	content, err := os.ReadFile(filepath.Join(folder, "later"))
	require.NoError(t, err)
	assert.Equal(t, "made", string(content))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, 4)
}
