package compile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program is in the dialect of a version: LLVM 14 knows pointers to something alone.
func program(llvm int) string {
	pointer := "ptr"
	if llvm == Oldest {
		pointer = "i32*"
	}
	return fmt.Sprintf("define i32 @answer(%[1]s %%p) {\n  %%v = load i32, %[1]s %%p\n  %%r = add i32 %%v, 2\n  ret "+
		"i32 %%r\n}\n", pointer)
}

// python is the interpreter that the tests' packages were installed for.
func python() string {
	if path := os.Getenv("TL_PYTHON"); path != "" {
		return path
	}
	if path, err := filepath.Abs("../../../../build/venv/bin/python"); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "python3"
}

// Each compiler that is there makes a shared object in which the function is found.
func TestEachCompiler(t *testing.T) {
	t.Setenv(CacheVariable, t.TempDir())
	for _, kind := range []string{"clang", "llc", "llvmlite"} {
		c, err := Find(kind, python())
		if err != nil {
			fmt.Println("skip:", err)
			continue
		}
		t.Run(fmt.Sprintf("%s-%d", kind, c.LLVM), func(t *testing.T) {
			calls := 0
			emit := func(w io.Writer, llvm int) error {
				calls++
				assert.Equal(t, c.LLVM, llvm)
				_, err := io.WriteString(w, program(llvm))
				return err
			}
			path, err := c.Shared(emit)
			require.NoError(t, err)
			assert.Equal(t, 42, answer(t, path))
			before, err := os.Stat(path)
			require.NoError(t, err)
			again, err := c.Shared(emit)
			require.NoError(t, err)
			assert.Equal(t, path, again)
			after, err := os.Stat(again)
			require.NoError(t, err)
			assert.Equal(t, before.ModTime(), after.ModTime(), "the second call finds the first one's result")
			for _, size := range []int64{0, 100, before.Size() / 2, before.Size() - 1} {
				require.NoError(t, os.Truncate(path, size))
				_, err = c.Shared(emit)
				require.NoError(t, err)
				assert.Equal(t, 42, answer(t, path), "cut to %d bytes", size)
			}
		})
	}
}

// answer calls the function in a process of its own.
func answer(t *testing.T, path string) int {
	cc, err := CC()
	require.NoError(t, err)
	folder := t.TempDir()
	source, binary := filepath.Join(folder, "main.c"), filepath.Join(folder, "main")
	require.NoError(t,
		os.WriteFile(source, []byte("int answer(int *);\nint main(void) { int v = 40; return answer(&v); }\n"), 0o600))
	require.NoError(t, call(cc, source, path, "-o", binary))
	err = exec.Command(binary).Run()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "%v", err)
	return exit.ExitCode()
}

func TestErrors(t *testing.T) {
	t.Setenv(CacheVariable, t.TempDir())
	_, err := Find("tcc", "")
	assert.ErrorContains(t, err, `no compiler "tcc"`)
	_, err = Find("llvmlite", filepath.Join(t.TempDir(), "no-python"))
	assert.ErrorContains(t, err, "llvmlite was asked for and is not there")
	c, err := Find("", python())
	if errors.Is(err, ErrNoCompiler) {
		fmt.Println("skip:", err)
		t.Skip(err)
	}
	require.NoError(t, err)
	_, err = c.Shared(func(w io.Writer, _ int) error { _, err := io.WriteString(w, "define nonsense"); return err })
	assert.ErrorContains(t, err, "failed")
	_, err = c.Shared(func(io.Writer, int) error { return io.ErrUnexpectedEOF })
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	left, err := filepath.Glob(filepath.Join(os.Getenv(CacheVariable), "*"))
	require.NoError(t, err)
	assert.Empty(t, left, "what failed leaves nothing in the cache")
}

// `make demo` installs llvmlite into build/small, where build/tl did not look for it.
func TestInterpretersBesideTheProgram(t *testing.T) {
	assert.Equal(t, []string{"python3", "/src/build/small/bin/python", "/src/build/venv/bin/python"},
		interpreters("", "/src/build/tl"))
	assert.Equal(t, []string{"/usr/bin/python3.12"}, interpreters("/usr/bin/python3.12", "/src/build/tl"))
}

// Code from the cache is executed with the rights of this user.
func TestTheCacheIsTheUsersAlone(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(CacheVariable, folder)
	for _, mode := range []os.FileMode{0o777, 0o770, 0o777 | os.ModeSticky, 0o702} {
		require.NoError(t, os.Chmod(folder, mode))
		_, err := Folder()
		assert.ErrorContains(t, err, folder+" may be written by others (mode ")
		assert.ErrorContains(t, err, "chmod go-w, or name a folder of your own in TL_CACHE")
	}
	for _, mode := range []os.FileMode{0o700, 0o755, 0o500} {
		require.NoError(t, os.Chmod(folder, mode))
		found, err := Folder()
		assert.NoError(t, err)
		assert.Equal(t, folder, found)
	}
	require.NoError(t, os.Chmod(folder, 0o700))
	link := filepath.Join(folder, "link")
	require.NoError(t, os.Symlink(folder, link))
	t.Setenv(CacheVariable, link)
	_, err := Folder()
	assert.NoError(t, err, "what counts is where a link leads")
	if os.Chown(folder, 65534, -1) != nil {
		fmt.Println("skip: only root can give a folder to another user")
		return
	}
	_, err = Folder()
	assert.ErrorContains(t, err, "belongs to user 65534, so its machine code may be another's")
}
