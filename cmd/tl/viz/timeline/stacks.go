package timeline

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// place is a frame's file and line in short, "" when they are not known.
func (f *frame) place() string {
	if f.File == "" || f.Line == 0 {
		return ""
	}
	return filepath.Base(f.File) + ":" + strconv.Itoa(f.Line)
}

// function is a frame's function, "" of a line that a program has given without one.
func (f *frame) function() string {
	if f.Name == f.place() {
		return ""
	}
	return f.Name
}

// text is how pages call a frame: file and line before the function.
func (f *frame) text() string { return strings.TrimSpace(f.place() + " " + f.function()) }

// full is a frame with its folders.
func (f *frame) full() string {
	switch {
	case f.place() == "":
		return f.Name
	case f.function() == "":
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Name)
}

// walk goes through the frames of a site, innermost first.
func walk(site uint32, frames map[string]frame) func(yield func(frame) bool) {
	return func(yield func(frame) bool) {
		id := strconv.Itoa(int(site))
		for range mostFrames {
			f, known := frames[id]
			if site == 0 || !known || !yield(f) {
				return
			}
			id = f.Parent
		}
	}
}

// mostFrames bounds a stack, which might be a ring in a file that others have changed.
const mostFrames = 128

// Stack returns all frames of a site, innermost first.
func (t *Trace) Stack(site uint32) (all []string) {
	for f := range walk(site, t.frames) {
		all = append(all, f.full())
	}
	return all
}

// code returns the frames of a site that a reader wants, innermost first: those of the
// program. It leaves out what starts a process, the interpreter between two functions of
// Python, and what lies below a line that the program has given, where the stack has
// that line.
func (t *Trace) code(site uint32) []frame {
	all := slices.Collect(walk(site, t.frames))
	if len(all) == 0 || all[0].Name == "[unknown]" {
		return nil
	}
	if given := all[0]; given.function() == "" {
		for i := range all[1:] {
			if f := all[i+1]; f.File == given.File && f.Line == given.Line {
				all = all[i+1:]
				break
			}
		}
	}
	interpreted := slices.ContainsFunc(all, func(f frame) bool { return interpreter.MatchString(f.Name) })
	left := slices.DeleteFunc(slices.Clone(all), func(f frame) bool {
		return start.MatchString(f.Name) || interpreted && plumbing(&f)
	})
	if len(left) == 0 {
		return all
	}
	return left
}

var (
	// start are the functions around main, of the C library.
	start = regexp.MustCompile(`^(_start|__libc_start\w*|libc\.so\.6\+0x\w+)\b`)

	// interpreter is the function that every stack has in which CPython runs a program.
	interpreter = regexp.MustCompile(`^(_PyEval_EvalFrameDefault|Py_BytesMain|Py_RunMain)\b`)

	// cpython are the sources of CPython, whose lines say nothing of the program.
	cpython = regexp.MustCompile(`(^|/)(Python|Objects|Modules|Include|Parser)/.*\.[ch]$`)

	// modules are the files that stand between Python and the library, without lines.
	modules = regexp.MustCompile(`\b(libpython[\w.]*|python[\d.]+|libffi\.so[\d.]*|_ctypes[\w.-]*|_fast\.abi3\.so)\+0x\w+`)
)

// plumbing tells whether a frame is the interpreter's.
func plumbing(f *frame) bool { return cpython.MatchString(f.File) || modules.MatchString(f.Name) }
