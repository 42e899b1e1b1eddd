// # Python
//
// Python and NumPy call these functions without running Python code: they
// allocate memory for NumPy's arrays and end DLPack's capsules. The package
// tl_runtime is pure Python; it only passes their addresses on.
//
// The memory functions have the signatures of NumPy's PyDataMem_Handler (NEP
// 49). They ignore ctx. A block that they return has one counted reference,
// which tl_numpy_free drops, on any thread. Further references (an emitted
// tl_ptr_acquire or tl_mem_register of an array's data) keep the block. The
// functions also work in a forked child: memory that the fast path does not
// have comes from malloc there.
package main

/*
#include <stdint.h>
#include "../cshim/host/allocator.h"

static uintptr_t tlc_realloc(uintptr_t block, size_t bytes) { return (uintptr_t)tlc_host.realloc((void*)block, bytes); }
*/
import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tl_numpy_malloc returns memory for an array, aligned to 32 bytes, to 64 where
// bytes is a multiple of 64. A request for 0 bytes counts as 1.
//
//	C: void* tl_numpy_malloc(void* ctx, size_t bytes);
//
// Ownership: the caller holds the block and gives it back with tl_numpy_free.
// Threads: any thread, also in a forked child.
// Returns: the block, NULL on failure.
// Errors: TL_E_OUT_OF_MEMORY.
// Cost: fast; about 5 ns up to 64 KiB.
//
//export tlgo_numpy_malloc
func tlgo_numpy_malloc(c, ctx, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.AllocArray(o, 1, bytes, false) })
}

// tl_numpy_calloc is tl_numpy_malloc of count * bytes_each zeros.
//
//	C: void* tl_numpy_calloc(void* ctx, size_t count, size_t bytes_each);
//
// Ownership: the caller holds the block and gives it back with tl_numpy_free.
// Threads: any thread, also in a forked child.
// Returns: the block, NULL on failure.
// Errors: TL_E_OUT_OF_MEMORY (also when the product overflows).
// Cost: fast; that of tl_numpy_malloc, and of the zeros.
//
//export tlgo_numpy_calloc
func tlgo_numpy_calloc(c, ctx, count, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.AllocArray(o, count, bytes, true) })
}

// tl_numpy_realloc changes the size of a block and keeps as much of the
// contents as fits. With NULL it is tl_numpy_malloc.
//
//	C: void* tl_numpy_realloc(void* ctx, void* block, size_t bytes);
//
// Ownership: the call takes the block; the caller holds the returned one. On failure
// the block stays the caller's.
// Threads: any thread, also in a forked child.
// Returns: the block, NULL on failure.
// Errors: TL_E_OUT_OF_MEMORY, TL_E_UNKNOWN_POINTER (memory of the runtime that holds no
// such block, or an address that malloc cannot have returned), TL_E_INTERIOR_POINTER,
// TL_E_NOT_LIVE, TL_E_UNSUPPORTED (an object that is not plain bytes, an arena, a
// frame). Other memory goes to realloc().
// Cost: grows; only the call when the new size fits and leaves less than half of the block empty, else a copy.
// Trusts: block.
//
//export tlgo_numpy_realloc
func tlgo_numpy_realloc(c, ctx, block, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return numpyRealloc(o, block, bytes) })
}

func numpyRealloc(o *object.Context, block, bytes uintptr) uintptr {
	switch {
	case block == 0:
		return tensor.AllocArray(o, 1, bytes, false)
	case o.IsOurs(block):
		return tensor.ReallocArray(o, block, bytes)
	}
	if _, mallocs := usableSize(block); !mallocs {
		fail(o, status.UnknownPointer, "%#x is no block of the runtime's, and none that malloc can have returned",
			block)
		return 0
	}
	moved := uintptr(C.tlc_realloc(C.uintptr_t(block), C.size_t(max(bytes, 1))))
	if moved == 0 {
		fail(o, status.OutOfMemory, "realloc() has no block of %d bytes", bytes)
	}
	return moved
}

// tl_numpy_free drops the reference to a block. Memory that does not belong to
// the runtime goes to free(). tl_last_status tells what went wrong.
//
//	C: void tl_numpy_free(void* ctx, void* block, size_t bytes);
//
// Ownership: takes the caller's reference; bytes is ignored.
// Threads: any thread, also in a forked child.
// Returns: nothing.
// Errors: TL_E_UNKNOWN_POINTER (memory of the runtime that holds no such block, or an
// address that malloc cannot have returned), TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (an arena, a frame).
// Cost: fast; about 8 ns up to 64 KiB.
// Trusts: block.
const _ = "tl_numpy_free"

// tlentry_numpy_free is tl_numpy_free inside the entry guard; true: the block is not the runtime's.
//
//export tlentry_numpy_free
func tlentry_numpy_free(c, block uintptr) bool {
	return guarded(c, false, func(o *object.Context) bool {
		if !o.IsOurs(block) {
			return true
		}
		tensor.FreeArray(o, block)
		return false
	})
}

// tl_numpy_handler returns the struct PyDataMem_Handler, version 1, that names
// these four functions.
//
//	C: const void* tl_numpy_handler(void);
//
// Ownership: static.
// Returns: its address.
// Errors: none.
// Cost: fast; constant.
// LLVM: nounwind, returns nonnull.
const _ = "tl_numpy_handler"

// tl_python_lines makes tracking record the frames of Python code, up to 50, among
// the C frames of call stacks, in place of the interpreter's own C frames, where a
// stack first enters the interpreter. That holds for calls by a thread that holds the
// interpreter's lock; for others see tl_python_site. Frames whose file begins with skip,
// such as the folder of NumPy's own code, are passed over: those of C, and those of
// Python where they are innermost. Each call adds one such folder, up to 8.
//
//	C: tl_status tl_python_lines(const char* skip);
//
// Ownership: none; skip is copied. Names of functions and files that stand in recorded
// stacks are copied as well: no object of Python's is kept.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (NULL, "", or more than 4095 bytes), TL_E_UNSUPPORTED
// (the functions of CPython 3.10 and later are not among the symbols of the process),
// TL_E_LIMIT (a ninth folder).
// Cost: slow call; a lookup of symbols.
// LLVM: nounwind.
const _ = "tl_python_lines"

// tl_python_site adds the frames of Python code to the record of an allocation that
// the calling thread has just made, by a call that it made without the interpreter's
// lock, as ctypes does. Without tracking, and for an allocation that was not sampled or
// that has such frames, it does nothing.
//
//	C: bool tl_python_site(void* pointer);
//
// Ownership: none.
// Threads: one that holds the interpreter's lock.
// Returns: false if the frames are not to be had (no tl_python_lines; this thread does not
// hold the lock; another interpreter than the first one), so that the caller names
// its line by tl_track_site.
// Errors: none.
// Cost: fast; about 2 ns where the allocation was not recorded; the stack and one cgo call where it was, and,
// with TL_TRACK=1, always.
const _ = "tl_python_site"

// tl_python_api tells this library about the Python of the process: the addresses
// of functions of its C interface, and an object that all interpreters share.
//
//	C: typedef struct tl_python_api {
//	    size_t struct_size;        /* sizeof(tl_python_api) */
//	    void* capsule_new;         /* PyCapsule_New */
//	    void* capsule_is_valid;    /* PyCapsule_IsValid */
//	    void* capsule_get_pointer; /* PyCapsule_GetPointer */
//	    void* err_set_string;      /* PyErr_SetString */
//	    void* buffer_error;        /* the exception BufferError */
//	} tl_python_api;
const _ = "tl_python_api"

// tl_python_attach tells the library about the Python of the process, before the
// first tl_python_capsule. Each interpreter may call it, and gives the same addresses.
//
//	C: tl_status tl_python_attach(const tl_python_api* api);
//
// Ownership: none; the struct is copied.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (NULL, a NULL field, or a struct_size that is too small).
// Cost: slow call; constant.
// LLVM: nounwind.
const _ = "tl_python_attach"

// tl_python_capsule exports a tensor as Python's DLPack protocol requires: a
// capsule named dltensor_versioned for major version 1, dltensor for 0. If no
// consumer has taken the struct out when the capsule ends, C code gives it
// back.
//
//	C: void* tl_python_capsule(tl_tensor* tensor, uint32_t major, bool copy);
//
// Ownership: the caller holds the capsule, a PyObject, and with it a reference to
// the tensor.
// Threads: one that holds the interpreter's lock.
// Returns: the capsule; NULL for NULL, and on failure with Python's error set: a
// BufferError with the text of tl_last_error, or what PyCapsule_New has set.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no tl_python_attach, or as tl_tensor_to_dlpack and
// tl_tensor_to_dlpack_legacy), TL_E_INVALID_ARGUMENT (another major version),
// TL_E_OUT_OF_MEMORY.
// Cost: fast; tl_tensor_to_dlpack and a capsule.
const _ = "tl_python_capsule"

// tl_python_arrow exports a tensor as the PyCapsule interface of Arrow requires: a
// capsule with the type, named arrow_schema, or one with the elements, named
// arrow_array. A tensor of one axis is an array of numbers, one of more axes an
// array of lists of a fixed size. Elements lie in the tensor's memory; those with
// gaps between them are copied, and of TL_DTYPE_BOOL, which Arrow keeps in bits, a
// copy is made as well. C code ends what no consumer has taken out of the capsule,
// and what consumers have taken, on any thread.
//
//	C: void* tl_python_arrow(tl_tensor* tensor, bool schema);
//
// Ownership: the caller holds the capsule, a PyObject; that with the elements holds
// a reference to the tensor.
// Threads: one that holds the interpreter's lock.
// Returns: the capsule; NULL for NULL, and on failure with Python's error set: a
// BufferError with the text of tl_last_error, or what PyCapsule_New has set.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no tl_python_attach, not a tensor, or one in a slot, without axes,
// on a device whose memory the CPU cannot use, or of an element type that Arrow does not
// have: complex numbers and bfloat16), TL_E_OUT_OF_MEMORY.
// Cost: fast; tl_tensor_to_dlpack, an allocation and a capsule.
const _ = "tl_python_arrow"

// tl_python_registered makes a capsule, named tl_runtime.registered, that holds the
// caller's reference to a registered pointer. At the capsule's end C code calls
// tl_registry_unregister.
//
//	C: void* tl_python_registered(void* pointer);
//
// Ownership: the capsule, a PyObject that the caller holds, takes one reference of
// the caller's to the pointer. On failure the reference stays the caller's.
// Threads: one that holds the interpreter's lock.
// Returns: the capsule; NULL for NULL, and on failure with Python's error set: a
// BufferError with the text of tl_last_error, or what PyCapsule_New has set.
// Errors: TL_E_UNSUPPORTED (no tl_python_attach), TL_E_UNKNOWN_POINTER (not registered).
// Cost: fast; a capsule.
const _ = "tl_python_registered"
