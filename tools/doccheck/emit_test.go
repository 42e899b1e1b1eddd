package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/start-emit.md shows what a compiler emits for each construct. Its commands run the
// modules as they are; these tests hold what the page says happens otherwise.

const (
	emitPage   = "docs/start-emit.md"
	emitFolder = "examples/emit"
	emitDriver = "main.ll"
)

func emitModules(t *testing.T) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, emitFolder, "*.ll"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no modules in %s: %v", emitFolder, err)
	}
	for _, p := range paths {
		all = append(all, filepath.Base(p))
	}
	return all
}

func readModule(t *testing.T, module string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, emitFolder, module))
	require.NoError(t, err)
	return string(text)
}

func TestEveryConstructIsShownAndRun(t *testing.T) {
	docs, err := load(root)
	require.NoError(t, err)
	files, driver := docs[emitPage].blocks("file"), readModule(t, emitDriver)
	for _, module := range emitModules(t) {
		if module == emitDriver {
			continue
		}
		if _, isShown := files[emitFolder+"/"+module]; !isShown {
			t.Errorf("%s does not show %s", emitPage, module)
		}
		if entry := "@demo_" + strings.TrimSuffix(module, ".ll") + ")"; !strings.Contains(driver, entry) {
			t.Errorf("%s does not call %s", emitDriver, entry)
		}
	}
}

// otherwise is one call of a module that is left out, or replaced, and what then shows it:
// a line that the program prints or that the library logs, as a regular expression.
var otherwise = []struct{ name, module, call, instead, shows string }{
	{"ResultNotUnregistered", "early.ll", "call i32 @tl_mem_unregister(ptr %b)", "",
		"tl_mem_register_struct: TL_E_NOT_LIVE"},
	{"ResultNotRegistered", "call.ll", "call i32 @tl_mem_register_struct(ptr %a)", "",
		"nobody took its floating reference"},
	{"ParameterReleased", "parameter.ll", "call i32 @tl_mem_unregister(ptr %larger)",
		"call i32 @tl_ptr_release(ptr %larger)", "tl_mem_register_struct: TL_E_NOT_LIVE"},
	{"LoopWithoutAcquire", "loop.ll", "call ptr @tl_ptr_acquire(ptr %box)", "", "tl_ptr_release: TL_E_NOT_LIVE"},
	{"LoopWithoutRelease", "loop.ll", "call i32 @tl_ptr_release(ptr %last)", "", "^999 live objects"},
	{"BreakWithoutExits", "break.ll", "call i32 @tl_mem_exit_scopes_to(i64 %depth)", "", "^2 live objects, 2 open"},
	{"EarlyReturnWithoutExit", "early.ll", "call i32 @tl_mem_function_exit()", "", "live objects, 2 open"},
	{"FieldWithoutAcquire", "field.ll", "call ptr @tl_ptr_acquire(ptr %next)", "", "^field +-?[0-9]{6,}"},
	{"FieldWithoutRelease", "field.ll", "call i32 @tl_ptr_release(ptr %old)", "", "^2 live objects"},
	{"FieldOfNoType", "field.ll", "@node.pointers, i64 1,", "null, i64 0,", "^1 live objects"},
	{"CaptureWithoutAcquire", "closure.ll", "call ptr @tl_ptr_acquire(ptr %b)", "", "^closure +-?[0-9]{6,}"},
	{"PoppedNotRegistered", "vec.ll", "call i32 @tl_mem_register_struct(ptr %x)", "",
		"nobody took its floating reference"},
	{"SlotReturned", "tensor.ll", "call ptr @tl_tensor_prepare_return(ptr %r)", "select i1 true, ptr %s, ptr %r",
		"tl_mem_register_tensor: TL_E_NOT_LIVE"},
	{"CatchWithoutExits", "exception.ll", "call i32 @tl_mem_exit_scopes_to(i64 %depth)", "", "live objects, 2 open"},
	{"OwnedVariableWithoutCleanup", "exception.ll", "call i32 @tl_ptr_release(ptr %v)", "", "^1 live objects"},
	{"ArgumentNotReleased", "thread.ll", "call i32 @tl_ptr_release(ptr %b)", "", "^1 live objects"},
}

// Each call of the page is needed. Freed memory is poisoned here (TL_DEBUG), so that a
// module which reads it prints no plausible number.
func TestEmittedCodeGoesWrongWithoutACall(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: the long half")
	}
	python, lib := interpreter(t, "llvmlite"), library(t)
	said := func(t *testing.T, module, text string) string {
		changed := filepath.Join(t.TempDir(), module)
		require.NoError(t, os.WriteFile(changed, []byte(text), 0o600))
		args := []string{emitFolder + "/build.py"}
		for _, m := range emitModules(t) {
			if m == module {
				args = append(args, changed)
			} else {
				args = append(args, emitFolder+"/"+m)
			}
		}
		command := exec.Command(python, args...)
		command.Dir, command.Env = root, append(os.Environ(), withLibrary(lib)...)
		command.Env = append(command.Env, "TL_DEBUG=1", "TL_ON_ERROR=log", "TL_TRACK=0")
		out, _ := command.CombinedOutput() // the status is no sign: freed memory may be read without one
		return string(out)
	}
	asItIs := said(t, emitDriver, readModule(t, emitDriver))
	for _, o := range otherwise {
		t.Run(o.name, func(t *testing.T) {
			text, shows := readModule(t, o.module), regexp.MustCompile("(?m)"+o.shows)
			if strings.Count(text, o.call) == 0 {
				t.Fatalf("%s has no %s", o.module, o.call)
			}
			if shows.MatchString(asItIs) {
				t.Fatalf("%q shows nothing: the unchanged modules print it, too\n%s", o.shows, asItIs)
			}
			if out := said(t, o.module, strings.Replace(text, o.call, o.instead, 1)); !shows.MatchString(out) {
				t.Errorf("with %q instead of %q nothing shows %q:\n%s", o.instead, o.call, o.shows, out)
			}
		})
	}
}
