/* Allocation from magazines. */
#include <string.h>

#include "object_fast.h"

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

/* Budget: 9 loads, 4 stores, 3 branches, about 25 instructions. */
void* tl_mem_alloc(size_t bytes)
{
	void* p;
	return TLC_LIKELY(alloc(bytes, &p)) ? p : slow_mem_alloc(bytes);
}

void* tl_alloc_tmp(int64_t bytes)
{
	void* p;
	return TLC_LIKELY(bytes > 0 && alloc((size_t)bytes, &p)) ? p : slow_alloc_tmp(bytes);
}

/* Budget: that of tl_mem_alloc and a 16-byte scope entry. */
static inline bool new_object(size_t n, void** object)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_has_room(c))) return false;
	const tl_entry* slot = tlc_take_slot(c, n);
	if (TLC_UNLIKELY(slot == NULL)) return false;
	uintptr_t at = slot->object;
	uint64_t tag = tlc_tag(slot);
	tlc_set_counts(tlc_g.records + (uint32_t)tag, tlc_pair_of(&c->new_loc));
	tlc_set_entry(c->top++, at, tag);
	*object = (void*)at;
	return true;
}

void* tl_mem_new(size_t bytes)
{
	void* p;
	return TLC_LIKELY(new_object(bytes, &p)) ? p : slow_mem_new(bytes);
}

void* tl_mem_new_zeroed(size_t bytes)
{
	void* p;
	return TLC_LIKELY(new_object(bytes, &p)) ? memset(p, 0, bytes) : slow_mem_new_zeroed(bytes);
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
