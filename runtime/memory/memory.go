// Package memory is the only one that talks to the operating system about
// memory. Every byte it hands out has a purpose, every call is counted, and any
// call can be made to fail (FailAfter), so that tests reach each error path.
// Questions (Usable, Resident, Available) are not counted: they take nothing.
package memory

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// ErrRefused is returned when the system, or an injected fault, refuses memory.
var ErrRefused = errors.New("the operating system refused the memory")

// PageBytes is the granule of every call; the library requires pages of 4 KiB
// or a divisor layout that tolerates larger ones, as all sizes used are multiples of 64 KiB.
const PageBytes = 4096

// Shade tells the program's AddressSanitizer of memory that code of the program may not touch, or may touch again;
// nothing where it has none (cshim/host/sanitizer.go).
var Shade = func(address, bytes uintptr, closed bool) {}

var (
	calls    atomic.Uint64 // system calls made
	failIn   atomic.Int64  // > 0: calls left until failure; < 0: failing
	mu       sync.Mutex    // guards the rest
	purposes = map[string]uint64{}
	extents  []extent // of what is mapped, ascending
)

type extent struct{ start, end uintptr }

// Calls returns how many system calls about memory were made so far.
func Calls() uint64 { return calls.Load() }

// FailAfter lets n more calls succeed and every later one fail; a negative n
// ends the failing. For tests, and for TL_FAIL_MEMORY.
func FailAfter(n int64) {
	if n < 0 {
		failIn.Store(0)
		return
	}
	failIn.Store(n + 1)
}

// allowed counts a call and tells whether an injected fault lets it pass.
func allowed() bool {
	calls.Add(1)
	for {
		n := failIn.Load()
		switch {
		case n == 0:
			return true
		case n == 1:
			return false
		case failIn.CompareAndSwap(n, n-1):
			return true
		}
	}
}

// Round returns n rounded up to a multiple of unit, a power of two; 0 when that overflows.
func Round(n, unit uintptr) uintptr { return (n + unit - 1) &^ (unit - 1) }

// Purposes returns the bytes of address space mapped, by purpose: tests compare it before and after.
func Purposes() map[string]uint64 {
	mu.Lock()
	defer mu.Unlock()
	return maps.Clone(purposes)
}

// Owns reports whether an address lies in memory that was mapped here.
func Owns(addr uintptr) bool {
	mu.Lock()
	defer mu.Unlock()
	i := above(addr)
	return i > 0 && addr < extents[i-1].end
}

// above returns the index of the first extent that starts above an address.
func above(addr uintptr) int {
	i, _ := slices.BinarySearchFunc(extents, addr, func(e extent, a uintptr) int {
		if e.start <= a {
			return -1
		}
		return 1
	})
	return i
}

// enter accounts for memory that was had.
func enter(addr, bytes uintptr, purpose string) {
	mu.Lock()
	defer mu.Unlock()
	purposes[purpose] += uint64(bytes)
	extents = slices.Insert(extents, above(addr), extent{addr, addr + bytes})
}

// leave does it for memory that goes back.
func leave(addr, bytes uintptr, purpose string) {
	mu.Lock()
	defer mu.Unlock()
	if purposes[purpose] -= uint64(bytes); purposes[purpose] == 0 {
		delete(purposes, purpose)
	}
	if i := above(addr); i > 0 && extents[i-1].start == addr {
		extents = slices.Delete(extents, i-1, i)
	}
}

// Map returns zeroed memory for reading and writing, lazily backed.
func Map(bytes uintptr, purpose string) (uintptr, error) {
	if !allowed() {
		return 0, ErrRefused
	}
	addr, err := mapLazy(bytes)
	if err == nil {
		enter(addr, bytes, purpose)
	}
	return addr, err
}

// MapUndumped is Map for far more than is ever used: no core dump has it, but for the parts that Dump names. The kernel
// visits each page of what it dumps, which takes minutes for terabytes, and writes zeros to a pipe for those that
// were never touched.
func MapUndumped(bytes uintptr, purpose string) (uintptr, error) {
	addr, err := Map(bytes, purpose)
	if err == nil {
		undump(addr, bytes)
	}
	return addr, err
}

// Dump has core dumps hold the pages of a part of such memory. Where the system refuses that, they lack it.
func Dump(addr, bytes uintptr) {
	start := addr &^ (uintptr(os.Getpagesize()) - 1)
	dump(start, addr+bytes-start)
}

// HugePageBytes is the size of a huge page.
const HugePageBytes = 2 << 20

// MapHuge is Map on addresses that huge pages can stand behind, and asks for them.
func MapHuge(bytes uintptr, purpose string) (uintptr, error) {
	if !allowed() {
		return 0, ErrRefused
	}
	addr, err := mapHuge(bytes)
	if err == nil {
		enter(addr, bytes, purpose)
	}
	return addr, err
}

// AdviseHuge asks for huge pages behind a part of such memory, whole ones. Pages that are
// there already stay what they are.
func AdviseHuge(addr, bytes uintptr) {
	calls.Add(1)
	adviseHuge(addr, bytes)
}

// Unmap gives memory of Map, MapHuge or Reserve back.
func Unmap(addr, bytes uintptr, purpose string) {
	calls.Add(1)
	leave(addr, bytes, purpose) // first: then it is anybody's
	unmap(addr, bytes)
}

// Remap makes memory of MapUndumped larger. It keeps the contents of the first `used` bytes, where they are or
// elsewhere. On failure everything is as before.
func Remap(addr, bytes, used, to uintptr, purpose string) (uintptr, error) {
	if !allowed() {
		return 0, ErrRefused
	}
	leave(addr, bytes, purpose) // first: where it moves away, that is anybody's
	at, err := remap(addr, bytes, used, to)
	if err != nil {
		enter(addr, bytes, purpose)
		return 0, err
	}
	enter(at, to, purpose)
	return at, nil
}

// remapByCopy is remap where the system cannot have pages stand elsewhere.
func remapByCopy(addr, bytes, used, to uintptr) (uintptr, error) {
	at, err := mapLazy(to)
	if err != nil {
		return 0, err
	}
	undump(at, to)       // as MapUndumped had the old pages
	const step = 1 << 20 // the collector waits for one at most
	for done := uintptr(0); done < used; done += step {
		n := uint64(min(step, used-done))
		copy(layout.Bytes(at+done, n), layout.Bytes(addr+done, n))
	}
	unmap(addr, bytes)
	return at, nil
}

// Reserve takes address space without memory; Commit makes parts of it usable.
func Reserve(bytes uintptr, purpose string) (uintptr, error) {
	if !allowed() {
		return 0, ErrRefused
	}
	addr, err := reserve(bytes)
	if err == nil {
		enter(addr, bytes, purpose)
	}
	return addr, err
}

// Commit makes a part of a reservation readable and writable, zeroed when new.
func Commit(addr, bytes uintptr) error {
	if !allowed() {
		return ErrRefused
	}
	return commit(addr, bytes)
}

// Purge drops the contents of whole pages; they read as zero and cost nothing until touched again. False: the system
// refuses, and each page reads as before or as zero. Nothing is written then: a range is mostly pages that were never
// touched, and would cost all that it spans.
func Purge(addr, bytes uintptr) bool {
	calls.Add(1)
	return purge(addr, bytes)
}
