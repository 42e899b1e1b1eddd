/* Vecs: a header that programs hold, and a table of elements. The Go twin is runtime/object/vec.go, which reports errors
 * and makes the tables that are large objects. typed.c ends Vecs. */
#include <string.h>

#include "fast.h"
#include "inbox.h"

typedef tl_vec_payload vec;

enum { LEAST = 4 }; /* elements that a table has room for */

__attribute__((noinline)) bool tlc_is_large_table(const tl_entry* data, uint64_t capacity)
{
	tl_record* r;
	uint32_t class;
	if (!tlc_find_slot(data->object, &r, &class) || class != TL_CLASS_LARGE) return false;
	if (r != tlc_g.records + data->record || tlc_life(r) != ((uint64_t)data->gen << 32 | TL_TYPE_VEC_DATA))
		return false;
	return capacity <= tlc_slot_bytes(data->object, class) / sizeof(uintptr_t);
}

/* Whether p is a Vec, whatever its header says. */
static inline __attribute__((always_inline)) bool is_vec(const void* p)
{
	tl_record* r;
	return TLC_LIKELY(tlc_find_record((uintptr_t)p, &r)) && TLC_LIKELY(TLC_LOAD(r->type_flags) == TL_TYPE_VEC) &&
	       (TLC_LIKELY(TLC_LOAD(r->sh) == TL_SH_ALIVE) || tlc_is_live_object(r));
}

/* The Vec at p when header and element table agree. */
static inline vec* vec_at(void* p) { return is_vec(p) && TLC_LIKELY(tlc_is_sound_vec((const vec*)p)) ? (vec*)p : NULL; }

static inline uintptr_t* elements(const vec* v) { return (uintptr_t*)v->data.object; }

/* ---- room -------------------------------------------------------------------------------- */

/* A slot for so many bytes whose context counts it by kind; object 0: ask Go. */
static inline __attribute__((always_inline)) tl_entry take_kind(tl_context* c, uint64_t bytes, uint32_t kind)
{
	bool zero;
	tl_entry e = bytes <= TLC_MAX_SMALL ? tlc_take(c, bytes) : tlc_take_large(c, bytes, &zero);
	if (TLC_UNLIKELY(e.object == 0) && bytes <= TLC_MAX_SMALL && tlc_refill_magazine(c, tlc_class_of(bytes)))
		e = tlc_take(c, bytes);
	if (TLC_UNLIKELY(e.object == 0)) return e;
	TLC_PROBE_ALLOCATE(e.object, bytes);
	c->kinds[kind].made++;
	c->kinds[kind].bytes_made += tlc_slot_bytes(e.object, tlc_class_at(&e));
	tlc_set_life(tlc_g.records + e.record, (uint64_t)e.gen << 32 | kind);
	return e;
}

/* Elements that a heap could hold if it were empty. */
static inline uint64_t most(void) { return tlc_g.heap_bytes / sizeof(uintptr_t); }

/* Has tl_vec_push know the table of a header, which is sound. */
static inline void remember(tl_context* c, const vec* v)
{
	c->table = v->data.object;
	c->table_tag = tlc_tag(&v->data);
	c->table_room = v->cap;
}

/* Moves the elements to a table for n of them, which is more than there is room for; false: ask Go, nothing changed.
 * Calls no function of the program. */
static __attribute__((noinline)) bool grow(tl_context* c, vec* v, uint64_t n)
{
	const tl_entry old = v->data;
	if (!tlc_is_sound_vec(v)) return false;
	if (old.object != 0 && tlc_is_last_life(old.gen)) return false; /* Go takes the old table */
	if (n < 2 * v->cap) n = 2 * v->cap;
	if (n < LEAST) n = LEAST;
	if (n > most()) return false;
	const tl_entry e = take_kind(c, n * sizeof(uintptr_t), TL_TYPE_VEC_DATA);
	if (TLC_UNLIKELY(e.object == 0)) return false;
	if (v->len != 0) memcpy((void*)e.object, elements(v), v->len * sizeof(uintptr_t));
	v->data = e;
	v->cap = tlc_slot_bytes(e.object, tlc_class_at(&e)) / sizeof(uintptr_t);
	remember(c, v);
	if (old.object != 0) tlc_free_kind(c, tlc_g.records + old.record, old.object, TL_TYPE_VEC_DATA);
	return true;
}

/* Whether there is a slot for so many bytes; destructors may run. */
static inline bool has_slot(tl_context* c, uint64_t bytes)
{
	const tl_magazine* m = tlc_magazine_for(c, bytes);
	return TLC_LIKELY(m->top > m->base) || tlc_refill(c, m);
}

void* tl_vec_new(size_t capacity)
{
	tl_context* c = tlc_tls;
	vec v = {0, 0, {0, 0, 0}};
	if (TLC_UNLIKELY(!has_slot(c, sizeof v) || tlc_tls != c || !tlc_has_room(c) || capacity > most()))
		return slow_vec_new(capacity);
	const tl_entry e = take_kind(c, sizeof v, TL_TYPE_VEC); /* before the table, as in Go */
	if (TLC_UNLIKELY(e.object == 0)) return slow_vec_new(capacity);
	if (capacity != 0 && TLC_UNLIKELY(!grow(c, &v, capacity))) {
		tlc_free_kind(c, tlc_g.records + e.record, e.object, TL_TYPE_VEC);
		return slow_vec_new(capacity);
	}
	*(vec*)e.object = v;
	tlc_set_counts(tlc_g.records + e.record, tlc_pair_of(&c->new_loc));
	tlc_push(c, e);
	return (void*)e.object;
}

tl_status tl_vec_reserve(void* p, size_t capacity)
{
	tl_context* c = tlc_tls;
	vec* v = TLC_LIKELY(tlc_is_fast(c)) ? vec_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL)) return slow_vec_reserve(p, capacity);
	return TLC_LIKELY(capacity <= v->cap) || grow(c, v, capacity) ? TL_OK : slow_vec_reserve(p, capacity);
}

/* ---- elements -------------------------------------------------------------------------- */

/* Whether a header has the element table that this thread appended to, or made, last: most Vecs get one element after the other. */
static inline bool has_last_table(const tl_context* c, const vec* v)
{
	const uint64_t tag = tlc_tag(&v->data);
	return v->data.object == c->table && tag == c->table_tag && v->cap <= c->table_room &&
	       tlc_life(tlc_g.records + (uint32_t)tag) == tlc_life_of(tag, TL_TYPE_VEC_DATA);
}

/* Appends an object of the caller's, for which there is a place; false: it is another one. In a stub, which has no owner, no
 * element is the caller's. */
static inline __attribute__((always_inline)) bool push_own(const tl_context* c, vec* v, void* element)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record((uintptr_t)element, &r) || !tlc_acquire_own(c, r))) return false;
	elements(v)[v->len++] = (uintptr_t)element;
	return true;
}

/* Elements that this thread does not own or that are no objects. */
static __attribute__((noinline)) tl_status push_rest(void* p, void* element)
{
	vec* v = TLC_LIKELY(tlc_is_fast(tlc_tls)) ? vec_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL || v->len >= v->cap || !tlc_acquire_reference((uintptr_t)element)))
		return slow_vec_push(p, element);
	elements(v)[v->len++] = (uintptr_t)element;
	return TL_OK;
}

/* A Vec whose header says that it is full. */
static __attribute__((noinline)) tl_status push_full(vec* v, void* element)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_is_fast(c) || !grow(c, v, v->len + 1))) return slow_vec_push(v, element);
	return TLC_LIKELY(push_own(c, v, element)) ? TL_OK : push_rest(v, element);
}

/* A Vec that is not the one which an element was appended to last. */
static __attribute__((noinline)) tl_status push_to_other(vec* v, void* element)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_is_fast(c) || !tlc_has_table(v))) return push_rest(v, element);
	remember(c, v);
	return TLC_LIKELY(push_own(c, v, element)) ? TL_OK : push_rest(v, element);
}

/* Budget of an object of the caller's: 27 loads, 3 stores, 13 branches. */
tl_status tl_vec_push(void* p, void* element)
{
	tl_context* c = tlc_tls;
	vec* v = (vec*)p;
	if (TLC_UNLIKELY(!is_vec(p))) return push_rest(p, element);
	if (TLC_UNLIKELY(v->len >= v->cap)) return push_full(v, element);
	if (TLC_UNLIKELY(!has_last_table(c, v))) return push_to_other(v, element);
	return TLC_LIKELY(push_own(c, v, element)) ? TL_OK : push_rest(v, element);
}

static __attribute__((noinline)) void* null_element(tl_context* c) { return tlc_null(c); }

/* Lets an element's reference float that is no object of the heap; false: ask Go, nothing changed. */
static __attribute__((noinline)) bool float_elsewhere(uintptr_t p)
{
	return !tlc_in_heap(p) && !tlc_in_slices(p) && tlc_foreign_float(p, 0) == TLC_OK;
}

static inline bool float_element(tl_context* c, uintptr_t element)
{
	tl_record* r = tlc_record_at(element);
	return TLC_LIKELY(r != NULL) ? tlc_float_record(c, r) : float_elsewhere(element);
}

void* tl_vec_pop(void* p)
{
	tl_context* c = tlc_tls;
	vec* v = TLC_LIKELY(tlc_is_fast(c)) ? vec_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL || v->len == 0)) return slow_vec_pop(p);
	const uintptr_t element = elements(v)[v->len - 1];
	if (TLC_UNLIKELY(element != 0 && !float_element(c, element))) return slow_vec_pop(p);
	v->len--;
	return TLC_LIKELY(element != 0) ? (void*)element : null_element(c);
}

/* As a field: what is no live object is passed over. Budget of two objects of the caller's: 40 loads, 3 stores. */
tl_status tl_vec_set(void* p, int64_t index, void* element)
{
	const vec* v = TLC_LIKELY(tlc_is_fast(tlc_tls)) ? vec_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL || (uint64_t)index >= v->len)) return slow_vec_set(p, index, element);
	if (TLC_UNLIKELY(!tlc_acquire_reference((uintptr_t)element))) return slow_vec_set(p, index, element);
	uintptr_t* place = elements(v) + index;
	const uintptr_t old = *place;
	*place = (uintptr_t)element;
	if (old != 0) tlc_drop_reference(old);
	return TL_OK;
}

void* tl_vec_get(void* p, int64_t index)
{
	tl_context* c = tlc_tls;
	vec* v = TLC_LIKELY(tlc_is_fast(c)) ? vec_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL || (uint64_t)index >= v->len)) return slow_vec_get(p, index);
	const uintptr_t element = elements(v)[index];
	return TLC_LIKELY(element != 0) ? (void*)element : null_element(c);
}

int64_t tl_vec_len(void* p)
{
	vec* v = TLC_LIKELY(tlc_is_fast(tlc_tls)) ? vec_at(p) : NULL;
	return TLC_LIKELY(v != NULL) ? (int64_t)v->len : slow_vec_len(p);
}

/* What dies waits until the Vec is empty, as in Go. A free() that is the program's may call the library: after each call
 * the Vec is looked at again. */
static void clear(tl_context* c, vec* v)
{
	const uint32_t draining = c->draining.active;
	if (draining == 0) {
		c->draining.active = 1;
		c->draining.frame = (uintptr_t)__builtin_frame_address(0);
	}
	const uintptr_t *table = elements(v), *at = table + v->len;
	bool sound = true;
	while (at > table) {
		const uintptr_t element = *--at;
		if (TLC_LIKELY(tlc_drop_one_of_many(c, element)) || element == 0) continue;
		v->len = (uint64_t)(at - table);
		tlc_drop_reference(element);
		sound = vec_at(v) != NULL;
		if (!sound) break;
		table = elements(v);
		at = table + v->len;
	}
	if (sound) v->len = 0;
	c->draining.active = draining;
}

tl_status tl_vec_clear(void* p)
{
	tl_context* c = tlc_tls;
	vec* v = TLC_LIKELY(tlc_is_fast(c)) ? vec_at(p) : NULL;
	if (TLC_UNLIKELY(v == NULL)) return slow_vec_clear(p);
	clear(c, v);
	if (tlc_has_to_destroy(c) != 0 && c->draining.active == 0) tlc_finish(c);
	return TL_OK;
}
