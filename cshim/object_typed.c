/* Makes typed objects, and destroys those without a destructor. The Go twin is
 * runtime/object/destruction.go. Both work on the same deferred-destruction queue: dead records,
 * linked first in first out through their counting words, so that a chain of any length needs no
 * stack.
 *
 *	loc = link bits 28..31 << 16 | slot number     (owner 0: matches no context)
 *	sh  = link bits 0..27 << 4                     (not ALIVE: dead for every thread)
 */
#include <string.h>

#include "object_fast.h"

enum {
	WHOLE_PAGES = 1024, /* purgeable of runtime/heap */
	PAGE_RECORDS = 256,
};

/* The description of a type; NULL for types that are not the user's, and for those that contexts do
 * not count. */
static inline const tl_type_info* info_of(uint32_t type)
{
	uint32_t n = type - TL_TYPE_FIRST_USER;
	return TLC_LIKELY(n < tlc_g.counted_types) ? &tlc_g.types[n] : NULL;
}

/* What c has counted of a type that info_of knows. */
static inline tl_type_count* count_of(tl_context* c, uint32_t type)
{
	return (tl_type_count*)((char*)c + TLC_TYPES_OFFSET) + (type - TL_TYPE_FIRST_USER);
}

void* tl_object_new(tl_type type)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_is_fast(c) || !tlc_has_room(c))) return slow_object_new(type);
	const tl_type_info* info = info_of(type);
	tl_entry e = info != NULL ? tlc_take(c, info->size) : (tl_entry){0, 0, 0};
	if (TLC_UNLIKELY(e.object == 0)) return slow_object_new(type);
	tl_record* r = tlc_g.records + e.record;
	count_of(c, type)->made++;
	memset((void*)e.object, 0, info->size);
	TLC_STORE(r->type_flags, type);
	tlc_set_counts(r, tlc_pair_of(&c->new_loc));
	tlc_push(c, e);
	return (void*)e.object;
}

/* ---- the destruction queue -------------------------------------------------------------------- */

static inline void set_link(tl_record* r, uint32_t next)
{
	TLC_STORE(r->loc, (TLC_LOAD(r->loc) & 0xFFFF) | next >> 28 << 16);
	TLC_STORE(r->sh, next << 4);
}

static inline uint32_t next_of(const tl_record* r) { return TLC_LOAD(r->sh) >> 4 | TLC_LOAD(r->loc) >> 16 << 28; }

static void enqueue(tl_context* c, tl_record* r, uintptr_t object)
{
	uint32_t index = (uint32_t)(r - tlc_g.records);
	const tl_class_info* k = &tlc_g.classes[TLC_LOAD(r->gen) & 0xFF];
	unsigned __int128 in = (uint32_t)(object - tlc_g.heap_base) & k->mask;
	TLC_STORE(r->loc, (uint32_t)(in * k->reciprocal >> 64));
	TLC_STORE(r->sh, 0);
	if (c->destroy_first == 0) c->destroy_first = index;
	else set_link(tlc_g.records + c->destroy_last, index);
	c->destroy_last = index;
}

/* The object of a dying record: the metadata of its block knows the span. */
static inline uintptr_t locate(const tl_record* r, uint32_t slot, const tl_class_info* k)
{
	const tl_record* first = r - slot;
	const tl_record* metadata =
		k->slots >= WHOLE_PAGES ? tlc_g.block_metadata + (first - tlc_g.records) / PAGE_RECORDS : first + k->slots;
	return tlc_g.heap_base + ((uint64_t)TLC_LOAD(metadata->type_flags) << TL_SPAN_SHIFT) + (uint64_t)slot * k->size;
}

/* ---- destroying ------------------------------------------------------------------------ */

void tlc_drop_slowly(uintptr_t p)
{
	tl_status why;
	tl_context* in = tlc_entry_begin(TL_FN_NONE, &why);
	if (in == NULL) return;
	tlentry_drop_field((uintptr_t)in, p);
	tlc_entry_end(in);
}

static void recycle_slowly(tl_entry e)
{
	tl_status why;
	tl_context* in = tlc_entry_begin(TL_FN_NONE, &why);
	if (in == NULL) return;
	tlentry_recycle((uintptr_t)in, e.object, e.record, e.gen);
	tlc_entry_end(in);
}

/* Drops a reference that this thread owns; false: more than counting is needed. */
static inline bool drop_own(tl_context* c, tl_record* r, uintptr_t p, uint32_t own)
{
	if (TLC_LIKELY(own - 2 < TL_LOC_COUNT - 1)) {
		TLC_STORE(r->loc, TLC_LOAD(r->loc) - 1);
		return true;
	}
	if (TLC_UNLIKELY(own != 1 || atomic_load_explicit(&r->sh, memory_order_acquire) != TL_SH_ALIVE)) return false;
	uint64_t tag = tlc_tag_of(r);
	if (TLC_LOAD(r->type_flags) == TL_TYPE_PLAIN) return tlc_recycle(tlc_magazine_of(c, tag), r, p, tag);
	enqueue(c, r, p);
	return true;
}

/* Releases a field of a dying object. A field that does not refer to a live object is skipped. */
static void drop_field(tl_context* c, uintptr_t p)
{
	tl_record* r;
	if (p == 0) return;
	if (TLC_LIKELY(tlc_find_record(p, &r))) {
		uint32_t own = tlc_own(c, TLC_LOAD(r->loc));
		if (own < TLC_OWNED) {
			if (TLC_LIKELY(drop_own(c, r, p, own))) return;
		} else if (tlc_drop_shared(r)) {
			return;
		} else if (TLC_LOAD(r->type_flags) == TL_TYPE_TENSOR && tlc_tensor_drop(c, r, tlc_entry_of(r, p))) {
			return;
		}
	}
	tlc_drop_slowly(p);
}

/* Destroys the first object of the queue; false: it needs the slow path, or there is no room for
 * its slot. */
static bool dismantle_first(tl_context* c)
{
	tl_record* r = tlc_g.records + c->destroy_first;
	uint32_t type = TLC_LOAD(r->type_flags);
	const tl_type_info* info = info_of(type);
	uint32_t gen = TLC_LOAD(r->gen);
	const tl_class_info* k = &tlc_g.classes[gen & 0xFF];
	const tl_magazine* m = &c->magazines[gen & 0xFF];
	if (TLC_UNLIKELY(info == NULL || info->has_destructor || m->top == m->limit)) return false;
	uintptr_t object = locate(r, TLC_LOAD(r->loc) & 0xFFFF, k);
	tl_entry e = {object, c->destroy_first, gen};
	c->destroy_first = next_of(r);
	for (uint32_t i = 0; i < info->fields; i++) drop_field(c, ((const uintptr_t*)object)[info->offsets[i]]);
	TLC_STORE(r->type_flags, TL_TYPE_PLAIN);
	count_of(c, type)->gone++;
	if (TLC_UNLIKELY(!tlc_recycle(&c->magazines[gen & 0xFF], r, object, tlc_tag(&e))))
		recycle_slowly(e); /* fields have filled the magazine */
	return true;
}

bool tlc_kill_typed(tl_context* c, tl_record* r, uintptr_t object)
{
	uint32_t type = TLC_LOAD(r->type_flags);
	const tl_type_info* info = info_of(type);
	if (info == NULL || info->has_destructor) return false;
	enqueue(c, r, object);
	if (c->draining) return true; /* the call that drains continues with it */
	c->draining = 1;              /* no callback runs below: nothing can unwind past this */
	while (c->destroy_first != 0 && dismantle_first(c)) {}
	c->draining = 0;
	if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0)) tlc_poll(); /* a destructor, or a deleter of what a field held */
	return true;
}
