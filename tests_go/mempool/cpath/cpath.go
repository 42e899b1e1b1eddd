// Package cpath calls the fast path's functions of cshim/mempool_blocks.h from Go, so that
// a test can look at the tables after each of them. The headers are links into cshim:
// go build notices changes of files in a package's own folder only.
package cpath

/*
#cgo CFLAGS: -std=gnu11 -O1 -Wall -Wextra
#include "mempool_blocks.h"

static uint64_t take(uintptr_t p, uint64_t n) { return tlc_mempool_take_block((tl_mempool_state*)p, n); }
static bool give(uintptr_t p, uint64_t address) { return tlc_mempool_return_block((tl_mempool_state*)p, address); }
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
