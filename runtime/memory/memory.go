// Package memory is the only one that talks to the operating system about
// memory. Every byte it hands out has a purpose, every call is counted, and any
// call can be made to fail (FailAfter), so that tests reach each error path.
// Questions (Usable, Resident, Available) are not counted: they take nothing.
package memory

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"
)

// ErrRefused is returned when the system, or an injected fault, refuses memory.
var ErrRefused = errors.New("the operating system refused the memory")

// PageBytes is the granule of every call; the library requires pages of 4 KiB
// or a divisor layout that tolerates larger ones, as all sizes used are multiples of 64 KiB.
const PageBytes = 4096

var (
	calls    atomic.Uint64 // system calls made
	failIn   atomic.Int64  // > 0: calls left until failure; < 0: failing
	mu       sync.Mutex    // guards purposes
	purposes = map[string]uint64{}
)

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

// Purposes returns the bytes of address space mapped, by purpose.
func Purposes() map[string]uint64 {
	mu.Lock()
	defer mu.Unlock()
	return maps.Clone(purposes)
}

func account(purpose string, bytes uintptr, sign int) {
	mu.Lock()
	defer mu.Unlock()
	if sign > 0 {
		purposes[purpose] += uint64(bytes)
	} else if purposes[purpose] -= uint64(bytes); purposes[purpose] == 0 {
		delete(purposes, purpose)
	}
}

// Map returns zeroed memory for reading and writing, lazily backed.
func Map(bytes uintptr, purpose string) (uintptr, error) {
	if !allowed() {
		return 0, ErrRefused
	}
	addr, err := mapLazy(bytes)
	if err == nil {
		account(purpose, bytes, 1)
	}
	return addr, err
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
		account(purpose, bytes, 1)
	}
	return addr, err
}

// Unmap gives memory of Map, MapHuge or Reserve back.
func Unmap(addr, bytes uintptr, purpose string) {
	calls.Add(1)
	unmap(addr, bytes)
	account(purpose, bytes, -1)
}

// Reserve takes address space without memory; Commit makes parts of it usable.
func Reserve(bytes uintptr, purpose string) (uintptr, error) {
	if !allowed() {
		return 0, ErrRefused
	}
	addr, err := reserve(bytes)
	if err == nil {
		account(purpose, bytes, 1)
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

// Purge drops the contents of whole pages; they read as zero and cost nothing
// until touched again.
func Purge(addr, bytes uintptr) {
	calls.Add(1)
	purge(addr, bytes)
}
