package memory

import (
	"unsafe"

	"tlruntime/runtime/layout"
)

// Array is a growing array off the Go heap, for bookkeeping that grows with the
// user's data: running out of memory is an answer, not the end of the process.
// The zero Array is empty. T must hold no Go pointers.
type Array[T any] struct {
	base     uintptr
	len, cap uint64
	purpose  string
}

// NewArray returns an empty array whose memory is accounted under purpose.
func NewArray[T any](purpose string) Array[T] { return Array[T]{purpose: purpose} }

// Len returns the number of elements.
func (a *Array[T]) Len() uint64 { return a.len }

// At returns element i, which must be below Len.
func (a *Array[T]) At(i uint64) *T {
	var t T
	return layout.At[T](a.base + uintptr(i)*unsafe.Sizeof(t))
}

// Slice returns the elements. It holds until the array grows or ends.
func (a *Array[T]) Slice() []T { return layout.Slice[T](a.base, a.len) }

// Push appends v; false when the system refuses memory.
func (a *Array[T]) Push(v T) bool {
	if a.len == a.cap && !a.grow() {
		return false
	}
	a.len++
	*a.At(a.len - 1) = v
	return true
}

// Pop removes and returns the last element.
func (a *Array[T]) Pop() T {
	a.len--
	return *a.At(a.len)
}

func (a *Array[T]) grow() bool {
	var t T
	size := uint64(unsafe.Sizeof(t))
	next := max(2*a.cap, layout.SpanBytes/size)
	base, err := Map(uintptr(next*size), a.purpose)
	if err != nil {
		return false
	}
	if a.cap > 0 {
		copy(layout.Slice[T](base, a.len), a.Slice())
		Unmap(a.base, uintptr(a.cap*size), a.purpose)
	}
	a.base, a.cap = base, next
	return true
}

// Clear empties the array, which keeps its memory.
func (a *Array[T]) Clear() { a.len = 0 }

// Free gives the memory back; the array is empty again.
func (a *Array[T]) Free() {
	var t T
	if a.cap > 0 {
		Unmap(a.base, uintptr(a.cap*uint64(unsafe.Sizeof(t))), a.purpose)
	}
	*a = Array[T]{purpose: a.purpose}
}
