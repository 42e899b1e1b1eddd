// Package headroom keeps room on the stack of a call for handlers of the program's
// signals. Go's own handlers run on stacks of their own; a handler that was installed
// without SA_ONSTACK runs wherever the thread is, and in the slow path that is the stack
// of a goroutine, of which a few hundred bytes may be left.
//
// GODEBUG's gcshrinkstackoff, which packaging/build_library.sh sets, keeps the collector
// from taking the room back while a call runs.
package headroom

// Bytes is what Reserve sees to. The call itself needs a part of it: docs/internals.md
// has what was measured.
const Bytes = 128 << 10

// Reserve grows the stack of the calling goroutine until Bytes are left below its caller.
// Only the first call on a stack costs more than its check.
//
//go:noescape
func Reserve()
