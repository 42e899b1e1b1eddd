package main

/*
#include <stdlib.h>
#include "../cshim/host/allocator.h"
#include "../cshim/stacks/symbols.h"

// The C++ library is the program's, and its memory is of the program's malloc.
static void tlc_free_demangled(char* name) { tlc_host.free(name); }
*/
import "C"

import (
	"cmp"
	"os"
	"strings"
	"sync"
	"unsafe"

	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/source"
	"tlruntime/runtime/observe/track"
)

// reportMutex prevents that reports to the same place mix.
var reportMutex sync.Mutex

// symbolMutex guards symbols and sources: messages of TL_DEBUG name functions, too, on the
// thread that asks for one.
var symbolMutex sync.Mutex

// symbols finds the functions of the host's code, sources its lines. What they have read
// is forgotten when a report, trace or snapshot is complete; messages of TL_DEBUG keep it
// until then.
var (
	symbols source.Symbols
	sources source.Files
	jitted  source.PerfMap
)

func forgetSources() {
	symbolMutex.Lock()
	defer symbolMutex.Unlock()
	symbols.Forget()
	sources.Forget()
	jitted.Forget()
}

func init() { leak.Resolve, leak.InSource = resolve, inSource }

func resolve(pc uintptr) leak.Frame {
	if f, is := pythonFrame(pc); is {
		return f
	}
	var s C.tlc_symbol
	symbolMutex.Lock()
	defer symbolMutex.Unlock()
	C.tlc_symbolize(C.uintptr_t(pc), &s)
	f := leak.Frame{Module: C.GoString(&s.module[0]), Offset: uint64(s.offset), Own: s.own != 0}
	switch {
	case f.Own:
	case f.Module == "":
		if jitted.Path == "" {
			jitted = source.PerfMapOf(os.Getpid())
		}
		f.Symbol = jitted.Function(uint64(pc))
	default:
		f.Symbol = cmp.Or(symbols.Function(f.Module, f.Offset), C.GoString(&s.function[0]))
	}
	f.Function = readable(f.Symbol)
	return f
}

func pythonFrame(word uintptr) (leak.Frame, bool) {
	at, is := track.PythonAt(word)
	return leak.Frame{Function: at.Function, File: at.File, Line: int(at.Line), Python: true}, is
}

// place is resolve without names of functions, and without reading files.
func place(pc uintptr) []leak.Located {
	if f, is := pythonFrame(pc); is {
		return []leak.Located{{Frame: f}}
	}
	var s C.tlc_symbol
	C.tlc_locate(C.uintptr_t(pc), &s)
	f := leak.Frame{Module: C.GoString(&s.module[0]), Offset: uint64(s.offset), Own: s.own != 0}
	return []leak.Located{{Frame: f, PC: pc}}
}

// readable is a name as its source has it: names of C++ are mangled for the linker
// (Itanium C++ ABI, section 5.1). Without the C++ library in the process they
// stay mangled.
func readable(symbol string) string {
	if !strings.HasPrefix(symbol, "_Z") {
		return symbol
	}
	name := C.CString(symbol)
	defer C.free(unsafe.Pointer(name))
	clear := C.tlc_demangle(name)
	if clear == nil {
		return symbol
	}
	defer C.tlc_free_demangled(clear)
	return C.GoString(clear)
}

// inSource returns the functions at a frame, innermost first, by the debugging information
// of its file; none without.
func inSource(f leak.Located) (all []leak.Located) {
	symbolMutex.Lock()
	defer symbolMutex.Unlock()
	for _, at := range sources.Frames(f.Module, f.Offset, f.Symbol) {
		in := f
		in.Function, in.File, in.Line = cmp.Or(readable(at.Function), f.Function), at.File, at.Line
		all = append(all, in)
	}
	return all
}
