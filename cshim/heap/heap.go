// Package heap is the heap in C: see heap.h, where each function is explained. Go calls it with the memory that
// runtime/heap has mapped; the fast path of package cshim calls it as well. It refers to one other C
// function, the wait for a lock in package base.
package heap

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt
#include "heap.h"
*/
import "C"

import (
	"unsafe"

	_ "tlruntime/cshim/base" // tlc_lock_slowly
	"tlruntime/runtime/layout"
)

// Result is what a call says: layout.HeapOk and the like.
type Result = uint32

func of(h *layout.Heap) *C.tl_heap { return (*C.tl_heap)(unsafe.Pointer(h)) }

func entries(e []layout.Entry) *C.tl_entry { return (*C.tl_entry)(unsafe.Pointer(unsafe.SliceData(e))) }

func entry(e layout.Entry) C.tl_entry { return *(*C.tl_entry)(unsafe.Pointer(&e)) }

func account(a *layout.Account) *C.tl_account { return (*C.tl_account)(unsafe.Pointer(a)) }

// Charge and Credit are tlc_charge and tlc_credit.
func Charge(of, all *layout.Account, bytes uint64) bool {
	return bool(C.tlc_charge(account(of), account(all), C.uint64_t(bytes)))
}

func Credit(of, all *layout.Account, bytes uint64) {
	C.tlc_credit(account(of), account(all), C.uint64_t(bytes))
}

// Give is tlc_heap_give.
func Give(h *layout.Heap, class uint32, slots []layout.Entry) {
	C.tlc_heap_give(of(h), C.uint32_t(class), entries(slots), C.uint32_t(len(slots)))
}

// Retire is tlc_heap_retire.
func Retire(h *layout.Heap, e layout.Entry) { C.tlc_heap_retire(of(h), entry(e)) }

// Refill, MakeRoom and EmptyMagazine are tlc_heap_refill and so on.
func Refill(h *layout.Heap, c *layout.Context, class uint32) Result {
	return Result(C.tlc_heap_refill(of(h), (*C.struct_tl_context)(unsafe.Pointer(c)), C.uint32_t(class), true))
}

func MakeRoom(h *layout.Heap, c *layout.Context, class uint32) {
	C.tlc_heap_make_room(of(h), (*C.struct_tl_context)(unsafe.Pointer(c)), C.uint32_t(class))
}

func EmptyMagazine(h *layout.Heap, c *layout.Context, class uint32) (n uint32) {
	return uint32(C.tlc_heap_empty_magazine(of(h), (*C.struct_tl_context)(unsafe.Pointer(c)), C.uint32_t(class)))
}

// TakeLarge and GiveLarge are tlc_heap_take_large and tlc_heap_give_large.
func TakeLarge(h *layout.Heap, bytes uint64, align uint32) (e layout.Entry, zero bool, why Result) {
	var reads C.bool
	why = Result(C.tlc_heap_take_large(of(h), C.uint64_t(bytes), C.uint32_t(align), (*C.tl_entry)(unsafe.Pointer(&e)),
		&reads, true))
	return e, bool(reads), why
}

func GiveLarge(h *layout.Heap, e layout.Entry, left bool) {
	C.tlc_heap_give_large(of(h), entry(e), C.bool(left))
}

// Clear is tlc_heap_clear.
func Clear(p uintptr, bytes uint64) {
	C.tlc_heap_clear(unsafe.Pointer(unsafe.SliceData(layout.Bytes(p, bytes))), C.uint64_t(bytes))
}

// ResizeLarge is tlc_heap_resize_large.
func ResizeLarge(h *layout.Heap, object uintptr, bytes uint64) Result {
	return Result(C.tlc_heap_resize_large(of(h), C.uintptr_t(object), C.uint64_t(bytes), true))
}

// DropEmpty is tlc_heap_drop_empty.
func DropEmpty(h *layout.Heap) { C.tlc_heap_drop_empty(of(h)) }

// TakeIdle and GiveIdle are tlc_heap_take_idle and tlc_heap_give_idle.
func TakeIdle(h *layout.Heap, keep uint64, epoch uint32) (first, n uint32) {
	var spans C.uint32_t
	first = uint32(C.tlc_heap_take_idle(of(h), C.uint64_t(keep), C.uint32_t(epoch), &spans))
	return first, uint32(spans)
}

func GiveIdle(h *layout.Heap, first, n uint32, purged bool) {
	C.tlc_heap_give_idle(of(h), C.uint32_t(first), C.uint32_t(n), C.bool(purged))
}

// Watch is tlc_heap_watch.
func Watch(h *layout.Heap) { C.tlc_heap_watch(of(h)) }

// BeginBarriers, PassBarriers and TakeMagazines are tlc_heap_begin_barriers and so on.
func BeginBarriers() bool { return bool(C.tlc_heap_begin_barriers()) }
func PassBarriers() bool  { return bool(C.tlc_heap_pass_barriers()) }

func TakeMagazines(h *layout.Heap, c *layout.Context) {
	C.tlc_heap_take_magazines(of(h), (*C.struct_tl_context)(unsafe.Pointer(c)))
}

// Held is a slab with pages that hold no object: tlc_held.
type Held struct {
	Span  uint32
	Count uint32
	Pages [C.TLC_SLAB_PAGES / 64]uint64
}

// HeldSlabs are as many as one call finds.
type HeldSlabs [C.TLC_HELD_AT_ONCE]Held

// HoldSlabs and LetGo are tlc_heap_hold_slabs and tlc_heap_let_go.
func HoldSlabs(h *layout.Heap, class, epoch uint32, held *HeldSlabs) []Held {
	n := C.tlc_heap_hold_slabs(of(h), C.uint32_t(class), C.uint32_t(epoch), (*C.tlc_held)(unsafe.Pointer(held)))
	return held[:n]
}

func LetGo(h *layout.Heap, class, span, purged uint32) {
	C.tlc_heap_let_go(of(h), C.uint32_t(class), C.uint32_t(span), C.uint32_t(purged))
}

// Lock and Unlock are for who looks at the whole heap.
func Lock(h *layout.Heap)   { C.tlc_heap_lock_all(of(h)) }
func Unlock(h *layout.Heap) { C.tlc_heap_unlock_all(of(h)) }
