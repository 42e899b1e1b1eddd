//go:build !race

package memory

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
)

// Instrumented tells that every region is one Go-heap slab, for the race detector.
const Instrumented = false

func mapLazy(bytes uintptr) (uintptr, error) {
	return mmap(bytes, unix.PROT_READ|unix.PROT_WRITE)
}

func reserve(bytes uintptr) (uintptr, error) { return mmap(bytes, unix.PROT_NONE) }

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
	return nil
}

func purge(addr, bytes uintptr) {
	if unix.Madvise(layout.Bytes(addr, uint64(bytes)), unix.MADV_DONTNEED) != nil {
		clear(layout.Bytes(addr, uint64(bytes))) // callers rely on zeros
	}
}

// AddressSpaceLeft returns how much address space the process may still map:
// RLIMIT_AS less what is mapped, math.MaxUint64 without a limit.
func AddressSpaceLeft() uint64 {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &lim) != nil || lim.Cur == math.MaxUint64 {
		return math.MaxUint64
	}
	return lim.Cur - min(lim.Cur, statm(0))
}
