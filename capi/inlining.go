// # Inlining
//
// A compiler can put the fast path of frequent functions into the code that it
// emits: as LLVM IR (tl_inline.ll), or from C and C++, where TL_INLINE is
// defined before this header is included. docs/inlining.md describes both. The
// inlined code works on the memory of the calling thread's context, in the
// layout that has the number TL_INLINE_VERSION. A library with another layout
// hands out a context of zeros, which answers no operation, so that each of
// them makes the ordinary call.
package main

// TL_INLINE_VERSION is the version of the layout that inlined code works on.
//
//	C: #define TL_INLINE_VERSION 1u
const _ = "TL_INLINE_VERSION"

// tl_context returns what the calling thread's inlined operations work on, for
// code that was compiled for a version of the layout. The result is
// valid until the thread calls a function that is not inlined, of this library
// or not: that function may detach the thread, start a trace or run a callback
// that does. Then the caller takes the context again.
//
// While the fast path is off (TL_FASTPATH=0, TL_DEBUG=1, a trace) and before
// the first call of a thread, the context answers no operation. For another
// version it is read-only memory of zeros.
//
//	C: void* tl_context(uint32_t version);
//
// Ownership: borrowed; the caller must not write to it but by inlined operations.
// Threads: the result is for the calling thread alone; also in a forked child.
// Returns: the context, never NULL.
// Errors: none.
// Cost: fast; a call and two loads.
// LLVM: nounwind, readonly, willreturn, returns nonnull.
const _ = "tl_context"

// tl_context_address returns the address of the word in which the library keeps
// what tl_context returns for the calling thread. The word changes whenever the
// context does, and the address stays the same as long as the thread lives. So
// inlined code keeps the address, and takes the context again by one load.
//
//	C: void* const* tl_context_address(uint32_t version);
//
// Ownership: borrowed; the word must not be written to.
// Threads: the word is for the calling thread alone; also in a forked child.
// Returns: the address, never NULL.
// Errors: none.
// Cost: fast; a call and one load.
// LLVM: nounwind, readonly, willreturn, returns nonnull.
const _ = "tl_context_address"
