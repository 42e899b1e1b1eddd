package devicetest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Compile builds a driver of the tests' own from C into a directory of the test and
// returns its path. A test that finds no compiler is skipped.
func Compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("skip: no C compiler for the driver of the tests' own")
	}
	library := filepath.Join(t.TempDir(), "libfake.so")
	args := append([]string{"-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source, "-lpthread"},
		flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", cc, args, err, out)
	}
	return library
}
