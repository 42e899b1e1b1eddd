package main

/*
#include <stdlib.h>
#include "../cshim/host/allocator.h"
#include "../cshim/host/stack.h"
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

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/source"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// Memory of the caller (strings, descriptors, outputs) is read and written by
// address, one load or store at a time: a pointer to it must not live in a Go
// variable across a call, where the collector would look at it.

const maxString = 4096

func usable(addr uintptr) bool { return addr >= layout.LowestAddress }

func load[T any](addr uintptr) T { return *layout.At[T](addr) }

func store[T any](addr uintptr, value T) { *layout.At[T](addr) = value }

// fillStruct writes as much of a struct as the caller's has room for. T and the
// caller's struct begin with struct_size, which is set to the bytes filled in.
func fillStruct[T any](o *object.Context, out uintptr, name string, value func() T) status.Status {
	if !usable(out) {
		return fail(o, status.InvalidArgument, "there is no %s to fill in", name)
	}
	size := load[uintptr](out)
	if size < smallestStats {
		return fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(%s)", size, name)
	}
	v := value()
	size = min(size, unsafe.Sizeof(v)) &^ 7
	for i, word := range layout.Slice[uint64](layout.Address(&v), uint64(size)/8) {
		store(out+uintptr(i)*8, word)
	}
	store(out, size)
	return status.OK
}

// readStruct reads as much of T as the struct of the caller has, and zeros beyond. Both
// begin with struct_size.
func readStruct[T any](addr uintptr) (v T) {
	size := min(load[uintptr](addr), unsafe.Sizeof(v))
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&v)), size/8)
	for i := range words {
		words[i] = load[uint64](addr + uintptr(i)*8)
	}
	return v
}

// text copies a C string; false when none is at addr or it is too long.
func text(addr uintptr) (string, bool) {
	if !usable(addr) {
		return "", false
	}
	var buffer []byte
	for len(buffer) < maxString {
		b := load[byte](addr + uintptr(len(buffer)))
		if b == 0 {
			return string(buffer), true
		}
		buffer = append(buffer, b)
	}
	return "", false
}

// beginning copies a C string of UTF-8, or as much of a longer one as a name may have, which ends with dots then.
func beginning(addr uintptr) string {
	s, ok := text(addr)
	if ok || !usable(addr) {
		return s
	}
	const dots = "..."
	cut := string(layout.Bytes(addr, maxString-1-uint64(len(dots))))
	return strings.ToValidUTF8(cut, "") + dots
}

// textOf is text of an argument, and tells what is wrong with it.
func textOf(o *object.Context, addr uintptr, argument string) (string, status.Status) {
	s, ok := text(addr)
	switch {
	case ok:
		return s, status.OK
	case !usable(addr):
		return "", fail(o, status.InvalidArgument, "%s is needed, and %#x is no string", argument, addr)
	}
	return "", fail(o, status.InvalidArgument, "%s is longer than %d bytes", argument, maxString-1)
}

func defineType(o *object.Context, description, out uintptr) status.Status {
	if !usable(description) || !usable(out) {
		return fail(o, status.InvalidArgument, "description and out_type are both needed")
	}
	d := load[tl_type_desc](description)
	return defineDescribed(o, d, d.Destructor, 0, out)
}

// defineDescribed defines a type with a destructor, which gets context as its second argument
// unless that is 0.
func defineDescribed(o *object.Context, d tl_type_desc, destructor, context, out uintptr) status.Status {
	offsets, st := pointerOffsets(o, d)
	if st != status.OK {
		return st
	}
	name, named := text(d.Name)
	if !named {
		name = "unnamed"
	}
	if d.Flags != 0 {
		return fail(o, status.InvalidArgument, "flags %#x are unknown; pass 0", d.Flags)
	}
	t := object.Type{Name: name, Size: d.Size, Offsets: offsets, Destructor: destructor, Context: context}
	id, st := o.Define(t)
	if st == status.OK {
		store(out, id)
	}
	return st
}

// pointerOffsets copies the offsets of a description. More pointers than fit
// into the size are refused before the array is read.
func pointerOffsets(o *object.Context, d tl_type_desc) ([]uintptr, status.Status) {
	if d.NumPointers > d.Size/8 {
		return nil, fail(o, status.InvalidArgument, "%d pointers do not fit into %d bytes", d.NumPointers, d.Size)
	}
	if d.NumPointers > 0 && !usable(d.PointerOffsets) {
		return nil, fail(o, status.InvalidArgument, "pointer_offsets is NULL for %d pointers", d.NumPointers)
	}
	if st := roomFor(o, d.NumPointers); st != status.OK {
		return nil, st
	}
	var offsets []uintptr
	for i := range d.NumPointers {
		offsets = append(offsets, load[uintptr](d.PointerOffsets+i*8))
	}
	return offsets, status.OK
}

// allocTmp is Alloc for the signed size that the TL compiler passes.
func allocTmp(o *object.Context, bytes int64) uintptr {
	if bytes < 0 {
		fail(o, status.InvalidArgument, "%d is negative; sizes are not", bytes)
		return 0
	}
	return o.Alloc(uintptr(bytes))
}

// callProgram calls a function of the program's, with integers and addresses of C, on the stack that the program's call
// came from: hosts compare the stack pointer with the bounds of a thread.
func callProgram(function, a, b, c, d uintptr) uintptr {
	return uintptr(C.tlc_call_program(C.uintptr_t(function), C.uintptr_t(a), C.uintptr_t(b), C.uintptr_t(c),
		C.uintptr_t(d)))
}

const pointerBytes = 8

func checkArray(o *object.Context, array, n uintptr) status.Status {
	if n > 0 && (!usable(array) || n > layout.ForeignBytes/pointerBytes) {
		return fail(o, status.InvalidArgument, "an array of %d values is needed; %#x is none", n, array)
	}
	return status.OK
}

// roomFor refuses a call whose copy of the caller's values would end the process, as Go
// does without memory.
func roomFor(o *object.Context, n uintptr) status.Status {
	const copies = 3
	if !memory.Obtainable(uint64(n) * copies * pointerBytes) {
		return fail(o, status.OutOfMemory, "the system refuses the memory for %d values", n)
	}
	return status.OK
}

// addresses reads an array of n pointers of the caller's.
func addresses(o *object.Context, array, n uintptr) ([]uintptr, status.Status) {
	if st := checkArray(o, array, n); st != status.OK {
		return nil, st
	}
	if st := roomFor(o, n); st != status.OK {
		return nil, st
	}
	values := make([]uintptr, n)
	for i := range n {
		values[i] = load[uintptr](array + i*pointerBytes)
	}
	return values, status.OK
}

// optional tells whether an output is NULL or can be written.
func optional(out uintptr) bool { return out == 0 || usable(out) }

func storeWanted[T any](out uintptr, value T) {
	if out != 0 {
		store(out, value)
	}
}

// fillWhole is fillStruct for a struct that the caller has to know as a whole.
func fillWhole[T any](o *object.Context, out uintptr, name string, value func() (T, status.Status)) status.Status {
	var whole T
	if usable(out) && load[uintptr](out) < unsafe.Sizeof(whole) {
		return fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(%s)", load[uintptr](out), name)
	}
	if !usable(out) {
		return fail(o, status.InvalidArgument, "there is no %s to fill in", name)
	}
	whole, st := value()
	if st != status.OK {
		return st
	}
	return fillStruct(o, out, name, func() T { return whole })
}

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
	stamps.Clear()
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
