// Package shapes is the arithmetic of shapes, strides and views, and DLPack's names and structs for them: see shapes.h,
// views.h and dlpack.h. The fast path of package cshim has the same C inlined.
package shapes

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fno-plt -I${SRCDIR}/../../include
#cgo noescape tlc_make_view
#cgo nocallback tlc_make_view
#cgo noescape tlc_compact
#cgo nocallback tlc_compact
#cgo noescape tlc_check_strides
#cgo nocallback tlc_check_strides
#cgo noescape tlc_contiguous
#cgo nocallback tlc_contiguous
#cgo noescape tlc_span
#cgo nocallback tlc_span
#cgo noescape tlc_repeats
#cgo nocallback tlc_repeats
#cgo nocallback tlc_part_of
#cgo nocallback tlc_dl_dtype
#cgo noescape tlc_dl_fill
#cgo nocallback tlc_dl_fill
#include "dlpack.h"
#include "views.h"

static inline bool tlc_contiguous(int64_t rank, const int64_t* shape, const int64_t* strides)
{
	return tlc_is_contiguous(tlc_count(rank, shape, strides));
}
*/
import "C"

import (
	"unsafe"

	"tlruntime/runtime/layout"
)

// Axes are the extents, or the strides, of a tensor.
type Axes = [layout.MaxRank]int64

func numbers(n *Axes) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(n)) }

// View is tlc_make_view: why there is no such view, layout.ViewGranted where there is one.
func View(to, from *layout.TensorHeader, operation uint32, numbers *[4]int64) (why uint32) {
	return uint32(C.tlc_make_view((*C.tl_tensor_header)(unsafe.Pointer(to)),
		(*C.tl_tensor_header)(unsafe.Pointer(from)), C.uint32_t(operation), (*C.int64_t)(unsafe.Pointer(numbers))))
}

// Compact is tlc_compact: the axis whose extent is wrong, -1 for none.
func Compact(size uint64, rank int, shape, strides *Axes) (numel uint64, axis int) {
	_ = shape[:rank] // which may stand in a header that was overwritten: C relies on it
	n := C.uint64_t(0)
	axis = int(C.tlc_compact(C.uint64_t(size), C.int64_t(rank), numbers(shape), numbers(strides), &n))
	return uint64(n), axis
}

// CheckStrides is tlc_check_strides: the axis whose stride is wrong, -1 for none.
func CheckStrides(size uint64, rank int, shape, strides *Axes) (axis int) {
	return int(C.tlc_check_strides(C.uint64_t(size), C.int64_t(rank), numbers(shape), numbers(strides)))
}

// Contiguous is tlc_is_contiguous.
func Contiguous(rank int, shape, strides *Axes) bool {
	return bool(C.tlc_contiguous(C.int64_t(rank), numbers(shape), numbers(strides)))
}

// Span is tlc_span.
func Span(size uint64, rank int, shape, strides *Axes) (before, span uint64) {
	n := C.uint64_t(0)
	span = uint64(C.tlc_span(C.uint64_t(size), C.int64_t(rank), numbers(shape), numbers(strides), &n))
	return uint64(n), span
}

// Repeats is tlc_repeats.
func Repeats(h *layout.TensorHeader) bool {
	return bool(C.tlc_repeats(C.int64_t(min(h.Rank, layout.MaxRank)), numbers(&h.Shape), numbers(&h.Strides)))
}

// Part is tlc_part_of: n elements of an axis from first on.
func Part(extent, start, stop, step int64) (first, n int64) {
	p := C.tlc_part_of(C.int64_t(extent), C.int64_t(start), C.int64_t(stop), C.int64_t(step))
	return int64(p.first), int64(p.n)
}

// DLPackDtype is tlc_dl_dtype.
func DLPackDtype(t layout.DlType) int32 {
	return int32(C.tlc_dl_dtype(*(*C.tl_dl_type)(unsafe.Pointer(&t))))
}

// FillDLPack is tlc_dl_fill.
func FillDLPack(to uintptr, held *layout.TensorHeader, where *layout.DlTensor, copied, legacy bool, deleter uintptr) {
	C.tlc_dl_fill(unsafe.Pointer(layout.At[byte](to)), (*C.tl_tensor_header)(unsafe.Pointer(held)),
		(*C.tl_dl_tensor)(unsafe.Pointer(where)), C.bool(copied), C.bool(legacy), C.uintptr_t(deleter))
}
