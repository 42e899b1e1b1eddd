/* Allocation from magazines. */
#include <string.h>

#include "object_fast.h"
#include "object_inbox.h"

/* Whether a magazine was empty and has slots again. */
static bool refill(size_t n)
{
	tl_context* c = tlc_tls;
	return tlc_refill(c, tlc_magazine(c, n));
}

/* false: ask Go. */
static inline bool alloc(size_t n, void** object)
{
	tl_context* c = tlc_tls;
	const tl_entry* slot = tlc_take_slot(c, n);
	if (TLC_UNLIKELY(slot == NULL)) return false;
	tlc_set_counts(tlc_g.records + slot->record, tlc_pair_of(&c->alloc_loc));
	*object = (void*)slot->object;
	return true;
}

static __attribute__((noinline)) void* alloc_rest(size_t bytes)
{
	void* p;
	return refill(bytes) && alloc(bytes, &p) ? p : slow_mem_alloc(bytes);
}

/* Budget: 9 loads, 4 stores, 3 branches, about 25 instructions. */
void* tl_mem_alloc(size_t bytes)
{
	void* p;
	return TLC_LIKELY(alloc(bytes, &p)) ? p : alloc_rest(bytes);
}

void* tl_alloc_tmp(int64_t bytes)
{
	void* p;
	return TLC_LIKELY(bytes > 0 && alloc((size_t)bytes, &p)) ? p : slow_alloc_tmp(bytes);
}

/* Budget: that of tl_mem_alloc and a 16-byte scope entry. */
static inline __attribute__((always_inline)) bool new_object(tl_context* c, size_t n, void** object)
{
	const tl_entry* slot = tlc_take_slot(c, n);
	if (TLC_UNLIKELY(slot == NULL)) return false;
	tl_entry* top = c->top;
	uintptr_t at = slot->object;
	uint64_t tag = tlc_tag(slot);
	tlc_set_counts(tlc_g.records + (uint32_t)tag, tlc_pair_of(&c->new_loc));
	tlc_set_entry(top, at, tag);
	c->top = top + 1;
	*object = (void*)at;
	return true;
}

static __attribute__((noinline)) void* new_rest(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	return refill(bytes) && tlc_has_room(c) && new_object(c, bytes, &p) ? p : slow_mem_new(bytes);
}

/* A new object where a warm place of another class is, or none. */
static __attribute__((noinline)) void* new_displacing(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	return tlc_displace(c) && new_object(c, bytes, &p) ? p : new_rest(bytes);
}

/* Takes the slot that the last scope has left at this place, if its class is that of the size: the classes
 * of warm places are 32 bytes apart. Budget of that: 10 loads, 4 stores, 4 branches, 26 instructions. */
void* tl_mem_new(size_t bytes)
{
	tl_context* c = tlc_tls;
	tl_entry* top = c->top;
	void* p;
	if (top != c->end) return TLC_LIKELY(new_object(c, bytes, &p)) ? p : new_rest(bytes);
	if (TLC_UNLIKELY(top >= c->warm)) return new_displacing(bytes);
	const size_t class = tlc_class_at(top);
	if (TLC_UNLIKELY((bytes + 31) >> 5 != class)) return new_displacing(bytes);
	if (TLC_UNLIKELY(++c->magazines[class].allocs == 0)) return slow_mem_new(bytes); /* a sample */
	tlc_set_counts(tlc_g.records + top->record, tlc_pair_of(&c->new_loc));
	tlc_set_warm_top(c, top + 1);
	return (void*)top->object;
}

void* tl_mem_new_zeroed(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	if (TLC_UNLIKELY(!tlc_has_room(c) || !new_object(c, bytes, &p))) return slow_mem_new_zeroed(bytes);
	return memset(p, 0, bytes);
}

/* Frees a floating object of plain bytes that this thread owns and that has no other reference.
 * Budget: 12 loads, 5 stores, 6 branches. */
static inline __attribute__((always_inline)) bool free_floating(uintptr_t p)
{
	tl_context* c = tlc_tls;
	tl_record* r;
	uint32_t class;
	if (TLC_UNLIKELY(!tlc_find_slot(p, &r, &class))) return false;
	return TLC_LIKELY(TLC_LOAD(r->loc) == c->alloc_loc) && tlc_end_plain(&c->magazines[class], r, p, c->alloc_sh);
}

tl_status tl_mem_free(void* object)
{
	return TLC_LIKELY(free_floating((uintptr_t)object)) ? TL_OK : slow_mem_free(object);
}

tl_status tl_mem_dealloc(void* object)
{
	return TLC_LIKELY(free_floating((uintptr_t)object)) ? TL_OK : slow_mem_dealloc(object);
}

tl_status tl_free_tmp(void* object)
{
	return TLC_LIKELY(free_floating((uintptr_t)object)) ? TL_OK : slow_free_tmp(object);
}
