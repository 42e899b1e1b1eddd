// # Vec
//
// A Vec is a growable array of object pointers that holds a reference to each
// of its elements. It is itself an object: it is counted, registered and
// released like any other. Its last release releases the elements, last first.
// Elements may at the same time stand in scopes and other Vecs, because each
// holder has a count of its own. NULL elements are allowed. Arena and frame
// memory has no count: an element that lies there is stored as it is and must
// not be used after its scope.
//
// A Vec has no lock: threads that share one have to agree on who changes it.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_vec_new returns an empty Vec with room for capacity elements, registered
// in the current scope.
//
//	C: void* tl_vec_new(size_t capacity);
//
// Ownership: the current scope holds the reference; the caller borrows.
// Threads: any thread; the calling one owns the Vec's count.
// Returns: the Vec, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (the product overflows), TL_E_OUT_OF_MEMORY,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: grows; two allocations.
//
//export tlgo_vec_new
func tlgo_vec_new(c, capacity uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.VecNew(capacity) })
}

// tl_vec_push appends an element and acquires it. A floating reference of the
// element keeps floating; register the element so that the scope releases that
// reference.
//
//	C: tl_status tl_vec_push(void* vec, void* element);
//
// Ownership: the Vec holds a reference of its own to the element.
// Threads: one thread at a time for one Vec.
// Returns: TL_OK, or why nothing was appended.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a Vec), TL_E_OUT_OF_MEMORY.
// Cost: grows; about 5 ns.
// Refuses: vec.
// Null: TL_OK.
//
//export tlgo_vec_push
func tlgo_vec_push(c, vec, element uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.VecPush(vec, element) })
}

// tl_vec_get returns the element at an index.
//
//	C: void* tl_vec_get(void* vec, int64_t index);
//
// Ownership: the caller borrows; the Vec keeps its reference.
// Threads: any thread, while none changes the Vec.
// Returns: the element, NULL on failure or for a NULL element.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a Vec), TL_E_INVALID_ARGUMENT (index out of range).
// Cost: fast; about 3 ns.
// Refuses: vec.
// Null: NULL.
//
//export tlgo_vec_get
func tlgo_vec_get(c, vec uintptr, index int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.VecGet(vec, uintptr(index)) })
}

// tl_vec_set replaces the element at an index: acquires the new one, then
// releases the old one.
//
//	C: tl_status tl_vec_set(void* vec, int64_t index, void* element);
//
// Ownership: the Vec holds a reference of its own to the new element.
// Threads: one thread at a time for one Vec.
// Returns: TL_OK, or why nothing was replaced.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a Vec), TL_E_INVALID_ARGUMENT (index out of range).
// Cost: fast; about 6 ns, plus what releasing the old element costs.
// Refuses: vec.
// Null: TL_OK.
//
//export tlgo_vec_set
func tlgo_vec_set(c, vec uintptr, index int64, element uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.VecSet(vec, uintptr(index), element) })
}

// tl_vec_pop removes the last element. The reference that the Vec held floats.
//
//	C: void* tl_vec_pop(void* vec);
//
// Ownership: the Vec's reference passes to the caller, floating.
// Threads: one thread at a time for one Vec.
// Returns: the element, NULL on failure or for a NULL element.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a Vec), TL_E_INVALID_ARGUMENT (empty), TL_E_OVERFLOW
// (fifteen references of the element float already).
// Cost: fast; about 5 ns.
// Refuses: vec.
// Null: NULL.
//
//export tlgo_vec_pop
func tlgo_vec_pop(c, vec uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.VecPop(vec) })
}

// tl_vec_len returns the number of elements.
//
//	C: int64_t tl_vec_len(void* vec);
//
// Ownership: none.
// Threads: any thread, while none changes the Vec.
// Returns: the number, 0 for NULL, -1 on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a Vec).
// Cost: fast; about 3 ns.
// Fails: -1.
// Refuses: vec.
// Null: 0.
//
//export tlgo_vec_len
func tlgo_vec_len(c, vec uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return o.VecLen(vec) })
}

// tl_vec_reserve makes room for capacity elements in all, so that pushes up to
// that length cannot run out of memory.
//
//	C: tl_status tl_vec_reserve(void* vec, size_t capacity);
//
// Ownership: unchanged.
// Threads: one thread at a time for one Vec.
// Returns: TL_OK, or why the capacity stays.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a Vec), TL_E_INVALID_ARGUMENT (the product overflows),
// TL_E_OUT_OF_MEMORY.
// Cost: grows; a copy when it grows.
// Refuses: vec.
// Null: TL_OK.
//
//export tlgo_vec_reserve
func tlgo_vec_reserve(c, vec, capacity uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.VecReserve(vec, capacity) })
}

// tl_vec_clear releases every element, last first. The capacity stays.
//
//	C: tl_status tl_vec_clear(void* vec);
//
// Ownership: the Vec's references are released.
// Threads: one thread at a time for one Vec.
// Returns: TL_OK, or why nothing was released.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a Vec).
// Cost: fast; linear in the number of elements.
// Refuses: vec.
// Null: TL_OK.
//
//export tlgo_vec_clear
func tlgo_vec_clear(c, vec uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.VecClear(vec) })
}
