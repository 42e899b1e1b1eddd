// Package copies copies tensors whose elements have gaps between them: see copy.h. The fast path of package cshim calls
// the same C.
package copies

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fno-plt
#cgo noescape tlc_copy_elements
#cgo nocallback tlc_copy_elements
#cgo noescape tlc_reach
#cgo nocallback tlc_reach
#include "copy.h"
*/
import "C"

import (
	"unsafe"

	"tlruntime/runtime/layout"
)

// of describes the elements of a tensor of so many bytes each.
func of(h *layout.TensorHeader, size uint64) C.tlc_elements {
	e := C.tlc_elements{data: C.uintptr_t(h.Data), size: C.size_t(size), rank: C.int64_t(min(h.Rank, layout.MaxRank))}
	e.shape = *(*[layout.MaxRank]C.int64_t)(unsafe.Pointer(&h.Shape))
	e.strides = *(*[layout.MaxRank]C.int64_t)(unsafe.Pointer(&h.Strides))
	return e
}

// Elements is tlc_copy_elements.
func Elements(to, from *layout.TensorHeader, size uint64) {
	target, source := of(to, size), of(from, size)
	C.tlc_copy_elements(target.data, &target.strides[0], &source)
}

// Reach is tlc_reach.
func Reach(h *layout.TensorHeader, size uint64) (low, high uintptr) {
	var l, u C.uintptr_t
	e := of(h, size)
	C.tlc_reach(&e, &l, &u)
	return uintptr(l), uintptr(u)
}
