/* Allocation from magazines. */
#include <string.h>

#include "object_fast.h"
#include "object_inbox.h"
#include "inline_objects.h"

/* Whether a magazine was empty and has slots again. */
static bool refill(size_t n)
{
	tl_context* c = tlc_tls;
	return tlc_refill(c, tlc_magazine_for(c, n));
}

static __attribute__((noinline)) void* alloc_rest(size_t bytes)
{
	void* p;
	return refill(bytes) && tlc_op_mem_alloc(tlc_tls, bytes, &p) ? p : slow_mem_alloc(bytes);
}

void* tl_mem_alloc(size_t bytes)
{
	void* p;
	return TLC_LIKELY(tlc_op_mem_alloc(tlc_tls, bytes, &p)) ? p : alloc_rest(bytes);
}

void* tl_alloc_tmp(int64_t bytes)
{
	void* p;
	return TLC_LIKELY(tlc_op_alloc_tmp(tlc_tls, bytes, &p)) ? p : slow_alloc_tmp(bytes);
}

static __attribute__((noinline)) void* new_rest(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	return refill(bytes) && tlc_has_room(c) && tlc_new_object(c, bytes, &p) ? p : slow_mem_new(bytes);
}

/* A new object where a warm place of another class is, or none. */
static __attribute__((noinline)) void* new_displacing(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	return tlc_displace(c) && tlc_new_object(c, bytes, &p) ? p : new_rest(bytes);
}

void* tl_mem_new(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	int place = tlc_place(c, bytes);
	if (TLC_LIKELY(place == TLC_PLACE_WARM)) {
		if (TLC_UNLIKELY(!tlc_new_warm(c, &p))) return slow_mem_new(bytes);
		TLC_PROBE_ALLOCATE(p, bytes);
		return p;
	}
	if (place == TLC_PLACE_FREE) return TLC_LIKELY(tlc_new_object(c, bytes, &p)) ? p : new_rest(bytes);
	return new_displacing(bytes);
}

void* tl_mem_new_zeroed(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	if (TLC_UNLIKELY(!tlc_has_room(c) || !tlc_new_object(c, bytes, &p))) return slow_mem_new_zeroed(bytes);
	return memset(p, 0, bytes);
}

/* Frees a floating object of plain bytes without an owner, as a context makes them that owns nothing. */
static bool free_unowned(uintptr_t p)
{
	const uint32_t floating = TLC_HELD | TL_SH_FLOAT;
	tl_record* r;
	if (!tlc_find_record(p, &r) || TLC_LOAD(r->sh) != floating) return false;
	return tlc_end_held(tlc_tls, r, tlc_entry_of(r, p), floating);
}

static __attribute__((noinline)) tl_status free_rest(void* object)
{
	return free_unowned((uintptr_t)object) ? TL_OK : slow_mem_free(object);
}

tl_status tl_mem_free(void* object) { return TLC_LIKELY(tlc_op_mem_free(tlc_tls, object)) ? TL_OK : free_rest(object); }

static __attribute__((noinline)) tl_status dealloc_rest(void* object)
{
	return free_unowned((uintptr_t)object) ? TL_OK : slow_mem_dealloc(object);
}

tl_status tl_mem_dealloc(void* object)
{
	return TLC_LIKELY(tlc_op_mem_free(tlc_tls, object)) ? TL_OK : dealloc_rest(object);
}

static __attribute__((noinline)) tl_status free_tmp_rest(void* object)
{
	return free_unowned((uintptr_t)object) ? TL_OK : slow_free_tmp(object);
}

tl_status tl_free_tmp(void* object)
{
	return TLC_LIKELY(tlc_op_mem_free(tlc_tls, object)) ? TL_OK : free_tmp_rest(object);
}
