// Package mempool works on the tables of memory pools: see mempool.h, where each function is explained. Go calls
// it with the memory that runtime/mempool has mapped; the fast path of package cshim calls it as well. It refers
// to one other C function, the wait for a lock in package base.
package mempool

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt
#cgo noescape tlc_mempool_lend
#cgo nocallback tlc_mempool_lend
#include "caches.h"
*/
import "C"

import (
	"unsafe"

	_ "tlruntime/cshim/base" // tlc_lock_slowly
	"tlruntime/runtime/layout"
)

// Outcome is what became of a request: layout.MempoolServed and the like.
type Outcome = uint32

func of(s *layout.MempoolState) *C.tl_mempool_state { return (*C.tl_mempool_state)(unsafe.Pointer(s)) }

// Take and Give are tlc_mempool_take and tlc_mempool_give.
func Take(s *layout.MempoolState, handle, request uint64) (address uint64, why Outcome) {
	t := C.tlc_mempool_take(of(s), C.uint64_t(handle), C.uint64_t(request))
	return uint64(t.address), Outcome(t.why)
}

func Give(s *layout.MempoolState, handle, address uint64) Outcome {
	return Outcome(C.tlc_mempool_give(of(s), C.uint64_t(handle), C.uint64_t(address)))
}

// TakeMeeting allocates for a thread of that number that meets others in the pool, as the fast path does, and
// GiveMeeting takes a block back. For tests.
func TakeMeeting(s *layout.MempoolState, handle uint64, number uint32, n uintptr) (address uintptr) {
	if kept := C.tlc_mempool_take_kept(of(s), C.uint64_t(handle), C.uint32_t(number), C.uint64_t(n)); kept != 0 {
		return uintptr(kept)
	}
	return uintptr(C.tlc_mempool_take_waiting(of(s), C.uint64_t(handle), C.uint32_t(number), C.uint64_t(n)))
}

func GiveMeeting(s *layout.MempoolState, handle uint64, number uint32, address uintptr) bool {
	return bool(C.tlc_mempool_give_kept(of(s), C.uint64_t(handle), C.uint32_t(number), C.uint64_t(address))) ||
		bool(C.tlc_mempool_give_waiting(of(s), C.uint64_t(handle), C.uint64_t(address)))
}

// Flush is tlc_mempool_flush. What follows has the same names in C, too.
func Flush(s *layout.MempoolState) { C.tlc_mempool_flush(of(s)) }

func AddChunk(s *layout.MempoolState, address, bytes uint64) (record uint32) {
	return uint32(C.tlc_mempool_add_chunk(of(s), C.uint64_t(address), C.uint64_t(bytes)))
}

func TakeChunk(s *layout.MempoolState, first uint32) bool {
	return bool(C.tlc_mempool_take_chunk(of(s), C.uint32_t(first)))
}

// Tables are records and as many chains.
type Tables struct {
	Blocks, Hash uintptr
	Limit        uint32
}

func Rebuild(s *layout.MempoolState, chunks []layout.MempoolChunk, with Tables) {
	C.tlc_mempool_rebuild(of(s), (*C.tl_mempool_chunk)(unsafe.Pointer(unsafe.SliceData(chunks))),
		C.uint64_t(len(chunks)), C.uintptr_t(with.Blocks), C.uintptr_t(with.Hash), C.uint32_t(with.Limit))
}

func Grow(s *layout.MempoolState, to Tables) {
	C.tlc_mempool_grow(of(s), C.uintptr_t(to.Blocks), C.uintptr_t(to.Hash), C.uint32_t(to.Limit))
}

func Lends(s *layout.MempoolState, address uint64) (bytes uint64) {
	return uint64(C.tlc_mempool_lends(of(s), C.uint64_t(address)))
}

func Largest(s *layout.MempoolState) (bytes uint64) { return uint64(C.tlc_mempool_largest(of(s))) }

func SetAside(s *layout.MempoolState, address uint64, lent uint32) (record uint32) {
	return uint32(C.tlc_mempool_set_aside(of(s), C.uint64_t(address), C.uint32_t(lent)))
}

func Lend(s *layout.MempoolState, record uint32, request uint64) (rest uint32, done bool) {
	var r C.uint32_t
	done = bool(C.tlc_mempool_lend(of(s), C.uint32_t(record), C.uint64_t(request), &r))
	return uint32(r), done
}

func Settle(s *layout.MempoolState, record uint32) { C.tlc_mempool_settle(of(s), C.uint32_t(record)) }

func EndWait(s *layout.MempoolState, record uint32) {
	C.tlc_mempool_end_wait(of(s), C.uint32_t(record))
}
