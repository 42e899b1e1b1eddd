// # Cells
//
// A cell is an object of the heap whose count a compiler keeps in its own code:
// it stands in front of the bytes, and the inlined operations (tl_inl_cell_*,
// tl_inline.h, tl_inline.ll) change it without a search. Memory,
// statistics, limits and reports are the runtime's.
//
// The compiler says what a drop means. tl_cell_drop tells whether the reference
// was the last one; then the cell is the caller's, who drops what the cell
// refers to and frees it, or builds something else in it, which has one
// reference again.
//
// The calls below check that a live cell is at the address, and a bad pointer
// is an error. The inlined operations trust the compiler, unless TL_DEBUG=1
// makes calls of them: without it, a cell that is not live when they get it is
// undefined behaviour. docs/ownership.md says which kind of object is for what.
//
// A cell starts at a multiple of 16. To every other function its address is the
// inside of an object: TL_E_INTERIOR_POINTER. So no scope, Vec, typed object,
// registry or tl_ref has cells, and tl_mem_collect_cycles does not see them. The four bytes
// in front of a cell, at its address minus 4, are the compiler's, for
// instance the number of a constructor: 0 in a new cell.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_cell_new returns a cell of so many bytes, with one reference. The contents
// are undefined. A cell of 0 bytes has the compiler's four bytes alone.
//
//	C: void* tl_cell_new(size_t bytes);
//
// Ownership: the caller holds the reference; no scope knows it.
// Threads: any thread. The count is for one thread at a time until
// tl_cell_share.
// Returns: the cell, NULL on failure.
// Errors: TL_E_OUT_OF_MEMORY.
// Cost: fast; about 5 ns up to 64 KiB.
// LLVM: returns noalias.
//
//export tlgo_cell_new
func tlgo_cell_new(c, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.NewCell(bytes) })
}

// tl_cell_new_typed returns a zeroed cell of a type, with one reference. Its
// pointers are cells, counted objects, or NULL, and the cell holds a reference
// of each. When the cell is freed, each reference is dropped. If it was the last
// one of a cell with a type, that cell is freed in the same way; of a cell without
// one, its memory is freed, and what it refers to is left alone.
//
//	C: void* tl_cell_new_typed(tl_type type);
//
// Ownership: the caller holds the reference; no scope knows it.
// Threads: as tl_cell_new.
// Returns: the cell, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such type), TL_E_UNSUPPORTED (a type with a
// destructor, of a Vec, or with more than 2,048 pointers), TL_E_LIMIT (too many
// types, or a memory limit), TL_E_OUT_OF_MEMORY.
// Cost: fast; about 15 ns and a memset up to 64 KiB.
// LLVM: returns noalias.
//
//export tlgo_cell_new_typed
func tlgo_cell_new_typed(c uintptr, kind uint32) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.NewTypedCell(kind) })
}

// tl_cell_dup adds a reference. A count that would overflow sticks: the cell is
// never freed. Nothing happens to NULL.
//
//	C: void* tl_cell_dup(void* cell);
//
// Ownership: the caller holds the new reference.
// Threads: the thread that has the cell; any thread that holds a reference, of a
// cell that is shared.
// Returns: its argument, always; tl_last_status tells whether it was a cell.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns, inlined less than one.
// Fails: cell.
// LLVM: returned 0.
//
//export tlgo_cell_dup
func tlgo_cell_dup(c, cell uintptr) uintptr {
	return guarded(c, cell, func(o *object.Context) uintptr { o.DupCell(cell); return cell })
}

// tl_cell_is_unique tells whether the caller's reference is the only one. Then
// the cell may be changed in place.
//
//	C: bool tl_cell_is_unique(const void* cell);
//
// Ownership: the caller's reference stays.
// Threads: as tl_cell_dup.
// Returns: whether there is one reference; false for NULL and on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns, inlined less than one.
//
//export tlgo_cell_is_unique
func tlgo_cell_is_unique(c, cell uintptr) bool {
	return guarded(c, false, func(o *object.Context) bool { return o.IsCellUnique(cell) })
}

// tl_cell_drop drops a reference. Where it is the last one it stays, and the
// cell is the caller's alone: drop what the cell refers to and call
// tl_cell_free, or build something else in it.
//
//	C: bool tl_cell_drop(void* cell);
//
// Ownership: the caller gives up its reference, unless the result is true.
// Threads: as tl_cell_dup. The last drop of a shared cell sees what other
// threads wrote to the cell before theirs.
// Returns: whether it was the last; false for NULL and on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns, inlined less than one.
//
//export tlgo_cell_drop
func tlgo_cell_drop(c, cell uintptr) bool {
	return guarded(c, false, func(o *object.Context) bool { return o.DropCell(cell) })
}

// tl_cell_free frees a cell that has one reference, whatever it refers to. What
// one with a type refers to is dropped: if you take over the reference in a
// field, set the field to NULL first. A chain of any length needs no stack. Nothing happens to NULL.
//
//	C: tl_status tl_cell_free(void* cell);
//
// Ownership: the caller gives up its reference, which is the only one.
// Threads: any thread, also one that did not make the cell.
// Returns: TL_OK, or why nothing was freed.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_BUSY
// (it has more references).
// Cost: fast; about 3 ns, and about 25 ns for each cell with a type that is freed with it.
//
//export tlgo_cell_free
func tlgo_cell_free(c, cell uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.FreeCell(cell) })
}

// tl_cell_share makes the count of a cell one for several threads, which is
// changed by atomic operations from then on, also the inlined ones. Share a cell
// before another thread gets it, and what it refers to first: the compiler knows
// where that is. Sharing a cell with a type also shares every cell that it leads
// to through cells with a type. Share a cell before you store it in a shared one.
// Nothing happens to a shared cell and to NULL.
//
//	C: tl_status tl_cell_share(void* cell);
//
// Ownership: the caller's reference stays.
// Threads: the thread that has the cell.
// Returns: TL_OK, or why there is no such cell.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns, and for one with a type about 15 ns for each cell.
//
//export tlgo_cell_share
func tlgo_cell_share(c, cell uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.ShareCell(cell) })
}
