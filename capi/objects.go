// # Objects
//
// Heap objects have no header: the first byte of an object is the program's
// own. Counts, types and generations stand in records apart from the objects,
// in memory to which no program ever gets a pointer. So a write beyond the end
// of an object cannot reach a count or a free list. Objects are at least
// 32-byte aligned, 64-byte aligned where their size is a multiple of 64.
//
// An object of plain bytes owns nothing. A typed object owns the objects that
// its pointer fields refer to. At its last release the destructor runs, then
// each field is released. This uses no recursion, so a list of ten million
// nodes needs no more stack than a single node. Storing into a field of a typed
// object is a plain store: acquire what goes in, release what was there.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_type names a type that was defined with tl_type_define; 0 is plain bytes.
//
//	C: typedef uint32_t tl_type;
const _ = "tl_type"

// tl_destructor is called with an object whose last reference was dropped,
// before its fields are released and its memory is reused. It runs once in an
// object's life, even when it brings the object's count up and down again.
//
//	C: typedef void (*tl_destructor)(void* object);
const _ = "tl_destructor"

// tl_type_desc describes a type to tl_type_define. A description that is zero
// except for its size describes an object without pointers.
//
//	C: typedef struct tl_type_desc {
//	    const char* name;              /* for messages and reports; NULL is "unnamed" */
//	    size_t size;                   /* bytes of an object, not 0 */
//	    const size_t* pointer_offsets; /* offsets of the references to other objects */
//	    size_t num_pointers;           /* number of pointer_offsets; may be 0 */
//	    tl_destructor destructor;      /* NULL: none */
//	    uint32_t flags;                /* 0 */
//	} tl_type_desc;
const _ = "tl_type_desc"

// tl_mem_alloc returns an object of plain bytes with one floating reference:
// free it with tl_mem_free, or sink the reference with tl_mem_register_struct.
// The contents are undefined. A request for zero bytes returns NULL with TL_OK.
//
//	C: void* tl_mem_alloc(size_t bytes);
//
// Ownership: the reference floats; only the caller can release it.
// Threads: any thread; the calling one owns the object's count.
// Returns: the object, NULL on failure or for zero bytes.
// Errors: TL_E_OUT_OF_MEMORY.
// Cost: fast; about 3 ns up to 64 KiB.
// LLVM: returns noalias.
//
//export tlgo_mem_alloc
func tlgo_mem_alloc(c, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.Alloc(bytes) })
}

// tl_mem_new is tl_mem_alloc and tl_mem_register_struct in one call.
//
//	C: void* tl_mem_new(size_t bytes);
//
// Ownership: the current scope holds the reference; the caller borrows.
// Threads: any thread; the calling one owns the object's count.
// Returns: the object, NULL on failure or for zero bytes.
// Errors: TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; about 3 ns up to 64 KiB.
//
//export tlgo_mem_new
func tlgo_mem_new(c, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.New(bytes) })
}

// tl_mem_new_zeroed is tl_mem_new with every byte 0.
//
//	C: void* tl_mem_new_zeroed(size_t bytes);
//
// As: tl_mem_new.
// Cost: fast; tl_mem_new and a memset.
//
//export tlgo_mem_new_zeroed
func tlgo_mem_new_zeroed(c, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.NewZeroed(bytes) })
}

// tl_mem_realloc changes the size of an object of plain bytes. Contents up to
// the smaller size, count and registration stay. The address may change; the
// old address is invalid then. An object moves only while all its references
// float or stand in scopes of this thread, and its entries in these scopes get
// the new address. On failure the object is unchanged. With NULL the call is
// tl_mem_alloc.
//
//	C: void* tl_mem_realloc(void* object, size_t bytes);
//
// Ownership: unchanged; the scopes of this thread hold the object at its new
// address.
// Threads: the thread that created the object, while no other uses it.
// Returns: the object at its new address, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (zero bytes), TL_E_UNKNOWN_POINTER,
// TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_UNSUPPORTED (typed, a Vec, a
// tensor, foreign, or arena or frame memory), TL_E_BUSY (it would have to move,
// and another holder has a reference, or it was shared), TL_E_OUT_OF_MEMORY.
// Cost: fast; about 3 ns while the size class stays the same, else an allocation and a copy. A step costs the same in a
// scope of any size, and however large the object has grown, on average.
//
//export tlgo_mem_realloc
func tlgo_mem_realloc(c, pointer, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.Realloc(pointer, bytes) })
}

// tl_ptr_reuse gives up the caller's reference to an object of plain bytes and
// returns a new object, for a compiler that builds a value where it has taken
// one apart. If the reference was the last one of an object that this thread owns,
// and both sizes have one size class of up to 64 KiB, the new object lies where the
// old one lay: but not with TL_DEBUG, not when the object was shared, when a
// release by another thread still waits for its owner, or when a slot has had its
// 16 million objects. Where the result is the old address the contents stay, and no
// tl_ref, weak reference or entry of a scope leads from the old object to the new
// one. Elsewhere the call is tl_mem_alloc and then tl_ptr_release, and the contents
// are undefined: compare the addresses before you keep any. With NULL it is
// tl_mem_alloc. On failure the reference stays the caller's.
//
//	C: void* tl_ptr_reuse(void* object, size_t bytes);
//
// Ownership: takes the caller's reference; that of the new object floats.
// Threads: any thread that holds the reference; the calling one owns the count
// of the new object.
// Returns: the new object, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (zero bytes), TL_E_UNKNOWN_POINTER,
// TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_UNSUPPORTED (typed, a Vec, a
// tensor, foreign, or arena or frame memory), TL_E_OUT_OF_MEMORY.
// Cost: fast; about 4 ns up to 64 KiB.
//
//export tlgo_ptr_reuse
func tlgo_ptr_reuse(c, pointer, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.Reuse(pointer, bytes) })
}

// tl_mem_aligned_alloc is tl_mem_alloc with an address that is a multiple of
// alignment, a power of two up to 2 MiB. Everything that takes an object takes
// this one; tl_mem_realloc may move it to where it is aligned as any other. An
// object of any size that is to be aligned to more than 64 KiB takes at least
// 128 KiB.
//
//	C: void* tl_mem_aligned_alloc(size_t bytes, size_t alignment);
//
// Ownership: the reference floats; only the caller can release it.
// Threads: any thread; the calling one owns the object's count.
// Returns: the object, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (alignment is no power of two, or above 2 MiB),
// TL_E_OUT_OF_MEMORY.
// Cost: fast; about 4 ns up to 64 KiB.
// LLVM: returns noalias.
//
//export tlgo_mem_aligned_alloc
func tlgo_mem_aligned_alloc(c, bytes, alignment uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.AllocAligned(bytes, alignment) })
}

// tl_mem_usable_size returns how many bytes of an object of plain bytes the
// program may use: what it asked for or more, until tl_mem_realloc changes the
// object. With TL_DEBUG it is what was asked for. Other objects have no bytes
// beyond those that their type names, so the call refuses them as tl_mem_realloc
// does; a block that was registered is its allocator's to measure.
//
//	C: size_t tl_mem_usable_size(const void* object);
//
// Ownership: unchanged.
// Returns: the bytes, 0 on failure, and for NULL with TL_OK.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (typed, a Vec, a tensor, foreign, or arena or frame memory).
// Cost: fast; about 2 ns.
//
//export tlgo_mem_usable_size
func tlgo_mem_usable_size(c, pointer uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.UsableSize(pointer) })
}

// tl_mem_free frees an object that nobody holds. If all references of the
// object float, it ends as with tl_ptr_release: the destructor runs and the
// fields are released. If tl_ptr_dec_ref brought the count to 0, only the
// memory is freed, because the caller has released the fields itself.
//
// tl_ptr_release does not replace it, because it drops held references first: an
// object that was allocated, pushed onto a Vec and then released keeps only its
// floating reference, although the Vec relies on one. To give up the floating
// reference of an object that others hold, register the object in a scope.
//
//	C: tl_status tl_mem_free(void* object);
//
// Ownership: takes the floating references.
// Returns: TL_OK, or why the object was not freed.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_BUSY
// (a reference is held).
// Cost: fast; about 3 ns by the owner.
// Refuses: object.
// Null: TL_OK.
//
//export tlgo_mem_free
func tlgo_mem_free(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Free(pointer) })
}

// tl_mem_dealloc is tl_mem_free under another name that the TL compiler emits.
//
//	C: tl_status tl_mem_dealloc(void* object);
//
// As: tl_mem_free.
//
//export tlgo_mem_dealloc
func tlgo_mem_dealloc(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Free(pointer) })
}

// tl_alloc_tmp is tl_mem_alloc as the TL compiler declares it, for temporaries
// that it frees with tl_free_tmp.
//
//	C: void* tl_alloc_tmp(int64_t bytes);
//
// Ownership: the reference floats; only the caller can release it.
// Threads: any thread; the calling one owns the object's count.
// Returns: the object, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (negative), TL_E_OUT_OF_MEMORY.
// Cost: fast; about 3 ns up to 64 KiB.
// LLVM: returns noalias.
//
//export tlgo_alloc_tmp
func tlgo_alloc_tmp(c uintptr, bytes int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return allocTmp(o, bytes) })
}

// tl_free_tmp is tl_mem_free for what tl_alloc_tmp returned.
//
//	C: tl_status tl_free_tmp(void* object);
//
// As: tl_mem_free.
//
//export tlgo_free_tmp
func tlgo_free_tmp(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Free(pointer) })
}

// tl_type_define defines a type, which exists until the process ends. Definitions
// that are equal in name, size, offsets and destructor get one number, so a
// program may define a type wherever it needs it. There is room for 2^20
// different types, or fewer where RLIMIT_AS or RLIMIT_DATA is below 2 GiB.
//
//	C: tl_status tl_type_define(const tl_type_desc* description, tl_type* out_type);
//
// Ownership: the description, its name and its offsets are copied.
// Threads: any thread; the type holds for all of them.
// Returns: TL_OK and the type in *out_type, or why no type was defined.
// Errors: TL_E_INVALID_ARGUMENT (NULL, size 0, an offset that is not a multiple
// of 8, given twice or outside the size, unknown flags), TL_E_LIMIT (too many
// types), TL_E_OUT_OF_MEMORY (no memory for the offsets).
// Cost: slow call; linear in the number of pointers and the length of the name, however many types there are.
//
//export tlgo_type_define
func tlgo_type_define(c, description, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return defineType(o, description, out) })
}

// tl_object_new returns a zeroed object of a defined type, registered in the
// current scope.
//
//	C: void* tl_object_new(tl_type type);
//
// Ownership: the current scope holds the reference; the caller borrows.
// Threads: any thread; the calling one owns the object's count.
// Returns: the object, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such type), TL_E_OUT_OF_MEMORY,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; about 3 ns and a memset up to 64 KiB.
//
//export tlgo_object_new
func tlgo_object_new(c uintptr, kind uint32) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.ObjectNew(kind) })
}

// tl_mem_deep_clone copies an object and everything it refers to. Each typed
// object, Vec, plain object and block with a type is copied once, so the copy
// has the same sharing and the same cycles as the original. Tensors and other
// foreign memory are not copied: the copy holds references to them.
//
//	C: void* tl_mem_deep_clone(void* object);
//
// Ownership: the current scope holds the copy; the caller borrows.
// Threads: any thread, while no other changes what is copied.
// Returns: the copy, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (arena or frame memory, whose size is not known),
// TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: slow call; linear in what is copied.
// Refuses: object.
// Null: NULL.
//
//export tlgo_mem_deep_clone
func tlgo_mem_deep_clone(c, pointer uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.DeepClone(pointer) })
}

// tl_mem_collect_cycles frees objects of the calling thread that only refer to
// each other. Objects that were ever shared with another thread count as held
// from outside, and so do the objects that they refer to.
//
//	C: int64_t tl_mem_collect_cycles(void);
//
// Ownership: the references inside the garbage are released.
// Threads: the calling thread's objects. Others may count and release meanwhile
// what they were given, but change no reference in an object that they have not
// counted.
// Returns: the number of objects freed, -1 on failure.
// Errors: TL_E_OUT_OF_MEMORY.
// Cost: slow call; linear in the typed objects of the thread and what they refer to.
// Fails: -1.
//
//export tlgo_mem_collect_cycles
func tlgo_mem_collect_cycles(c uintptr) int64 {
	return guarded(c, -1, (*object.Context).CollectCycles)
}
