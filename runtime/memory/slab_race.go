//go:build race

package memory

import (
	"math"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// Instrumented tells that every region is one Go-heap slab: the race detector
// sees no memory of mmap.
const Instrumented = true

const slabBytes = 448 << 20

var (
	slab = make([]byte, slabBytes) // its pages are touched lazily
	used atomic.Uintptr
)

func mapLazy(bytes uintptr) (uintptr, error) {
	bytes = Round(bytes, layout.SpanBytes)
	base := Round(layout.Address(&slab[0]), 8*layout.SpanBytes)
	for {
		at := used.Load()
		if bytes == 0 || at+bytes > slabBytes-8*layout.SpanBytes {
			return 0, ErrRefused
		}
		if used.CompareAndSwap(at, at+bytes) {
			return base + at, nil
		}
	}
}

func reserve(bytes uintptr) (uintptr, error) { return mapLazy(bytes) }

func mapHuge(bytes uintptr) (uintptr, error) { return mapLazy(bytes) }

func adviseHuge(uintptr, uintptr) {}
func undump(uintptr, uintptr)     {}
func dump(uintptr, uintptr)       {}

// unmap returns only the newest piece; tests that churn get it back in order.
func unmap(addr, bytes uintptr) {
	bytes = Round(bytes, layout.SpanBytes)
	base := Round(layout.Address(&slab[0]), 8*layout.SpanBytes)
	clear(layout.Bytes(addr, uint64(bytes)))
	used.CompareAndSwap(addr-base+bytes, addr-base)
}

func commit(uintptr, uintptr) error { return nil }

// purge clears word by word: classification reads records meanwhile.
func purge(addr, bytes uintptr) bool {
	for at := addr; at < addr+bytes; at += 8 {
		atomic.StoreUint64(layout.At[uint64](at), 0)
	}
	return true
}

// Obtainable is unknown: Go's heap is beside the slab.
func Obtainable(uint64) bool { return true }

// AddressSpaceLeft is unlimited: the slab is the limit.
func AddressSpaceLeft() uint64 { return math.MaxUint64 }

// Resident is unknown under the race detector.
func Resident() uint64 { return 0 }

// Physical is the slab.
func Physical() uint64 { return slabBytes }

// Available is what is left of the slab.
func Available() uint64 { return slabBytes - uint64(used.Load()) }

func remap(addr, bytes, used, to uintptr) (uintptr, error) { return remapByCopy(addr, bytes, used, to) }
