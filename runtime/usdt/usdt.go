// Package usdt tells perf, bpftrace and SystemTap what the slow path does (docs/probes.md).
// The probes themselves are C functions of two instructions, cshim/base/probe.c; they are called
// on the goroutine's stack, without cgo.
package usdt

// Functions are their addresses, which cshim fills in; 0 in a program that is not the library.
var Functions struct {
	Allocate, Free, PoolMiss, Limit uintptr
}

// Allocate tells that memory was handed out for so many bytes.
func Allocate(object, bytes uintptr) { call(Functions.Allocate, object, bytes) }

// Free tells that memory was taken back.
func Free(object uintptr) { call(Functions.Free, object, 0) }

// PoolMiss tells that the tensor pool had no tensor of so many elements and of this type.
func PoolMiss(elements uint64, dtype uint8) {
	call(Functions.PoolMiss, uintptr(elements), uintptr(dtype))
}

// Limit tells that a limit of a device refused bytes.
func Limit(device int32, bytes uint64) { call(Functions.Limit, uintptr(device), uintptr(bytes)) }

// call calls a C function, unless its address is 0. It has stack for a small one.
func call(function, one, two uintptr)
