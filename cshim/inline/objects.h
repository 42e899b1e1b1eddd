/* Plain objects out of a magazine or a warm place: what is inlined of tl_mem_*. See records.h. */
#ifndef TL_INLINE_OBJECTS_H
#define TL_INLINE_OBJECTS_H

/* Budget: 9 loads, 4 stores, 3 branches, about 25 instructions. */
static inline bool tlc_op_mem_alloc(tl_context* c, size_t bytes, void** result)
{
	const tl_entry* slot = tlc_take_slot(c, bytes);
	if (TLC_UNLIKELY(slot == NULL)) return false;
	tlc_set_counts(TLC_FIXED(c, records) + slot->record, tlc_pair_of(&c->alloc_loc));
	*result = (void*)slot->object;
	TLC_PROBE_ALLOCATE(*result, bytes);
	return true;
}

static inline bool tlc_op_alloc_tmp(tl_context* c, int64_t bytes, void** result)
{
	return TLC_LIKELY(bytes > 0) && tlc_op_mem_alloc(c, (size_t)bytes, result);
}

/* An object with an entry of the scope stack, for which there is room. Budget: that of tl_mem_alloc
 * and a 16-byte entry. */
static inline __attribute__((always_inline)) bool tlc_new_object(tl_context* c, size_t n, void** result)
{
	const tl_entry* slot = tlc_take_slot(c, n);
	if (TLC_UNLIKELY(slot == NULL)) return false;
	tl_entry* top = c->top;
	uintptr_t at = slot->object;
	uint64_t tag = tlc_tag(slot);
	tlc_set_counts(TLC_FIXED(c, records) + (uint32_t)tag, tlc_pair_of(&c->new_loc));
	tlc_set_entry(top, at, tag);
	c->top = top + 1;
	*result = (void*)at;
	TLC_PROBE_ALLOCATE(at, n);
	return true;
}

/* What a new object needs at the top of the scope stack. */
enum { TLC_PLACE_FREE, TLC_PLACE_WARM, TLC_PLACE_OTHER };

/* WARM: the slot there is for n bytes; OTHER: it is not, or the stack is full. The classes of warm
 * places are 32 bytes apart. */
static inline int tlc_place(const tl_context* c, size_t n)
{
	const tl_entry* top = c->top;
	if (top < c->end) return TLC_PLACE_FREE;
	return TLC_LIKELY(top < c->warm) && TLC_LIKELY((n + 31) >> 5 == tlc_class_at(top)) ? TLC_PLACE_WARM
	                                                                                   : TLC_PLACE_OTHER;
}

/* Takes the slot that the last scope has left at this place. Budget, with tlc_place: 10 loads, 3
 * stores, 4 branches, 25 instructions. */
static inline bool tlc_new_warm(tl_context* c, void** result)
{
	tl_entry* top = c->top;
	if (TLC_UNLIKELY(tlc_is_sample(&c->magazines[tlc_class_at(top)]))) return false;
	tlc_set_counts(TLC_FIXED(c, records) + top->record, tlc_pair_of(&c->new_loc));
	c->top = top + 1;
	*result = (void*)top->object;
	return true;
}

static inline bool tlc_op_mem_new(tl_context* c, size_t bytes, void** result)
{
	int place = tlc_place(c, bytes);
	if (place == TLC_PLACE_FREE) return tlc_new_object(c, bytes, result);
	return place == TLC_PLACE_WARM && tlc_new_warm(c, result);
}

/* Frees a floating object of plain bytes that this thread owns and that has no other reference.
 * Budget: 12 loads, 5 stores, 6 branches. */
static inline __attribute__((always_inline)) bool tlc_op_mem_free(tl_context* c, void* object)
{
	tl_record* r;
	uint32_t size_class;
	uintptr_t p = (uintptr_t)object;
	if (TLC_UNLIKELY(!tlc_slot_at(c, p, &r, &size_class))) return false;
	return TLC_LIKELY(TLC_PEEK(r->loc) == c->one + TL_LOC_FLOAT) &&
	       tlc_end_plain(c, &c->magazines[size_class], r, p, TL_SH_ALIVE);
}

/* Ends a plain object whose only reference this thread counts, and makes the next one in its slot: what tl_ptr_release and
 * tl_mem_alloc would do, without the magazine between them. The words change in the same order: the counts go, the next
 * life begins, the counts come. Budget: 11 loads, 4 stores, 6 branches. */
static inline bool tlc_op_ptr_reuse(tl_context* c, const tlc_search* found, void* object, size_t bytes, void** result)
{
	tl_record* r;
	uint32_t size_class;
	*result = object;
	if (TLC_UNLIKELY(!tlc_slot_of(c, found, object, &r, &size_class))) return false;
	tl_magazine* m = tlc_magazine_for(c, bytes);
	if (TLC_UNLIKELY(m != &c->magazines[size_class] || !tlc_is_last(tlc_beside_one(c, TLC_PEEK(r->loc))))) return false;
	uint64_t life = tlc_life(r);
	if (TLC_UNLIKELY(((uint32_t)life | (TLC_LOAD_ACQUIRE(r->sh) ^ TL_SH_ALIVE)) != 0)) return false;
	if (TLC_UNLIKELY(!tlc_next_life(life, &life) || tlc_is_sample(m))) return false;
	tlc_clear_counts(r);
	tlc_set_life(r, life);
	TLC_PROBE_FREE(object);
	tlc_set_counts(r, tlc_pair_of(&c->alloc_loc));
	TLC_PROBE_ALLOCATE(object, bytes);
	return true;
}

static inline bool tlc_op_mem_dealloc(tl_context* c, void* object) { return tlc_op_mem_free(c, object); }
static inline bool tlc_op_free_tmp(tl_context* c, void* object) { return tlc_op_mem_free(c, object); }

#endif
