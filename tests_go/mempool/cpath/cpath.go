// Package cpath calls the fast path's functions of cshim/mempool_blocks.h from Go, so that
// a test can look at the tables after each of them. The headers are links into cshim:
// go build notices changes of files in a package's own folder only.
package cpath

/*
#cgo CFLAGS: -std=gnu11 -O1 -Wall -Wextra
#include "mempool_caches.h"

static uint64_t take(uintptr_t p, uint64_t n) { return tlc_mempool_take_block((tl_mempool_state*)p, n); }
static bool give(uintptr_t p, uint64_t address) { return tlc_mempool_return_block((tl_mempool_state*)p, address); }

// What mempool.c does for a thread of that number when another thread is in the pool.
static uint64_t take_shared(uintptr_t at, uint32_t number, uint64_t n)
{
	tl_mempool_state* p = (tl_mempool_state*)at;
	tl_mempool_cache* k = tlc_cache(p, number);
	uint64_t kept = tlc_cache_is_open(p, number) && tlc_cache_may_take(k, n) ? tlc_cache_take(p, k, n) : 0;
	if (kept != 0) return kept;
	tlc_cache_wish(p, number);
	return tlc_mempool_open(p) == 0 ? tlc_mempool_take_block(p, n) : tlc_mempool_take_shared(p, number, n);
}
static bool give_shared(uintptr_t at, uint32_t number, uint64_t address)
{
	tl_mempool_state* p = (tl_mempool_state*)at;
	if (tlc_cache_is_open(p, number) && tlc_cache_keep(tlc_cache(p, number), address)) return true;
	return tlc_mempool_open(p) == 0 ? tlc_mempool_return_block(p, address) : tlc_mempool_return_shared(p, address);
}
static uint32_t opened(uintptr_t p) { return tlc_mempool_open((tl_mempool_state*)p); }
*/
import "C"

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/mempool"
)

func state(h mempool.Handle) C.uintptr_t {
	return C.uintptr_t(mempool.Table() + uintptr(h%layout.MempoolSlots)*layout.MempoolStride)
}

// Allocate is tl_memory_pool_allocate: C, and what C cannot answer is Go's. It takes no
// lock: one goroutine at a time.
func Allocate(h mempool.Handle, n uintptr) (uintptr, error) {
	if address := C.take(state(h), C.uint64_t(n)); address != 0 {
		return uintptr(address), nil
	}
	return mempool.Allocate(h, n)
}

// Deallocate is tl_memory_pool_deallocate.
func Deallocate(h mempool.Handle, address uintptr) error {
	if C.give(state(h), C.uint64_t(address)) {
		return nil
	}
	return mempool.Deallocate(h, address)
}

// AllocateShared is Allocate by a thread of that number, while others are in the pool.
func AllocateShared(h mempool.Handle, number uint32, n uintptr) (uintptr, error) {
	if address := TakeShared(h, number, n); address != 0 {
		return address, nil
	}
	return mempool.Allocate(h, n)
}

// TakeShared is what C has of it.
func TakeShared(h mempool.Handle, number uint32, n uintptr) uintptr {
	return uintptr(C.take_shared(state(h), C.uint32_t(number), C.uint64_t(n)))
}

// DeallocateShared is Deallocate by such a thread.
func DeallocateShared(h mempool.Handle, number uint32, address uintptr) error {
	if C.give_shared(state(h), C.uint32_t(number), C.uint64_t(address)) {
		return nil
	}
	return mempool.Deallocate(h, address)
}

// Open returns the bits of the caches in use.
func Open(h mempool.Handle) uint32 { return uint32(C.opened(state(h))) }
