/* Vecs: the operations that need no memory and release no element. */
#include "object_fast.h"

typedef tlc_vec vec;

/* Whether the element table is the one that was made for the header; see vec.sound. */
static inline bool has_table(const vec* v)
{
	tl_record* data = tlc_record_at(v->data.object);
	if (TLC_UNLIKELY(data == NULL || (uint32_t)(data - tlc_g.records) != v->data.record)) return false;
	if (TLC_UNLIKELY(TLC_LOAD(data->gen) != v->data.gen || TLC_LOAD(data->type_flags) != TL_TYPE_VEC_DATA))
		return false;
	uint64_t size = tlc_g.classes[v->data.gen & 0xFF].size;
	return TLC_LIKELY(v->len <= v->cap && v->cap <= size / 8);
}

static inline vec* header_at(const void* p)
{
	tl_record* r = tlc_record_at((uintptr_t)p);
	if (TLC_UNLIKELY(r == NULL || !tlc_is_live_object(r) || TLC_LOAD(r->type_flags) != TL_TYPE_VEC)) return NULL;
	return (vec*)p;
}

/* The Vec at p when header and element table agree. */
static inline vec* vec_at(const void* p)
{
	vec* v = header_at(p);
	return TLC_LIKELY(v != NULL && (v->len == 0 || has_table(v))) ? v : NULL;
}

tl_status tl_vec_push(void* p, void* element)
{
	vec* v = TLC_LIKELY(tlc_is_fast(tlc_tls)) ? header_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL || v->len >= v->cap || !has_table(v))) return slow_vec_push(p, element);
	tl_record* r = tlc_record_at((uintptr_t)element);
	if (TLC_UNLIKELY(r == NULL || !tlc_acquire_record(r))) return slow_vec_push(p, element);
	((void**)v->data.object)[v->len++] = element;
	return TL_OK;
}

void* tl_vec_pop(void* p)
{
	tl_context* c = tlc_tls;
	vec* v = TLC_LIKELY(tlc_is_fast(c)) ? vec_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL || v->len == 0)) return slow_vec_pop(p);
	void* element = ((void**)v->data.object)[v->len - 1];
	tl_record* r = tlc_record_at((uintptr_t)element);
	if (TLC_UNLIKELY(r == NULL || !tlc_float_record(c, r))) return slow_vec_pop(p);
	v->len--;
	return element;
}

/* As a field: what is no live object is passed over. Budget of two objects of the caller's: 40 loads, 3 stores. */
tl_status tl_vec_set(void* p, int64_t index, void* element)
{
	const vec* v = TLC_LIKELY(tlc_is_fast(tlc_tls)) ? vec_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL || (uint64_t)index >= v->len)) return slow_vec_set(p, index, element);
	tl_record* r = tlc_record_at((uintptr_t)element);
	if (element != NULL && TLC_UNLIKELY(r == NULL || !tlc_acquire_record(r))) return slow_vec_set(p, index, element);
	uintptr_t* place = (uintptr_t*)v->data.object + index;
	const uintptr_t old = *place;
	*place = (uintptr_t)element;
	if (old != 0) tlc_drop_reference(old);
	return TL_OK;
}

void* tl_vec_get(void* p, int64_t index)
{
	vec* v = TLC_LIKELY(tlc_is_fast(tlc_tls)) ? vec_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL || (uint64_t)index >= v->len)) return slow_vec_get(p, index);
	void* element = ((void**)v->data.object)[index];
	return TLC_LIKELY(element != NULL) ? element : slow_vec_get(p, index);
}

int64_t tl_vec_len(void* p)
{
	vec* v = TLC_LIKELY(tlc_is_fast(tlc_tls)) ? vec_at(p) : NULL;
	return TLC_LIKELY(v != NULL) ? (int64_t)v->len : slow_vec_len(p);
}
