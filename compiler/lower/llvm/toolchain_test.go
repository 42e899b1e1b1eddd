package llvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// toolchain compiles modules of the tests and links them with the runtime.
type toolchain struct {
	clang   string
	version int
	flags   []string // so that it takes opaque pointers
	library string   // the folder with libtl_runtime.so
}

// compilers are tried in this order.
var compilers = []struct {
	name    string
	version int
}{{"clang-20", 20}, {"clang-19", 19}, {"clang-18", 18}, {"clang-17", 17}, {"clang-16", 16}, {"clang-15", 15},
	{"clang-14", 14}}

// findToolchain skips the test where there is no clang or no library.
func findToolchain(t testing.TB) *toolchain {
	t.Helper()
	dir := os.Getenv("TL_BUILD_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "build")
	}
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "libtl_runtime.so")); err != nil {
		t.Skipf("skip: no libtl_runtime.so in %s: `make lib` builds it, TL_BUILD_DIR says where it is", dir)
	}
	for _, c := range compilers {
		if path, err := exec.LookPath(c.name); err == nil {
			return newToolchain(path, c.version, dir)
		}
	}
	t.Skip("skip: clang 14 to 20 is not installed")
	return nil
}

func newToolchain(clang string, version int, library string) *toolchain {
	tc := &toolchain{clang: clang, version: version, library: library, flags: []string{"-Wno-override-module"}}
	if version == 14 {
		tc.flags = append(tc.flags, "-mllvm", "-opaque-pointers")
	}
	return tc
}

// build compiles the text of a module with a C program and returns the executable.
func (tc *toolchain) build(t testing.TB, module, program string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	object, executable := filepath.Join(dir, "module.o"), filepath.Join(dir, "program")
	tc.run(t, append(append(append([]string{}, tc.flags...), flags...), "-c", "-fPIC", write("module.ll", module), "-o",
		object)...)
	tc.run(t, "-O1", "-Wall", "-Wextra", "-Werror", "-I../../../include", write("program.c", program), object, "-o",
		executable,
		"-L"+tc.library, "-ltl_runtime", "-Wl,-rpath,"+tc.library)
	return executable
}

func (tc *toolchain) run(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command(tc.clang, args...).CombinedOutput(); err != nil {
		if keep := os.Getenv("TL_KEEP"); keep != "" {
			for _, a := range args {
				if text, err := os.ReadFile(a); err == nil && strings.HasSuffix(a, ".ll") {
					os.WriteFile(filepath.Join(keep, filepath.Base(a)), text, 0o644)
				}
			}
		}
		t.Fatalf("%s: %v\n%s", tc.clang, err, out)
	}
}

// execute runs an executable through one of the paths and returns its lines.
func execute(t testing.TB, executable, path string, args ...string) []string {
	t.Helper()
	command := exec.Command(executable, args...)
	command.Env = append(os.Environ(), "TL_FASTPATH="+path)
	var errors strings.Builder
	command.Stderr = &errors
	out, err := command.Output()
	if err != nil {
		t.Fatalf("TL_FASTPATH=%s: %v\n%s%s", path, err, tail(string(out)), errors.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func tail(text string) string { return text[max(0, len(text)-2000):] }
