/* Objects of plain bytes and of types, with destructors that use the library. */
#include <stdio.h>
#include <string.h>

#include "model.h"

enum { LARGE = 64 << 10 };
static const size_t impossible = (size_t)1 << 47;

/* ---- types ------------------------------------------------------------------------------- */

static void tell(const object_type* t, void* object, void* born)
{
	event_add(DESTROYED, *(volatile uint64_t*)((char*)object + t->id_offset), born);
}

static void destroy_1(void* object) { tell(&types[1], object, NULL); }

static void destroy_2(void* object)
{
	tell(&types[2], object, NULL);
	if (tl_mem_enter_scope() == TL_OK) {
		tl_mem_new(48);
		tl_mem_exit_scope();
	}
	tl_clear_error();
}

static void destroy_3(void* object)
{
	tell(&types[3], object, tl_mem_new(32));
	tl_clear_error();
}

static void destroy_4(void* object) { tell(&types[4], object, NULL); }

/* What is dying cannot be revived. */
static void destroy_5(void* object)
{
	tell(&types[5], object, NULL);
	if (tl_ptr_acquire(object) != object || tl_ptr_inc_ref(object) != TL_E_NOT_LIVE ||
	    tl_ptr_release(object) != TL_E_NOT_LIVE || tl_mem_register(object) != TL_E_NOT_LIVE ||
	    tl_ptr_refcount(object) != -1)
		fail(here, "a dying object is live to its destructor");
	tl_clear_error();
}

object_type types[TYPES] = {
	{24, {0, 8}, 2, NO_ID, NOTHING, 0},
	{32, {8, 24}, 2, 0, TELLS, 0},
	{40, {0}, 0, 0, SCOPES, 0},
	{48, {40}, 1, 0, REGISTERS, 0},
	{70000, {0, 69992}, 2, 8, TELLS, 0},
	{64, {16, 32, 56}, 3, 0, REVIVES, 0},
	{200, {0, 96, 192}, 3, NO_ID, NOTHING, 0},
};
static const tl_destructor destructors[TYPES] = {NULL, destroy_1, destroy_2, destroy_3, destroy_4, destroy_5, NULL};
static const char* const type_names[TYPES] = {"pair", "teller", "scoper", "registrar", "large", "reviver", NULL};

void define_types(world* w)
{
	for (int i = 0; i < TYPES; i++) {
		object_type* t = &types[i];
		tl_type_desc desc = {type_names[i], t->bytes, t->offsets, t->fields, destructors[i], 0};
		note(w, "tl_type_define(%d)", i);
		want(w, tl_type_define(&desc, &t->number), GOOD);
	}
	define_shapes(w);
}

static void type_define_refused(world* w)
{
	static const size_t odd[] = {4}, twice[] = {8, 8}, outside[] = {24};
	static const tl_type_desc bad[] = {
		{"no size", 0, NULL, 0, NULL, 0},     {"odd", 24, odd, 1, NULL, 0},    {"twice", 24, twice, 2, NULL, 0},
		{"outside", 24, outside, 1, NULL, 0}, {"flags", 24, NULL, 0, NULL, 8}, {"no array", 24, NULL, 1, NULL, 0},
	};
	const tl_type_desc* desc = &ONE_OF(w, bad);
	tl_type type = 77;
	note(w, "tl_type_define(%s)", desc->name);
	want(w, tl_type_define(desc, &type), BAD_SIZE);
	want_int(w, type, 77, "*out_type");
}

/* ---- new objects --------------------------------------------------------------------------- */

static const size_t sizes[] = {24, 8, 1, 32, 64, 24, 100, 200, 64, 1000, 48, 5000, 16, 40000, 70000, 33, 300000, 96};

/* A size, or what a call for it has to answer instead of an object. */
static size_t draw_size(world* w, unsigned* set)
{
	*set = GOOD;
	if (chance(w, 96)) return ONE_OF(w, sizes);
	if (chance(w, 30)) return 0;
	*set = S(TL_E_OUT_OF_MEMORY) | (model.limits ? S(TL_E_LIMIT) : 0);
	return chance(w, 50) ? impossible : (size_t)-1 - (size_t)draw(w, 100);
}

static bool aligned(const void* p, size_t bytes) { return (uintptr_t)p % (bytes % 64 == 0 ? 64 : 32) == 0; }

/* What a call that makes an object returned. */
item* made(world* w, kind kind, void* at, size_t bytes, unsigned set)
{
	if (want_memory_last(w, set) != TL_OK || bytes == 0) {
		want_pointer(w, at, NULL, "the result");
		return NULL;
	}
	want_true(w, at != NULL, "a result that is not NULL");
	if (set != GOOD) fail(w, "an impossible size was given");
	want_true(w, aligned(at, bytes), "alignment");
	return item_new(w, kind, at, bytes);
}

static void alloc(world* w)
{
	unsigned set;
	size_t bytes = draw_size(w, &set);
	void* at;
	if (crowded(w)) return;
	if (chance(w, 50)) {
		note(w, "tl_mem_alloc(%zu)", bytes);
		at = tl_mem_alloc(bytes);
	} else {
		if ((int64_t)bytes < 0) set = BAD_SIZE;
		note(w, "tl_alloc_tmp(%zu)", bytes);
		at = tl_alloc_tmp((int64_t)bytes);
	}
	item* it = made(w, PLAIN, at, bytes, set);
	if (it == NULL) return;
	it->floats = 1;
	fill(it);
}

static void new_object(world* w)
{
	unsigned set;
	size_t bytes = draw_size(w, &set);
	bool zeroed = chance(w, 40);
	if (crowded(w)) return;
	note(w, "tl_mem_new%s(%zu)", zeroed ? "_zeroed" : "", bytes);
	item* it = made(w, PLAIN, zeroed ? tl_mem_new_zeroed(bytes) : tl_mem_new(bytes), bytes, set);
	if (it == NULL) return;
	if (zeroed) verify_zero(w, it);
	enlist_new(w, it);
	fill(it);
}

static item* new_typed(world* w, int type)
{
	note(w, "tl_object_new(%d)", type);
	item* it = made(w, TYPED, tl_object_new(types[type].number), types[type].bytes, GOOD);
	if (it == NULL) return NULL;
	it->type = type;
	verify_zero(w, it);
	enlist_new(w, it);
	for (size_t i = 0; i < types[type].fields; i++) add_ref(it, NULL);
	fill(it);
	return it;
}

static void object_new(world* w)
{
	if (crowded(w)) return;
	if (chance(w, 97)) {
		new_typed(w, (int)draw(w, TYPES));
		return;
	}
	note(w, "tl_object_new of no type");
	want_pointer(w, tl_object_new((tl_type)-1 - (tl_type)draw(w, 5)), NULL, "the result");
	want_last(w, BAD_SIZE);
}

/* ---- their ends ------------------------------------------------------------------------------ */

static unsigned free_set(const operand* o)
{
	const item* it = o->it;
	if (it == NULL || o->refusal != GOOD) return it != NULL && it->life == ZERO ? GOOD : o->refusal;
	if (it->kind == STACK) return GOOD | S(TL_E_NOT_LIVE) | S(TL_E_UNSUPPORTED);
	if (it->immortal) return GOOD | S(TL_E_BUSY);
	return it->count > it->floats ? S(TL_E_BUSY) : GOOD;
}

static void free_object(world* w)
{
	static tl_status (*const functions[])(void*) = {tl_mem_free, tl_mem_dealloc, tl_free_tmp};
	operand o = draw_operand(w, COUNTED | K(STACK));
	unsigned set = free_set(&o);
	item* it = o.it;
	if (it != NULL && it->life == ZERO) {
		finish_zero(w, it);
		return;
	}
	if (it != NULL && set == GOOD && it->inside > 0) return;
	note(w, "tl_mem_free(%s)", o.name);
	tl_status got = ONE_OF(w, functions)(o.at);
	if (want_memory(w, got, set) != TL_OK || it == NULL || it->kind == STACK || it->immortal) return;
	touch(w, it);
	it->count = it->floats = 0;
	die(w, it);
	drain(w);
}

static const size_t new_sizes[] = {24, 64, 200, 1000, 5000, 40000, 70000};

/* Whether an object of these bytes can be made one of those without moving; -1: it is
 * not said. */
static int stays(const item* it, size_t bytes)
{
	if (bytes == it->bytes || (!model.debug && bytes <= 32 && it->bytes <= 32)) return 1;
	if (model.debug || (bytes > LARGE && it->bytes > LARGE) || (2 * bytes > it->bytes && 2 * it->bytes > bytes))
		return -1;
	return 0;
}

static unsigned realloc_set(const operand* o, size_t bytes)
{
	const item* it = o->it;
	if (it == NULL || o->refusal != GOOD)
		return o->refusal | (bytes == 0 ? BAD_SIZE : 0); /* two mistakes: either is told */
	if (it->kind != PLAIN) return S(TL_E_UNSUPPORTED) | (bytes == 0 ? BAD_SIZE : 0);
	if (bytes == 0) return BAD_SIZE;
	if (bytes == impossible) return S(TL_E_OUT_OF_MEMORY) | S(TL_E_BUSY) | (model.limits ? S(TL_E_LIMIT) : 0);
	if (stays(it, bytes) == 1) return GOOD;
	if (it->count - it->floats - it->listed > 0) return S(TL_E_BUSY) | (stays(it, bytes) == -1 ? GOOD : 0);
	return GOOD;
}

/* Whether what the header says of moving can be foretold: not what others may hold. */
static bool moves_as_said(const world* w, const item* it)
{
	return it->owner == w && !it->immortal && !it->touched && !it->shared &&
	       it->count - it->floats - it->listed >= it->inside;
}

static void resized(world* w, item* it, char* at, size_t bytes)
{
	size_t kept = bytes < it->bytes ? bytes : it->bytes;
	if (at != it->at) ref_ended(w, it);
	it->at = at;
	it->bytes = bytes;
	verify_prefix(w, it, kept);
	claim(w, it);
	fill(it);
}

static void reallocate(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	item* it = o.it;
	size_t bytes = chance(w, 95) ? ONE_OF(w, new_sizes) : chance(w, 50) ? 0 : impossible;
	unsigned set = realloc_set(&o, bytes);
	char* at;
	bool known = it != NULL && it->kind == PLAIN && it->life == LIVE;
	if (o.at == NULL || (known && !moves_as_said(w, it))) return;
	if (known) verify(w, it);
	note(w, "tl_mem_realloc(%s, %zu)", o.name, bytes);
	at = tl_mem_realloc(o.at, bytes);
	if (want_memory_last(w, set) != TL_OK) {
		want_pointer(w, at, NULL, "the result");
		if (known) verify(w, it);
		return;
	}
	want_true(w, at != NULL && aligned(at, bytes), "the result");
	if (stays(it, bytes) == 1) want_pointer(w, at, it->at, "the result");
	resized(w, it, at, bytes);
}

/* The end of one object and the beginning of another, at the same address or not. */
static void reuse(world* w)
{
	unsigned set = GOOD;
	operand o = draw_operand(w, COUNTED | K(STACK));
	size_t bytes = draw_size(w, &set);
	item *it = o.it, *fresh;
	if (crowded(w) || (alive(&o) && it->kind != STACK && !may_drop(it))) return;
	if (o.at != NULL && bytes == 0) set = BAD_SIZE;
	if (o.refusal != GOOD) set = o.refusal | (bytes == 0 ? BAD_SIZE : 0); /* two mistakes: either is told */
	else if (it != NULL && it->kind != PLAIN) set = S(TL_E_UNSUPPORTED) | (bytes == 0 ? BAD_SIZE : 0);
	if (set == GOOD && it != NULL) verify(w, it);
	note(w, "tl_ptr_reuse(%s, %zu)", o.name, bytes);
	void* at = tl_ptr_reuse(o.at, bytes);
	if (at != NULL && it != NULL && set == GOOD) {
		const bool was_last = it->count == 1 && !it->immortal;
		if (at == it->at) want_true(w, was_last, "the old place");
		release(w, it);
	}
	fresh = made(w, PLAIN, at, bytes, set);
	if (fresh == NULL) return;
	fresh->floats = 1;
	fill(fresh);
}

/* ---- fields -------------------------------------------------------------------------------------- */

static bool has_fields(const item* it) { return layout_of(it) != NULL && it->refs_len > 0; }

static void set_field(world* w)
{
	item* holder = pick_where(w, K(TYPED) | K(FOREIGN), has_fields);
	operand o = operand_of(chance(w, 80) ? pick(w, COUNTED) : NULL);
	if (holder == NULL || !ends_here(w, holder) || (o.it != NULL && !may_hold(o.it))) return;
	size_t i = (size_t)draw(w, holder->refs_len);
	note(w, "field %zu of %s = %s", i, name(holder), o.name);
	want_pointer(w, tl_ptr_acquire(o.at), o.at, "the result");
	want_last(w, GOOD);
	if (o.it != NULL) retain(w, o.it);
	store(w, holder, i, o.it);
}

/* Releases what a field or an element of the holder has held. */
void release_held(world* w, item* holder, item* held)
{
	note(w, "tl_ptr_release(%s), out of %s", name(held), name(holder));
	if (want_memory(w, tl_ptr_release(held->at), GOOD) != TL_OK) {
		held->inside--; /* the program's own from here on */
		return;
	}
	drop_ref(w, holder, held);
	drain(w);
}

/* Puts an item that has been acquired into a field, and releases what was there. */
void store(world* w, item* holder, size_t i, item* it)
{
	item* old = holder->refs[i];
	*(void* volatile*)(holder->at + types[holder->type].offsets[i]) = it == NULL ? NULL : it->at;
	holder->refs[i] = it;
	if (it != NULL) it->inside++;
	if (old != NULL) release_held(w, holder, old);
}

static void look(world* w)
{
	const item* it = pick(w, K(PLAIN) | K(TYPED) | K(FOREIGN));
	if (it == NULL) return;
	note(w, "contents of %s", name(it));
	verify(w, it);
	for (size_t i = 0; layout_of(it) != NULL && i < it->refs_len; i++)
		want_pointer(w, *(void* volatile*)(it->at + types[it->type].offsets[i]),
		             it->refs[i] == NULL ? NULL : it->refs[i]->at, "a field");
}

static void purge(world* w)
{
	if (!chance(w, 5)) return;
	note(w, "tl_mem_purge()");
	want(w, tl_mem_purge(), GOOD);
	memory_unknown(w);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {alloc,      alloc,       new_object,  new_object, object_new, object_new,
	                                        object_new, free_object, free_object, reallocate, reuse,      set_field,
	                                        set_field,  set_field,   look,        purge};
	if (chance(w, 1)) type_define_refused(w);
	else ONE_OF(w, steps)(w);
}

/* Fields first, so that no cycle is left. */
static void finish(world* w)
{
	for (size_t k = 0; k < w->items_len; k++) {
		item* it = w->items[k];
		if (layout_of(it) == NULL || it->life != LIVE || it->kind == CELL) continue;
		for (size_t i = 0; i < it->refs_len && it->life == LIVE; i++) {
			if (it->refs[i] == NULL) continue;
			store(w, it, i, NULL);
			events_end(w);
			k = (size_t)-1; /* what ended has changed the list */
			break;
		}
	}
}

const family objects_family = {"objects", 20, step, NULL, finish};
