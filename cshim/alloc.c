/* Allocation from magazines. */
#include <string.h>

#include "fast.h"

static inline void* alloc(tl_context* c, size_t n)
{
	const tl_entry* slot = tlc_take_slot(c, n);
	if (TLC_UNLIKELY(slot == NULL)) return NULL;
	tlc_set_counts(tlc_g.records + slot->record, tlc_pair_of(&c->alloc_loc));
	return (void*)slot->object;
}

/* Budget: 9 loads, 4 stores, 3 branches, about 25 instructions. */
void* tl_mem_alloc(size_t bytes)
{
	void* p = alloc(tlc_tls, bytes);
	return TLC_LIKELY(p != NULL) ? p : slow_mem_alloc(bytes);
}

void* tl_alloc_tmp(int64_t bytes)
{
	void* p = bytes > 0 ? alloc(tlc_tls, (size_t)bytes) : NULL;
	return TLC_LIKELY(p != NULL) ? p : slow_alloc_tmp(bytes);
}

/* Budget: that of tl_mem_alloc and a 16-byte scope entry. */
static inline void* new_object(size_t n)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_has_room(c))) return NULL;
	const tl_entry* slot = tlc_take_slot(c, n);
	if (TLC_UNLIKELY(slot == NULL)) return NULL;
	uintptr_t object = slot->object;
	uint64_t tag = tlc_tag(slot);
	tlc_set_counts(tlc_g.records + (uint32_t)tag, tlc_pair_of(&c->new_loc));
	tlc_set_entry(c->top++, object, tag);
	return (void*)object;
}

void* tl_mem_new(size_t bytes)
{
	void* p = new_object(bytes);
	return TLC_LIKELY(p != NULL) ? p : slow_mem_new(bytes);
}

void* tl_mem_new_zeroed(size_t bytes)
{
	void* p = new_object(bytes);
	return TLC_LIKELY(p != NULL) ? memset(p, 0, bytes) : slow_mem_new_zeroed(bytes);
}

/* A floating object of plain bytes that this thread owns and nobody else refers to.
 * Budget: 12 loads, 5 stores, 5 branches. */
static inline __attribute__((always_inline)) bool free_floating(uintptr_t p)
{
	tl_context* c = tlc_tls;
	tl_record* r;
	uint32_t class;
	if (TLC_UNLIKELY(!tlc_find_slot(p, &r, &class))) return false;
	uint64_t tag = tlc_tag_of(r);
	return tlc_is_plain(r, tag, c->alloc_loc, c->alloc_sh) && tlc_recycle(c, r, p, tag, class);
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
