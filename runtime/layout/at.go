package layout

import "unsafe"

// At views the memory at addr as a T. It is the one place where an address
// becomes a pointer, and addr must already have been classified as the
// runtime's own: the garbage collector never sees these regions, and a foreign
// address typed as a pointer could kill the process when a stack grows.
func At[T any](addr uintptr) *T { return *(**T)(unsafe.Pointer(&addr)) }

// Address returns where the off-heap value p points to lives.
func Address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// Bytes views n bytes at addr.
func Bytes(addr uintptr, n uint64) []byte { return unsafe.Slice(At[byte](addr), n) }

// Slice views n values of type T at addr.
func Slice[T any](addr uintptr, n uint64) []T { return unsafe.Slice(At[T](addr), n) }
