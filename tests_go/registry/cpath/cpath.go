// Package cpath calls the fast path's functions of cshim/registry.h from Go, so that a test
// can look at the table after each of them. Sources and headers are links into cshim: go
// build notices changes of files in a package's own folder only.
package cpath

/*
#cgo CFLAGS: -std=gnu11 -O1 -Wall -Wextra
#include "registry_linked.h"

static size_t usable;
static size_t measured(void* block) { (void)block; return usable; }
tlc_host_malloc tlc_host = {.usable = measured}; // the blocks of tests are not there

static int adopt(uintptr_t p, uint64_t bytes, uint32_t* gen)
{
	uint64_t size;
	usable = bytes;
	return (p & 15) == 0 && tlc_foreign_adopt_new(p, gen, &size) ? TLC_OK : tlc_foreign_adopt(p, bytes, gen);
}
static bool insert(uintptr_t p, uint64_t bytes, uint32_t kind) { return tlc_foreign_insert(p, bytes, kind); }
static int registered(uintptr_t p, uint32_t* gen) { return tlc_foreign_register(p, gen); }
static int acquire(uintptr_t p) { return tlc_foreign_acquire(p); }
static int decref(uintptr_t p) { return tlc_foreign_decref(p); }
static int floated(uintptr_t p, uint32_t gen) { return tlc_foreign_float(p, gen); }
static int free_aligned(uintptr_t p) { return tlc_foreign_free_aligned(p); }
_Atomic(volatile char*) tlc_alive;
static bool keeps;
void tlc_note_thread(const tl_foreign_entry* e) { (void)e; } // no block here has a type
void tlc_note_shared(const tl_foreign_entry* e) { (void)e; }
bool tlc_deleters_wait(void) { return keeps; }
bool tlc_ends_at_once(uint32_t type) { (void)type; return false; }

// The function of the library that drops a reference, as tl_registry_unregister does and as a scope.
static int release(uintptr_t p, bool keep, tlc_ended* ended)
{
	keeps = keep;
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return TLC_MISS;
	*ended = (tlc_ended){.pointer = p};
	if ((ended->kind = tlc_end_at(&x, p, 0, 0)) != TLC_NO_KIND) return TLC_GONE;
	if (x.entry != NULL) tlc_shard_unlock(x.shard);
	return tlc_foreign_release(p, ended);
}
static int release_entry(uintptr_t p, uint32_t gen, bool keep, tlc_ended* ended)
{
	keeps = keep;
	*ended = (tlc_ended){.pointer = p, .kind = TL_FOREIGN_MALLOC};
	return tlc_foreign_end(p, gen) ? TLC_GONE : tlc_foreign_release_entry(p, gen, ended);
}
static bool insert_custom(uintptr_t p, uint64_t bytes, uintptr_t deleter, uintptr_t ctx)
{
	return tlc_enter_custom(p, bytes, deleter, ctx);
}
static bool add_alias(uint64_t id, uintptr_t p, bool* is_new) { return tlc_add_alias(id, p, is_new); }
static void settle(uint32_t number, tlc_ended* ended) { tlc_settle_pending(number, ended); }
*/
import "C"

import (
	"tlruntime/runtime/registry"
)

// Slow is C's answer where Go has to do it. Release and ReleaseEntry return it.
const Slow = registry.Result(C.TLC_SLOW)

// Path is a table as the library uses it: C, and what C cannot answer is Go's. One
// goroutine at a time, and the newest Path alone.
type Path struct{ *registry.Table }

// Attach makes C work on the table.
func Attach(t *registry.Table) Path {
	shards, mask := t.Layout()
	C.tlc_foreign_attach(C.uintptr_t(shards), C.uint64_t(mask))
	return Path{t}
}

func result(r C.int, other func() registry.Result) registry.Result {
	if registry.Result(r) == Slow {
		return other()
	}
	return registry.Result(r)
}

// Adopt is what tl_mem_register_struct does with a block of malloc's.
func (d Path) Adopt(p, bytes uintptr) (uint32, registry.Result) {
	var gen C.uint32_t
	r := C.adopt(C.uintptr_t(p), C.uint64_t(bytes), &gen)
	if registry.Result(r) == Slow {
		return d.Table.Adopt(p, bytes)
	}
	return uint32(gen), registry.Result(r)
}

// Insert is what tl_registry_register does: Go says why C did not.
func (d Path) Insert(p, bytes uintptr, kind uint8) registry.Result {
	if C.insert(C.uintptr_t(p), C.uint64_t(bytes), C.uint32_t(kind)) {
		return registry.OK
	}
	_, r := d.Table.Insert(p, bytes, kind, 0)
	return r
}

// Register is tl_mem_register_ptr's part in the table.
func (d Path) Register(p uintptr) (uint32, registry.Result) {
	var gen C.uint32_t
	r := C.registered(C.uintptr_t(p), &gen)
	return uint32(gen), registry.Result(r)
}

// Acquire counts one more reference.
func (d Path) Acquire(p uintptr) registry.Result { return registry.Result(C.acquire(C.uintptr_t(p))) }

// DecRef drops a reference; what comes to zero stays.
func (d Path) DecRef(p uintptr) registry.Result {
	return result(C.decref(C.uintptr_t(p)), func() registry.Result { return d.Table.DecRef(p) })
}

// Float is unregister.
func (d Path) Float(p uintptr, gen uint32) registry.Result {
	return result(C.floated(C.uintptr_t(p), C.uint32_t(gen)),
		func() registry.Result { _, r := d.Table.Float(p, gen); return r })
}

// FreeAligned is tl_aligned_free's part in the table.
func (d Path) FreeAligned(p uintptr) registry.Result {
	return registry.Result(C.free_aligned(C.uintptr_t(p)))
}

// ended is what C hands out for freeing: its record, if it has one, was given back.
func ended(r C.int, e *C.tlc_ended) registry.Ended {
	if registry.Result(r) != registry.Gone || e.pointer == 0 {
		return registry.Ended{}
	}
	if e.record != 0 {
		var settled C.tlc_ended
		C.settle(e.record, &settled)
		settled.record = e.record
		if settled != *e {
			panic("a record that waits has changed")
		}
	}
	return registry.Ended{Pointer: uintptr(e.pointer), Kind: uint8(e.kind), Deleter: uintptr(e.deleter),
		Ctx: uintptr(e.ctx)}
}

// Release is tl_registry_unregister's part in the table, with or without deleters that wait.
func (d Path) Release(p uintptr, keep bool) (registry.Ended, registry.Result) {
	var e C.tlc_ended
	r := C.release(C.uintptr_t(p), C.bool(keep), &e)
	return ended(r, &e), registry.Result(r)
}

// ReleaseEntry is what leaving a scope does with an entry.
func (d Path) ReleaseEntry(p uintptr, gen uint32, keep bool) (registry.Ended, registry.Result) {
	var e C.tlc_ended
	r := C.release_entry(C.uintptr_t(p), C.uint32_t(gen), C.bool(keep), &e)
	return ended(r, &e), registry.Result(r)
}

// InsertCustom is tl_registry_register_custom.
func (d Path) InsertCustom(b registry.Block) registry.Result {
	if C.insert_custom(C.uintptr_t(b.Real), C.uint64_t(b.Bytes), C.uintptr_t(b.Deleter), C.uintptr_t(b.Ctx)) {
		return registry.OK
	}
	return d.Table.InsertCustom(b)
}

// AddAlias is tl_registry_add_alias.
func (d Path) AddAlias(id uint64, p uintptr) (bool, registry.Result) {
	var isNew C.bool
	if C.add_alias(C.uint64_t(id), C.uintptr_t(p), &isNew) {
		return bool(isNew), registry.OK
	}
	return d.Table.AddAlias(id, p)
}

// Covered tells whether p is inside a registered block.
func (d Path) Covered(p uintptr) bool { return bool(C.tlc_foreign_covered(C.uintptr_t(p))) }
