package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The examples are built against the library of this working tree, print what README
// says, and leak nothing; addresses differ from run to run.

// quoted is a program of which README shows only what it prints.
const quoted = "tools/doccheck/testdata/errors.c"

var address = regexp.MustCompile(`0x[0-9a-f]+`)

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

func TestExamplesPrintWhatREADMESays(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: builds the library")
	}
	docs, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	readme := docs["README.md"]
	if readme == nil {
		t.Fatal("no README.md")
	}
	cc := tool(t, os.Getenv("CC"), "cc", "gcc", "clang")
	lib := t.TempDir()
	must(t, nil, "sh", "packaging/build_library.sh", lib)
	run := map[string]func(*testing.T) string{
		"examples/hello.c": func(t *testing.T) string { return compiled(t, lib, cc, "-std=c99", "examples/hello.c") },
		"examples/hello.cpp": func(t *testing.T) string {
			return compiled(t, lib, tool(t, os.Getenv("CXX"), "c++", "g++", "clang++"), "-std=c++17", "examples/hello.cpp")
		},
		"examples/hello.py":   func(t *testing.T) string { return python(t, lib, "examples/hello.py") },
		"examples/hello.ll":   func(t *testing.T) string { return interpreted(t, lib, "examples/hello.ll") },
		"examples/go/main.go": func(t *testing.T) string { return must(t, nil, "go", "run", "./examples/go") },
		quoted:                func(t *testing.T) string { return compiled(t, lib, cc, "-std=c99", quoted) },
	}
	shown := readme.blocks("output")
	for path, output := range run {
		t.Run(path, func(t *testing.T) {
			want, isShown := shown[path]
			if !isShown {
				t.Fatal("README does not show what it prints")
			}
			if _, isShown := readme.blocks("file")[path]; !isShown && path != quoted {
				t.Error("README does not show its text")
			}
			mask := func(s string) string { return address.ReplaceAllString(s, "0x...") }
			if got := output(t); mask(got) != mask(want) {
				t.Errorf("it prints\n%s\nREADME says\n%s", got, want)
			}
		})
	}
}

// checked has a program fail when it leaks.
var checked = []string{"TL_LEAK_CHECK=fail", "TL_TRACK=1"}

func compiled(t *testing.T, lib, compiler, standard, source string) string {
	program := filepath.Join(t.TempDir(), "example")
	must(t, nil, compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude", source, "-o", program,
		"-L"+lib, "-ltl_runtime", "-Wl,-rpath,"+lib)
	return must(t, checked, program)
}

func withLibrary(lib string) []string {
	return append([]string{"PYTHONPATH=python", "TL_RUNTIME_LIBRARY=" + filepath.Join(lib, "libtl_runtime.so")}, checked...)
}

// interpreter returns a Python that has a module.
func interpreter(t *testing.T, module string) string {
	t.Helper()
	venv, err := filepath.Abs(filepath.Join(root, "build", "venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	python := tool(t, venv, "python3", "python")
	if exec.Command(python, "-c", "import "+module).Run() != nil {
		t.Skipf("skip: %s has no %s", python, module)
	}
	return python
}

func python(t *testing.T, lib, script string) string {
	return must(t, withLibrary(lib), interpreter(t, "numpy"), script)
}

// jit runs a module's main with llvmlite; LLVM's own tools may be too old for
// opaque pointers, or missing.
const jit = `
import ctypes, os, sys
import llvmlite.binding as llvm
for start in ("initialize", "initialize_native_target", "initialize_native_asmprinter"):
    try:
        getattr(llvm, start)()
    except RuntimeError:  # newer ones do the first by themselves
        pass
llvm.load_library_permanently(os.environ["TL_RUNTIME_LIBRARY"])
module = llvm.parse_assembly(open(sys.argv[1]).read())
module.verify()
engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
engine.finalize_object()
ctypes.CFUNCTYPE(ctypes.c_int)(engine.get_function_address("main"))()
ctypes.CDLL(None).fflush(None)
`

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
	return must(t, withLibrary(lib), interpreter(t, "llvmlite"), "-c", jit, source)
}
