package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errContent = errors.New("no content")

func someThenFail(w io.Writer) error {
	_, _ = io.WriteString(w, strings.Repeat("some ", 100000))
	return errContent
}

// TestAFailureLeavesTheOldFile: nothing is left beside it, and a name that was free is free.
func TestAFailureLeavesTheOldFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "heap.pb.gz")
	require.ErrorIs(t, Write(path, someThenFail), errContent)
	assert.Empty(t, names(t, folder))
	require.NoError(t, WriteText(path, "old"))
	require.ErrorIs(t, Write(path, someThenFail), errContent)
	assert.Equal(t, "old", read(t, path))
	assert.Equal(t, []string{"heap.pb.gz"}, names(t, folder))
}

// TestReadersFindOneOfTheTwo reads the name while a file is replaced.
func TestReadersFindOneOfTheTwo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, WriteText(path, "old"))
	require.NoError(t, Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("new", 100000))
		assert.Equal(t, "old", read(t, path))
		return err
	}))
	assert.Equal(t, strings.Repeat("new", 100000), read(t, path))
}

// TestWhatIsWrittenAfterPublish is a trace, which has its name from its first part on.
func TestWhatIsWrittenAfterPublish(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "trace.json")
	require.NoError(t, WriteText(path, "old"))
	f := create(t, path, "first")
	assert.Equal(t, "old", read(t, path))
	require.NoError(t, f.Publish())
	assert.Equal(t, "first", read(t, path))
	_, err := f.WriteAt([]byte("second"), 5)
	require.NoError(t, err)
	assert.Equal(t, "firstsecond", read(t, path))
	beside := create(t, path, "another")
	assert.Equal(t, Beside(path, 1), beside.Name(), "the name is held until the file is closed")
	beside.Close()
	f.Close()
	assert.Equal(t, []string{"trace.json"}, names(t, folder))
}

// TestWhatAnEndedProcessLeft beside a file does not keep others from replacing it.
func TestWhatAnEndedProcessLeft(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	require.NoError(t, WriteText(path, "old"))
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".file.tl_runtime"), []byte("left"), 0o600))
	require.NoError(t, WriteText(path, "new"))
	assert.Equal(t, "new", read(t, path))
	assert.Equal(t, []string{"file"}, names(t, folder))
}

func inode(t *testing.T, path string) uint64 {
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Sys().(*syscall.Stat_t).Ino
}

func TestModeAndLinkAreKept(t *testing.T) {
	folder := t.TempDir()
	target, link, again := filepath.Join(folder, "target"), filepath.Join(folder, "link"), filepath.Join(folder, "again")
	require.NoError(t, os.WriteFile(target, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(target, 0o751))
	require.NoError(t, os.Symlink("target", link))
	require.NoError(t, os.Symlink(link, again))
	before := inode(t, target)
	require.NoError(t, WriteText(again, "new"))
	info, err := os.Lstat(again)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSymlink, info.Mode().Type())
	info, err = os.Stat(again)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o751), info.Mode())
	assert.NotEqual(t, before, inode(t, target))
	assert.Equal(t, "new", read(t, target))
	require.NoError(t, os.Remove(target))
	require.NoError(t, WriteText(again, "where a link leads that led nowhere"))
	assert.Equal(t, []string{"again", "link", "target"}, names(t, folder))
}

// TestWrittenInPlace has files that no other can stand in for.
func TestWrittenInPlace(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	inPlace := func(name string) {
		before := inode(t, path)
		require.NoError(t, WriteText(path, name))
		assert.Equal(t, name, read(t, path))
		assert.Equal(t, before, inode(t, path), name)
	}
	require.NoError(t, WriteText(path, "what is longer than everything that is written later"))
	require.NoError(t, os.Link(path, filepath.Join(folder, "other")))
	inPlace("two names")
	assert.Equal(t, "two names", read(t, filepath.Join(folder, "other")))
	require.NoError(t, os.Remove(filepath.Join(folder, "other")))
	if err := syscall.Setxattr(path, "user.tl", []byte("1"), 0); err == nil {
		inPlace("an attribute")
	} else {
		t.Logf("skip: no attributes on this file system: %v", err)
	}
	if os.Geteuid() == 0 {
		t.Log("skip: root writes into every folder")
		return
	}
	require.NoError(t, os.Chmod(folder, 0o500))
	defer os.Chmod(folder, 0o700)
	inPlace("a folder that takes no file")
}

// TestANameThatCannotBeGiven is a mount point, say: the content goes into the old file.
func TestANameThatCannotBeGiven(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	require.NoError(t, WriteText(path, "old, and longer than the new one"))
	before := inode(t, path)
	f := create(t, path, "new")
	require.NotEmpty(t, f.temporary)
	f.target = filepath.Join(folder, "no", "such")
	require.NoError(t, f.Publish())
	_, err := f.WriteAt([]byte("er"), 3)
	require.NoError(t, err)
	f.Close()
	assert.Equal(t, "newer", read(t, path))
	assert.Equal(t, before, inode(t, path))
	assert.Equal(t, []string{"file"}, names(t, folder))
}

// TestADescriptorGoesOn by its name in the file system: what it has written stays.
func TestADescriptorGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(path)
	require.NoError(t, err)
	defer log.Close()
	_, err = log.WriteString("log\n")
	require.NoError(t, err)
	if _, err := os.Readlink("/proc/self/fd/0"); err != nil {
		t.Skip("skip: there is no /proc")
	}
	name := fmt.Sprintf("/dev/fd/%d", log.Fd())
	require.NoError(t, WriteText(name, "report\n"))
	assert.Equal(t, "log\nreport\n", read(t, path))
}
