/* Reading a Vec. */
#include "fast.h"

/* The payload that runtime/object/vec.go keeps. */
typedef struct vec {
	uint64_t len, cap;
	tl_entry data;
} vec;

/* The Vec at p when header and element table agree; see vec.sound. */
static inline vec* vec_at(const void* p)
{
	tl_record* r = tlc_record_at((uintptr_t)p);
	if (TLC_UNLIKELY(r == NULL || !(TLC_LOAD(r->sh) & TL_SH_ALIVE) || TLC_LOAD(r->type_flags) != TL_TYPE_VEC)) return NULL;
	vec* v = (vec*)p;
	if (v->len == 0) return v;
	tl_record* data = tlc_record_at(v->data.object);
	if (TLC_UNLIKELY(data == NULL || (uint32_t)(data - tlc_g.records) != v->data.record)) return NULL;
	if (TLC_UNLIKELY(TLC_LOAD(data->gen) != v->data.gen || TLC_LOAD(data->type_flags) != TL_TYPE_VEC_DATA)) return NULL;
	uint64_t size = tlc_g.classes[v->data.gen & 0xFF].size;
	return TLC_LIKELY(v->len <= v->cap && v->cap <= size / 8) ? v : NULL;
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
