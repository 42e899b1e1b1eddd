package heap

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// askedBytes is the size of the bits that tell which huge pages were asked for.
func askedBytes(spans uint32) uintptr {
	pages := uintptr(spans)<<layout.SpanShift/memory.HugePageBytes + 1 // the range may begin inside of one
	return pages/64*8 + 8
}

// wantHuge asks for the huge pages of a large object, if it has so many bytes that it may have some.
func (h *Heap) wantHuge(object, bytes uintptr) {
	if bytes >= layout.HeapHugeFrom && h.huge != nil {
		h.askHuge(h.number(object), uint32((bytes-1)>>layout.SpanShift)+1)
	}
}

// askHuge asks for the huge pages that lie in a run, if they are wanted. The advice stays with the addresses,
// so each is asked for once, and a program that allocates the same again makes no call. Where none are wanted C asks
// each time, since that may change.
func (h *Heap) askHuge(first, n uint32) {
	if !h.huge() {
		return
	}
	start := memory.Round(h.address(first), memory.HugePageBytes)
	end := h.address(first+n) &^ (memory.HugePageBytes - 1)
	low, high := end, start
	h.lock()
	for at := start; at < end; at += memory.HugePageBytes {
		page := at/memory.HugePageBytes - h.s.Base/memory.HugePageBytes
		word, bit := layout.At[uint64](h.s.Asked+page/64*8), uint64(1)<<(page%64)
		if *word&bit == 0 {
			*word |= bit
			low, high = min(low, at), at+memory.HugePageBytes
		}
	}
	h.unlock()
	if low < high {
		memory.AdviseHuge(low, high-low)
	}
}
