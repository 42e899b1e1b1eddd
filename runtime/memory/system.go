//go:build !race

package memory

import (
	"math"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
)

// Instrumented tells that every region is one Go-heap slab, for the race detector.
const Instrumented = false

func mapLazy(bytes uintptr) (uintptr, error) {
	return mmap(bytes, unix.PROT_READ|unix.PROT_WRITE)
}

// reserve keeps what is not committed out of dumps that debuggers write. The kernel leaves it out anyway.
func reserve(bytes uintptr) (uintptr, error) {
	p, err := mmap(bytes, unix.PROT_NONE)
	if err == nil {
		undump(p, bytes)
	}
	return p, err
}

func mmap(bytes uintptr, prot int) (uintptr, error) {
	p, err := unix.MmapPtr(-1, 0, nil, bytes, prot, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return 0, ErrRefused
	}
	return uintptr(p), nil
}

// mapHuge maps whole huge pages and gives back what lies around them.
func mapHuge(bytes uintptr) (uintptr, error) {
	p, err := mapLazy(bytes + HugePageBytes)
	if err != nil {
		return 0, err
	}
	start := Round(p, HugePageBytes)
	end := Round(start+bytes, PageBytes)
	if start > p {
		unmap(p, start-p)
	}
	unmap(end, p+bytes+HugePageBytes-end)
	adviseHuge(start, end-start)
	return start, nil
}

func unmap(addr, bytes uintptr) {
	// Refused only for a range that is not mapped, which callers never pass.
	_ = unix.MunmapPtr(unsafe.Pointer(layout.At[byte](addr)), bytes)
}

func commit(addr, bytes uintptr) error {
	if unix.Mprotect(layout.Bytes(addr, uint64(bytes)), unix.PROT_READ|unix.PROT_WRITE) != nil {
		return ErrRefused
	}
	dump(addr, bytes)
	return nil
}

// goReserve is what Go's heap may grow by without the system: cshim/host/go_memory.c keeps more.
const goReserve = 16 << 20

// Obtainable tells whether the system would give Go's heap so many more bytes. It asks as Go does,
// without MAP_NORESERVE: more than all memory and swap is refused then, without a limit, too.
func Obtainable(n uint64) bool {
	if n < goReserve {
		return true
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	unmap(uintptr(p), uintptr(n))
	return true
}

// AddressSpaceLeft returns how much more memory the process may map under RLIMIT_AS and
// RLIMIT_DATA, math.MaxUint64 without a limit. It is found by trial: a process may have no
// /proc to read.
func AddressSpaceLeft() uint64 {
	least := uint64(math.MaxUint64)
	for _, resource := range []int{unix.RLIMIT_AS, unix.RLIMIT_DATA} {
		var lim unix.Rlimit
		if unix.Getrlimit(resource, &lim) == nil {
			least = min(least, lim.Cur)
		}
	}
	if least >= math.MaxInt64 { // systems differ in how they write "no limit"
		return math.MaxUint64
	}
	left := uint64(0)
	for step := uint64(1) << (bits.Len64(least) - 1); step >= layout.SpanBytes; step /= 2 {
		if p, err := mapLazy(uintptr(left + step)); err == nil {
			unmap(p, uintptr(left+step))
			left += step
		}
	}
	return left
}
