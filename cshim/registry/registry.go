// Package registry is what is done with the table of foreign memory: see operations.h, where each function is
// explained. Go calls it with the memory that runtime/registry has mapped; the fast path of package cshim inlines what
// is common of it. It refers to no other C. The newest table that was attached is the process's only one.
package registry

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt
#cgo noescape tlc_registry_lock_entry
#cgo nocallback tlc_registry_lock_entry
#cgo noescape tlc_registry_register
#cgo nocallback tlc_registry_register
#cgo noescape tlc_registry_adopt
#cgo nocallback tlc_registry_adopt
#cgo noescape tlc_registry_insert
#cgo nocallback tlc_registry_insert
#cgo noescape tlc_registry_drop
#cgo nocallback tlc_registry_drop
#cgo noescape tlc_registry_retract
#cgo nocallback tlc_registry_retract
#cgo noescape tlc_registry_own
#cgo nocallback tlc_registry_own
#cgo noescape tlc_registry_add_alias
#cgo nocallback tlc_registry_add_alias
#cgo noescape tlc_registry_owned
#cgo nocallback tlc_registry_owned
#cgo noescape tlc_registry_settle
#cgo nocallback tlc_registry_settle
#include "operations.h"
*/
import "C"

import (
	"unsafe"

	"tlruntime/runtime/layout"
)

// Result is one of enum tlc_foreign_result.
type Result = int32

// The ways to lose a reference: enum tlc_drop.
const (
	Release = C.TLC_DROP_RELEASE
	Entry   = C.TLC_DROP_ENTRY
	Float   = C.TLC_DROP_FLOAT
	DecRef  = C.TLC_DROP_DECREF
	Forget  = C.TLC_DROP_FORGET
	End     = C.TLC_DROP_END
	Aligned = C.TLC_DROP_ALIGNED
)

// Ended is a block without references, which the caller frees. It is zero when there is
// nothing to free, because what went was one alias of several. With OK it is a block that was
// handed back to the host, or zero.
type Ended struct {
	Pointer, Bytes uintptr
	Kind           uint8
	Deleter, Ctx   uintptr // of layout.ForeignCustom: what to call, and with what
	Returned       bool    // it was handed back to the host
	Record         uint32  // not 0: PENDING, for a list of calls that wait; Settle gives it back
}

func ended(d *C.tlc_dropped) Ended {
	e := &d.ended
	return Ended{uintptr(e.pointer), uintptr(d.bytes), uint8(e.kind), uintptr(e.deleter), uintptr(e.ctx),
		bool(d.returned), uint32(e.record)}
}

// Owner is what a block has beside an entry, tlc_owner: a record of that state, or its type alone.
type Owner struct {
	State        uint32
	Deleter, Ctx uintptr
}

func (o Owner) c() C.tlc_owner {
	return C.tlc_owner{state: C.uint32_t(o.State), deleter: C.uintptr_t(o.Deleter), ctx: C.uintptr_t(o.Ctx)}
}

func of(s *layout.Shard) *C.tl_shard { return (*C.tl_shard)(unsafe.Pointer(s)) }

func entry(e *layout.ForeignEntry) *C.tl_foreign_entry {
	return (*C.tl_foreign_entry)(unsafe.Pointer(e))
}

// Attach is tlc_foreign_attach: what follows works on these shards.
func Attach(shards uintptr, mask uint64) { C.tlc_foreign_attach(C.uintptr_t(shards), C.uint64_t(mask)) }

// Detach is tlc_registry_detach.
func Detach(shards uintptr) { C.tlc_registry_detach(C.uintptr_t(shards)) }

// LockEntry is tlc_registry_lock_entry.
func LockEntry(p uintptr) (s *layout.Shard, e *layout.ForeignEntry) {
	var at *C.tl_foreign_entry
	s = (*layout.Shard)(unsafe.Pointer(C.tlc_registry_lock_entry(C.uintptr_t(p), &at)))
	return s, (*layout.ForeignEntry)(unsafe.Pointer(at))
}

// Register, Acquire and so on are tlc_registry_register and so on.
func Register(p uintptr) (gen uint32, r Result) {
	var g C.uint32_t
	r = Result(C.tlc_registry_register(C.uintptr_t(p), &g))
	return uint32(g), r
}

func Touch(p uintptr, owner, gen uint32) {
	C.tlc_registry_touch(C.uintptr_t(p), C.uint32_t(owner), C.uint32_t(gen))
}

func Acquire(p uintptr) Result  { return Result(C.tlc_registry_acquire(C.uintptr_t(p))) }
func Immortal(p uintptr) Result { return Result(C.tlc_registry_immortal(C.uintptr_t(p))) }
func Count(p uintptr) int64     { return int64(C.tlc_foreign_count(C.uintptr_t(p))) }
func Covered(p uintptr) bool    { return bool(C.tlc_registry_covered(C.uintptr_t(p))) }

func Adopt(p, bytes uintptr) (gen uint32, r Result) {
	var g C.uint32_t
	r = Result(C.tlc_registry_adopt(C.uintptr_t(p), C.uint64_t(bytes), &g))
	return uint32(g), r
}

func Insert(p, bytes uintptr, kind uint8, owner Owner) (gen uint32, was layout.ForeignEntry, r Result) {
	var g C.uint32_t
	own := owner.c()
	r = Result(C.tlc_registry_insert(C.uintptr_t(p), C.uint64_t(bytes), C.uint32_t(kind), &own, &g, entry(&was)))
	return uint32(g), was, r
}

func Drop(p uintptr, way int, gen uint32) (Ended, Result) {
	var d C.tlc_dropped
	r := Result(C.tlc_registry_drop(C.uintptr_t(p), C.int(way), C.uint32_t(gen), &d))
	return ended(&d), r
}

func Retract(p uintptr, gen uint32, was layout.ForeignEntry) {
	C.tlc_registry_retract(C.uintptr_t(p), C.uint32_t(gen), entry(&was))
}

func Own(p, bytes uintptr, kind uint8, owner Owner) (number uint32, r Result) {
	var n C.uint32_t
	own := owner.c()
	r = Result(C.tlc_registry_own(C.uintptr_t(p), C.uint64_t(bytes), C.uint32_t(kind), &own, &n))
	return uint32(n), r
}

func AddAlias(id uint64, p uintptr) (fresh bool, was layout.ForeignEntry, r Result) {
	var f C.bool
	r = Result(C.tlc_registry_add_alias(C.uint64_t(id), C.uintptr_t(p), &f, entry(&was)))
	return bool(f), was, r
}

func Owned(number uint32) Ended {
	var d C.tlc_dropped
	C.tlc_registry_owned(C.uint32_t(number), &d)
	return ended(&d)
}

func Abandon(number uint32) { C.tlc_registry_abandon(C.uint32_t(number)) }

func RemoveAlias(number uint32, p uintptr, was layout.ForeignEntry) {
	C.tlc_registry_remove_alias(C.uint32_t(number), C.uintptr_t(p), entry(&was))
}

func Wait(e Ended) uint32 {
	d := C.tlc_dropped{bytes: C.uint64_t(e.Bytes)}
	d.ended.pointer, d.ended.kind = C.uintptr_t(e.Pointer), C.uint32_t(e.Kind)
	d.ended.deleter, d.ended.ctx = C.uintptr_t(e.Deleter), C.uintptr_t(e.Ctx)
	return uint32(C.tlc_registry_wait(&d))
}

func Settle(number uint32) Ended {
	var d C.tlc_dropped
	C.tlc_registry_settle(C.uint32_t(number), &d)
	return ended(&d)
}

// SettleTyped is tlc_settle_typed.
func SettleTyped(number uint32) { C.tlc_settle_typed(C.uint32_t(number)) }

// IsShared tells whether a live shared block has this number.
func IsShared(id uint64) bool { return C.tlc_shared_block(C.uint64_t(id)) != nil }

func Lacks(p, bytes uintptr) (shard int64, units uint32) {
	var n C.uint32_t
	shard = int64(C.tlc_registry_lacks(C.uintptr_t(p), C.uint64_t(bytes), &n))
	return shard, uint32(n)
}

func Rehash(s *layout.Shard, table uintptr, capacity, limit uint32) (outgrown uintptr, cells uint32) {
	var n C.uint32_t
	outgrown = uintptr(C.tlc_registry_rehash(of(s), C.uintptr_t(table), C.uint32_t(capacity), C.uint32_t(limit), &n))
	return outgrown, uint32(n)
}

func GiveChunk(s *layout.Shard, at, bytes uintptr) {
	C.tlc_registry_give_chunk(of(s), C.uintptr_t(at), C.uint64_t(bytes))
}
