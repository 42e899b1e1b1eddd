package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The examples are built against the library of this working tree, print what the
// documents say, and leak nothing; addresses differ from run to run.

// quoted is a program of which the documents show only what it prints.
const quoted = "tools/doccheck/testdata/errors.c"

// must runs a command in the root of the repository and returns its output.
func must(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir, command.Env = root, append(os.Environ(), env...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// tool returns the first of the programs that is installed.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, n := range names {
		if path, err := exec.LookPath(n); n != "" && err == nil {
			return path
		}
	}
	t.Skipf("skip: none of %q is installed", names)
	return ""
}

// shown returns the blocks of a kind in all documents, by the path they name.
func shown(t *testing.T, kind string) map[string]string {
	t.Helper()
	docs, err := load(root)
	require.NoError(t, err)
	all := map[string]string{}
	for _, d := range docs {
		maps.Copy(all, d.blocks(kind))
	}
	return all
}

// library returns the folder of both libraries, which make builds where they are not fresh.
func library(t *testing.T) string {
	t.Helper()
	must(t, []string{"MAKEFLAGS=", "MAKELEVEL="}, "make", "lib", "full")
	folder, err := filepath.Abs(filepath.Join(root, "build"))
	require.NoError(t, err)
	return folder
}

func TestExamplesPrintWhatDocumentsSay(t *testing.T) {
	cc := tool(t, os.Getenv("CC"), "cc", "gcc", "clang")
	lib := library(t)
	run := map[string]func(*testing.T) string{
		"examples/hello.c": func(t *testing.T) string { return compiled(t, lib, cc, "-std=c99", "examples/hello.c") },
		"examples/hello.cpp": func(t *testing.T) string {
			return compiled(t, lib, tool(t, os.Getenv("CXX"), "c++", "g++", "clang++"), "-std=c++17",
				"examples/hello.cpp")
		},
		"examples/weak.c": func(t *testing.T) string { return compiled(t, lib, cc, "-std=c99", "examples/weak.c") },
		"examples/graph.c": func(t *testing.T) string {
			return linked(t, lib, "tl_runtime_full", cc, "-std=c99", "examples/graph.c")
		},
		"examples/graph.py":       func(t *testing.T) string { return graphs(t, lib, "examples/graph.py") },
		"examples/graph_arena.py": func(t *testing.T) string { return graphs(t, lib, "examples/graph_arena.py") },
		"examples/shared.c":       func(t *testing.T) string { return compiled(t, lib, cc, "-std=c99", "examples/shared.c") },
		"examples/hello.py":       func(t *testing.T) string { return python(t, lib, "examples/hello.py") },
		"examples/values.py":      func(t *testing.T) string { return python(t, lib, "examples/values.py") },
		"examples/hello.ll":       func(t *testing.T) string { return interpreted(t, lib, "examples/hello.ll") },
		"examples/inlined.c":      func(t *testing.T) string { return compiled(t, lib, cc, "-std=c99", "examples/inlined.c") },
		"examples/inlined.ll":     func(t *testing.T) string { return inlined(t, lib, "examples/inlined.ll") },
		"examples/cells.ll":       func(t *testing.T) string { return inlined(t, lib, "examples/cells.ll") },
		"examples/structs.ll":     func(t *testing.T) string { return inEachMode(t, lib, "examples/structs.ll") },
		"examples/loop.ll":        func(t *testing.T) string { return inlined(t, lib, "examples/loop.ll") },
		"examples/go/main.go":     func(t *testing.T) string { return must(t, nil, "go", "run", "./examples/go") },
		quoted:                    func(t *testing.T) string { return compiled(t, lib, cc, "-std=c99", quoted) },
	}
	outputs, files := shown(t, "output"), shown(t, "file")
	for path := range outputs {
		if run[path] == nil && !strings.HasPrefix(path, bugsPath) {
			t.Errorf("nothing runs %s, whose output is shown", path)
		}
	}
	for path, output := range run {
		t.Run(path, func(t *testing.T) {
			want, isShown := outputs[path]
			if !isShown {
				t.Fatal("no document shows what it prints")
			}
			if _, isShown := files[path]; !isShown && path != quoted {
				t.Error("no document shows its text")
			}
			if got := output(t); masked(got) != masked(want) {
				t.Errorf("it prints\n%s\nthe document says\n%s", got, want)
			}
		})
	}
}

// The commands of each tried page run as they stand, in the root of the working tree.
// What they build is what `make` builds there.
func TestTriedPagesRunAsTheyStand(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: the long half")
	}
	docs, err := load(root)
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(root, "build", "venv", ".ready")); err != nil {
		t.Skip("skip: build/venv is not there; make venv")
	}
	for path, page := range docs {
		if !isTriedPage(path) {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			environment := []string{"MAKEFLAGS=", "MAKELEVEL=", "TMPDIR=" + t.TempDir()}
			for _, s := range page.steps() {
				if s.where != "" && !succeeds(environment, s.where) {
					t.Logf("skip: %s: this machine fails `%s`", path, s.where)
					continue
				}
				out := must(t, environment, "sh", "-euc", s.commands)
				if s.isShown && !matches(out, s.prints) {
					t.Errorf("it prints\n%s\nthe page says\n%s", out, s.prints)
				}
			}
		})
	}
}

// succeeds tells whether a command of the shell does, in the root of the repository.
func succeeds(env []string, condition string) bool {
	command := exec.Command("sh", "-c", condition)
	command.Dir, command.Env = root, append(os.Environ(), env...)
	return command.Run() == nil
}

// checked has a program fail when it leaks.
var checked = []string{"TL_LEAK_CHECK=fail", "TL_TRACK=1"}

func compiled(t *testing.T, lib, compiler, standard, source string) string {
	return linked(t, lib, "tl_runtime", compiler, standard, source)
}

// linked is compiled for a program of another library.
func linked(t *testing.T, lib, library, compiler, standard, source string) string {
	program := filepath.Join(t.TempDir(), "example")
	must(t, nil, compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude", source, "-o", program,
		"-L"+lib, "-l"+library, "-Wl,-rpath,"+lib)
	return must(t, checked, program)
}

func withLibrary(lib string) []string {
	return append([]string{"PYTHONPATH=python", "TL_RUNTIME_LIBRARY=" + filepath.Join(lib, "libtl_runtime.so")},
		checked...)
}

// interpreter returns a Python that has a module.
func interpreter(t *testing.T, module string) string {
	t.Helper()
	venv, err := filepath.Abs(filepath.Join(root, "build", "venv", "bin", "python"))
	require.NoError(t, err)
	python := tool(t, venv, "python3", "python")
	if exec.Command(python, "-c", "import "+module).Run() != nil {
		t.Skipf("skip: %s has no %s", python, module)
	}
	return python
}

func python(t *testing.T, lib, script string) string {
	return must(t, withLibrary(lib), interpreter(t, "numpy"), script)
}

// graphs runs a script that plans and compiles graphs.
func graphs(t *testing.T, lib, script string) string {
	environment := append(withLibrary(lib), "TL_RUNTIME_LIBRARY="+filepath.Join(lib, "libtl_runtime_full.so"))
	return must(t, environment, interpreter(t, "llvmlite"), script)
}

// interpreted runs a module's main with lli, or with llvmlite: LLVM's own tools may be too
// old for opaque pointers, or missing.
func interpreted(t *testing.T, lib, source string) string {
	if lli, err := exec.LookPath("lli"); err == nil {
		for _, flags := range [][]string{nil, {"-opaque-pointers"}} {
			args := append(flags, "--load="+filepath.Join(lib, "libtl_runtime.so"), source)
			command := exec.Command(lli, args...)
			command.Dir, command.Env = root, append(os.Environ(), checked...)
			if out, err := command.Output(); err == nil {
				return string(out)
			}
		}
	}
	return must(t, withLibrary(lib), interpreter(t, "llvmlite"), "examples/jit.py", source)
}

// inEachMode runs a module's main on both paths and under TL_DEBUG; what it prints is the same.
func inEachMode(t *testing.T, lib, source string) string {
	printed := interpreted(t, lib, source)
	for _, mode := range [][2]string{{"TL_FASTPATH", "0"}, {"TL_DEBUG", "1"}} {
		t.Setenv(mode[0], mode[1])
		if again := interpreted(t, lib, source); again != printed {
			t.Errorf("%s with %s=%s prints %q", source, mode[0], mode[1], again)
		}
	}
	return printed
}

// inlined runs a module's main with the operations of tl_inline.ll.
func inlined(t *testing.T, lib, source string) string {
	return must(t, withLibrary(lib), interpreter(t, "llvmlite"), "examples/jit.py", source, "include/tl_inline.ll")
}

// matches tells whether a text is the wanted one, addresses apart. A line `...` of the
// wanted one stands for any number of lines, and `...` at a line's end for its rest.
func matches(text, wanted string) bool {
	lines, want := strings.Split(masked(text), "\n"), strings.Split(masked(wanted), "\n")
	for i := 0; ; i++ {
		switch {
		case i == len(want):
			return i == len(lines)
		case strings.TrimSpace(want[i]) == "...":
			rest := strings.Join(want[i+1:], "\n")
			for j := i; j <= len(lines); j++ {
				if matches(strings.Join(lines[j:], "\n"), rest) {
					return true
				}
			}
			return false
		case i == len(lines) || !sameLine(lines[i], want[i]):
			return false
		}
	}
}

func sameLine(line, wanted string) bool {
	start, isCut := strings.CutSuffix(wanted, "...")
	return line == wanted || isCut && strings.HasPrefix(line, start)
}

var address = regexp.MustCompile(`0x[0-9a-f]+`)

func masked(text string) string { return address.ReplaceAllString(text, "0x...") }
