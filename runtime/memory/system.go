//go:build !race

package memory

import (
	"math"
	"os"
	"strconv"
	"strings"
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

// Advice that is refused changes nothing.
func preferHugePages(addr, bytes uintptr) {
	_ = unix.Madvise(layout.Bytes(addr, uint64(bytes)), unix.MADV_HUGEPAGE)
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

// Resident returns the resident bytes of the process.
func Resident() uint64 { return statm(1) }

// statm returns a field of the process's page counts, in bytes.
func statm(field int) uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if field >= len(fields) {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[field], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// Physical returns the machine's memory in bytes, 0 when unknown.
func Physical() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return info.Totalram * uint64(info.Unit)
}
