/* The heap for the fast path: magazines that are empty or full, and large objects. */
#include "../heap/heap.h"

#include "held.h"

/* Neither a stub nor a forked child, whose heap may be as another thread of the parent was about to leave it. */
static bool may_work(const tl_context* c) { return tlc_is_fast(c) && !tlc_forked(); }

bool tlc_refill_magazine(tl_context* c, uint32_t class)
{
	const tl_magazine* m = &c->magazines[class];
	return class - 1 < TL_CLASS_LARGE - 1 && m->top <= m->base && may_work(c) &&
	       tlc_heap_refill(tlc_g.heap, c, class, false) == TL_HEAP_OK;
}

bool tlc_make_room(tl_context* c, uint32_t class)
{
	if (class - 1 >= TL_CLASS_LARGE - 1 || !may_work(c)) return false;
	tlc_heap_make_room(tlc_g.heap, c, class);
	return true;
}

void tlc_give_magazines(tl_context* c)
{
	if (tlc_forked()) return;
	for (uint32_t size_class = 1; size_class < TL_CLASS_LARGE; size_class++)
		tlc_heap_empty_magazine(tlc_g.heap, c, size_class);
}

bool tlc_recycle_elsewhere(tl_context* c, tl_record* r, uintptr_t object, uint64_t tag)
{
	const uint32_t class = tag >> 32 & 0xFF;
	uint64_t next;
	if (!tlc_next_life(tag, &next)) return false;
	if (class != TL_CLASS_LARGE) return tlc_make_room(c, class) && tlc_recycle(&c->magazines[class], r, object, tag);
	if (!may_work(c)) return false;
	tlc_clear_counts(r);
	tlc_set_life(r, tlc_life_of(next, TL_TYPE_PLAIN));
	TLC_PROBE_FREE(object);
	tlc_heap_give_large(tlc_g.heap, (tl_entry){object, (uint32_t)next, (uint32_t)(next >> 32)}, true);
	return true;
}

tl_entry tlc_take_large(tl_context* c, size_t bytes, bool* zero) { return tlc_take_aligned(c, bytes, 1, zero); }

tl_entry tlc_take_aligned(tl_context* c, size_t bytes, uint32_t spans, bool* zero)
{
	tl_entry e = {0, 0, 0};
	if (!may_work(c) || bytes <= TLC_MAX_SMALL || c->tracking.left < bytes) return e;
	if (tlc_heap_take_large(tlc_g.heap, bytes, spans, &e, zero, false) != TL_HEAP_OK) return (tl_entry){0, 0, 0};
	c->magazines[TL_CLASS_LARGE].allocs++;
	c->tracking.left -= bytes;
	return e;
}

int tlc_resize_large(tl_context* c, uintptr_t object, size_t bytes)
{
	return may_work(c) ? tlc_heap_resize_large(tlc_g.heap, object, bytes, false) : TL_HEAP_ASK;
}

void* tlc_held_take_elsewhere(tl_context* c, size_t n, bool* zero)
{
	*zero = false;
	if (n <= TLC_MAX_SMALL) return tlc_refill_magazine(c, tlc_class_of(n)) ? tlc_held_take(c, n) : NULL;
	const tl_entry e = tlc_take_large(c, n, zero);
	if (e.object == 0) return NULL;
	tlc_set_counts(tlc_g.records + e.record, (uint64_t)TLC_HELD << 32);
	TLC_PROBE_ALLOCATE(e.object, n);
	return (void*)e.object;
}
