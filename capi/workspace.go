// # Workspaces
//
// A workspace is scratch memory for workers: one allocation that has a block
// for each worker, all of one size. A worker takes its block by number, without
// a lock, and no two workers share a cache line. Blocks start at least 128
// bytes apart, because processors fetch cache lines in pairs. The layout of the
// handle is public and fixed: the block of a worker is at base + rank * stride.
//
//	tl_workspace* scratch;
//	tl_workspace_create(threads, bytes, 64, &scratch);
//	float* mine = tl_workspace_get(scratch, my_number);
//	tl_workspace_destroy(scratch);
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_workspace is the handle of a workspace. It tells where the blocks are;
// programs only read it.
//
//	C: typedef struct tl_workspace {
//	    void* base;        /* block 0 */
//	    size_t stride;     /* from one block to the next */
//	    size_t count;      /* blocks */
//	    size_t bytes_each; /* usable bytes of a block */
//	} tl_workspace;
const _ = "tl_workspace"

// tl_workspace_create makes a workspace of `threads` blocks of bytes_each bytes,
// undefined, each at a multiple of alignment. It is a registered pointer:
// tl_ptr_acquire and tl_ptr_release count it, and its blocks are valid until
// the last reference is dropped.
//
//	C: tl_status tl_workspace_create(size_t threads, size_t bytes_each, size_t alignment, tl_workspace** out_workspace);
//
// Ownership: the caller holds the reference, until tl_workspace_destroy.
// Returns: TL_OK and the workspace in *out_workspace, or why none was made.
// Errors: TL_E_INVALID_ARGUMENT (no threads or bytes, alignment is not a power of two,
// the product overflows, no out_workspace), TL_E_OUT_OF_MEMORY.
// Cost: slow call; that of malloc.
//
//export tlgo_workspace_create
func tlgo_workspace_create(c, threads, bytesEach, alignment, outWorkspace uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return createWorkspace(o, threads, bytesEach, alignment, outWorkspace)
	})
}

// tl_workspace_get returns the block of a worker. tl::workspace does the same inline.
//
//	C: void* tl_workspace_get(const tl_workspace* workspace, size_t rank);
//
// Ownership: the caller borrows; valid as long as the workspace.
// Threads: any thread, also in a forked child; a block is its worker's.
// Returns: the block; NULL for NULL and on failure.
// Errors: TL_E_UNKNOWN_POINTER (not a live workspace), TL_E_INVALID_ARGUMENT (rank is
// not below the number of blocks).
// Cost: fast; about 15 ns, for the validation of the handle.
const _ = "tl_workspace_get"

// tl_workspace_bytes returns how many bytes of each block may be used.
//
//	C: size_t tl_workspace_bytes(const tl_workspace* workspace);
//
// Ownership: none.
// Threads: any thread, also in a forked child.
// Returns: bytes_each of tl_workspace_create; 0 for NULL and on failure.
// Errors: TL_E_UNKNOWN_POINTER (not a live workspace).
// Cost: fast; about 15 ns.
const _ = "tl_workspace_bytes"

// tl_workspace_destroy drops the reference to a workspace.
//
//	C: tl_status tl_workspace_destroy(tl_workspace* workspace);
//
// Ownership: takes the caller's reference; the blocks go with the last one.
// Returns: TL_OK, also for NULL, or why nothing was done.
// Errors: TL_E_UNKNOWN_POINTER (not a live workspace).
// Cost: slow call; that of free.
//
//export tlgo_workspace_destroy
func tlgo_workspace_destroy(c, workspace uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.DestroyWorkspace(workspace) })
}

func createWorkspace(o *object.Context, threads, bytes, alignment, out uintptr) status.Status {
	if !usable(out) {
		return fail(o, status.InvalidArgument, "there is no out_workspace to fill in")
	}
	w := o.NewWorkspace(threads, bytes, alignment)
	store(out, w)
	if w == 0 {
		return status.Status(o.Error.Status)
	}
	return status.OK
}
