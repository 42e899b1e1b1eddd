/* Ends blocks of malloc's with a type. */
#include "fast.h"
#include "inbox.h"
#include "typed.h"

bool tlc_ends_at_once(uint32_t type) { return is_simple(info_of(type)) && !tlc_deleters_wait() && has_ring(tlc_tls); }

/* Appends references that are not NULL, from one word of the offsets to the next. */
static inline uint32_t gather(uintptr_t* to, uint32_t n, uintptr_t from, const uint32_t* offsets, uint32_t count)
{
	for (const uint32_t* last = offsets + count; offsets != last; offsets++) {
		to[n] = ((const uintptr_t*)from)[*offsets];
		n += to[n] != 0;
	}
	return n;
}

/* Those of a Vec's elements, last element first, and of its data, if that is an object. */
static uint32_t gather_elements(uintptr_t* to, uint32_t n, const tl_vec_info* vec, const tlc_contents* has)
{
	for (uint64_t i = vec->fields != 0 ? has->length : 0; i-- > 0;)
		n = gather(to, n, has->data + i * vec->element_bytes, vec->references, vec->fields);
	if (has->kind == TLC_DATA_OBJECT) to[n++] = has->data;
	return n;
}

void tlc_end_block(tl_context* c, uintptr_t p, uint32_t type)
{
	const tl_type_info* info = info_of(type);
	uint32_t count = gather((uintptr_t*)tlc_unused_stack(c), 0, p, info->offsets, info->fields);
	if (count != 0) drop_all(c, count);
	tlc_host.free((void*)p); /* may be the program's function, and call the library */
}

/* Whether all references of the Vec at p fit into the ring. */
static bool fits(const tl_type_info* info, const tlc_contents* has)
{
	const uint64_t fields = info->vec->fields;
	return fields == 0 || has->length < (RING - info->fields) / fields;
}

bool tlc_end_waiting_block(tl_context* c)
{
	tl_block_record* b = tlc_record_of(c->draining.deleter_first);
	const tl_type_info* info = info_of((uint32_t)b->deleter);
	const uintptr_t p = atomic_load_explicit(&b->real, memory_order_relaxed);
	tlc_contents has = {0};
	if (info == NULL || info->ends == TL_ENDS_IN_GO || !has_ring(c)) return false;
	if (info->ends == TL_ENDS_WITH_CALL && (b->ctx & TL_TYPED_DESTROYED) == 0) {
		b->ctx |= TL_TYPED_DESTROYED;
		tlc_call_destructor(c, info, p);
		return true;
	}
	if (info->vec != NULL && !(tlc_look_at_vec(info, p, info->size, &has) && fits(info, &has))) return false;
	c->draining.deleter_first = tlc_settle_typed(c->draining.deleter_first);
	uintptr_t* to = (uintptr_t*)tlc_unused_stack(c);
	uint32_t count = gather(to, 0, p, info->offsets, info->fields);
	if (info->vec != NULL) count = gather_elements(to, count, info->vec, &has);
	if (count != 0) drop_all(c, count);
	if (has.kind == TLC_DATA_MALLOC) tlc_host.free((void*)has.data);
	tlc_host.free((void*)p); /* both may be the program's function, and call the library */
	return true;
}
