package output

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func read(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func create(t *testing.T, path, text string) *File {
	f, err := Create(path)
	require.NoError(t, err)
	_, err = f.Write([]byte(text))
	require.NoError(t, err)
	return f
}

func finish(t *testing.T, f *File) {
	require.NoError(t, f.Publish())
	f.Close()
}

// names are the files of a folder, hidden ones too.
func names(t *testing.T, folder string) (all []string) {
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestNamesBeside(t *testing.T) {
	pid := os.Getpid()
	for path, want := range map[string]string{
		"trace.json": "trace-%d.json", "/a.b/heap.pb.gz": "/a.b/heap-%d.pb.gz", "plain": "plain-%d",
		".hidden": ".hidden-%d", "../x.y": "../x-%d.y",
	} {
		assert.Equal(t, fmt.Sprintf(want, pid), Beside(path, 1))
	}
	assert.Equal(t, fmt.Sprintf("trace-%d-3.json", pid), Beside("trace.json", 3))
}

// TestAHeldFileIsLeftAlone has others come while a file is open: the lock belongs to the
// open file, so that a second one of this process is as good as another process.
func TestAHeldFileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	first := create(t, path, "the first")
	second := create(t, path, "the second")
	third := create(t, path, "the third")
	assert.Equal(t, path, first.Name())
	assert.Equal(t, Beside(path, 1), second.Name())
	assert.Equal(t, Beside(path, 2), third.Name())
	for _, f := range []*File{first, second, third} {
		finish(t, f)
	}
	assert.Equal(t, "the first", read(t, path))
	assert.Equal(t, "the second", read(t, Beside(path, 1)))
	assert.Equal(t, "the third", read(t, Beside(path, 2)))
	again := create(t, path, "new")
	finish(t, again)
	assert.Equal(t, path, again.Name())
	assert.Equal(t, "new", read(t, path), "what nobody writes is replaced, and nothing of it is left")
}

// TestACopyOfTheDescriptorHoldsNothing is what a child of fork has.
func TestACopyOfTheDescriptorHoldsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	require.NoError(t, WriteText(path, "old"))
	f := create(t, path, "text")
	for _, fd := range []int{f.fd, f.held} {
		inherited, err := syscall.Dup(fd)
		require.NoError(t, err)
		defer syscall.Close(inherited)
	}
	finish(t, f)
	next := create(t, path, "next")
	finish(t, next)
	assert.Equal(t, path, next.Name())
}

// TestAReplacedFileIsNotTaken removes a file between the opening and the lock.
func TestAReplacedFileIsNotTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	f, err := open(path)
	require.NoError(t, err)
	defer f.Close()
	require.False(t, f.made)
	var info unix.Stat_t
	require.NoError(t, unix.Fstat(f.fd, &info))
	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, f.lock(&info), errReplaced)
	require.NoError(t, os.WriteFile(path, []byte("another"), 0o600))
	require.ErrorIs(t, f.lock(&info), errReplaced)
	assert.Equal(t, "another", read(t, path))
}

// TestWithoutLocks has a file system without them: only a new file is surely nobody's.
func TestWithoutLocks(t *testing.T) {
	flock = func(int, int) error { return syscall.ENOLCK }
	defer func() { flock = syscall.Flock }()
	path := filepath.Join(t.TempDir(), "trace.json")
	for n, name := range []string{path, Beside(path, 1), Beside(path, 2)} {
		text := fmt.Sprint("text ", n)
		f := create(t, path, text)
		require.Equal(t, name, f.Name())
		finish(t, f)
		assert.Equal(t, text, read(t, name))
	}
}

func TestThereAreNotEndlesslyManyNames(t *testing.T) {
	flock = func(int, int) error { return syscall.EWOULDBLOCK }
	defer func() { flock = syscall.Flock }()
	_, err := Create(filepath.Join(t.TempDir(), "trace.json"))
	require.ErrorContains(t, err, "another process is writing it")
}

// TestDevicesAndPipesAreEverybodys writes where files have no ends.
func TestDevicesAndPipesAreEverybodys(t *testing.T) {
	for range 2 {
		f, err := Create(os.DevNull)
		require.NoError(t, err)
		defer f.Close()
		require.Equal(t, os.DevNull, f.Name())
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // not at its end while nobody writes yet
	require.NoError(t, err)
	defer reader.Close()
	long := strings.Repeat("through a pipe, ", 1<<16) // more than a pipe has room for
	texts := make(chan string)
	go func() {
		text := make([]byte, len(long))
		n, _ := io.ReadFull(reader, text)
		texts <- string(text[:n])
	}()
	require.NoError(t, WriteText(pipe, long))
	require.Equal(t, long, <-texts)
}

// TestAPipeWithoutAReaderIsRefused: opening one waits for a reader otherwise.
func TestAPipeWithoutAReaderIsRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	refused := make(chan error)
	go func() { refused <- WriteText(pipe, "for nobody") }()
	select {
	case err := <-refused:
		require.ErrorIs(t, err, syscall.ENXIO)
		require.ErrorContains(t, err, pipe+" is a pipe that no process reads")
	case <-time.After(10 * time.Second):
		t.Fatal("the writer waits for a reader")
	}
}

func TestRefusals(t *testing.T) {
	folder := t.TempDir()
	require.ErrorIs(t, WriteText(filepath.Join(folder, "no", "such"), ""), os.ErrNotExist)
	require.Error(t, WriteText(folder, ""))
	failed := fmt.Errorf("no content")
	require.ErrorIs(t, Write(filepath.Join(folder, "file"), func(io.Writer) error { return failed }), failed)
}

// TestThreadsTakeTurns has threads of one process write the same file.
func TestThreadsTakeTurns(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "stats.txt")
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for range 50 {
				assert.NoError(t, WriteText(path, strings.Repeat(fmt.Sprint(n), 10000+n)))
			}
		})
	}
	group.Wait()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	text := read(t, path)
	require.Equal(t, strings.Repeat(text[:1], len(text)), text)
}

// TestProcessesDoNotMix has processes write under one name at once, again and again: each
// file is of one of them and whole.
func TestProcessesDoNotMix(t *testing.T) {
	if path := os.Getenv("OUTPUT_TEST_FILE"); path != "" {
		for range 100 {
			require.NoError(t, WriteText(path, strings.Repeat(fmt.Sprintln(os.Getpid()), 5000)))
		}
		return
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "report.txt")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			c := exec.Command(os.Args[0], "-test.run=^TestProcessesDoNotMix$")
			c.Env = append(os.Environ(), "OUTPUT_TEST_FILE="+path)
			out, err := c.CombinedOutput()
			assert.NoError(t, err, "%s", out)
		})
	}
	group.Wait()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.LessOrEqual(t, len(entries), 5)
	for _, e := range entries {
		lines := strings.Fields(read(t, filepath.Join(folder, e.Name())))
		require.Len(t, lines, 5000, e.Name())
		for _, line := range lines {
			require.Equal(t, lines[0], line)
		}
	}
}
