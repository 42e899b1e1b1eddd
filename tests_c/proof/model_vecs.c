/* Vecs: arrays that hold a reference to each of their elements. */
#include "model.h"

static const size_t too_many = (size_t)1 << 44;

static void vec_new(world* w)
{
	static const size_t capacities[] = {0, 1, 4, 100, 4, 2, 1000, (size_t)1 << 44, (size_t)-1};
	size_t capacity = ONE_OF(w, capacities);
	unsigned set = capacity == (size_t)-1 ? BAD_SIZE
	               : capacity == too_many ? S(TL_E_OUT_OF_MEMORY) | (model.limits ? S(TL_E_LIMIT) : 0)
	                                      : GOOD;
	if (crowded(w)) return;
	note(w, "tl_vec_new(%zu)", capacity);
	item* it = made(w, VEC, tl_vec_new(capacity), 32, set);
	if (it == NULL) return;
	it->bytes = 0;
	enlist_new(w, it);
	memory_unknown(w);
}

/* A Vec, or something that is none; the statuses of a call that wants a Vec. */
static operand draw_vec(world* w, unsigned* set)
{
	operand o = chance(w, 90) ? operand_of(pick(w, K(VEC))) : draw_operand(w, COUNTED | K(STACK));
	*set = refusal_for(&o, K(VEC));
	if (o.it != NULL && o.it->life == ZERO)
		o = o.it->kind == VEC ? operand_of(NULL) : o, *set |= S(TL_E_UNSUPPORTED) | S(TL_E_UNKNOWN_POINTER);
	if (o.at == NULL) *set = GOOD;
	return o;
}

/* What may go into a container; false when the program would break its promise. */
static bool draw_element(world* w, const item* vec, operand* o)
{
	*o = draw_operand(w, COUNTED | K(STACK));
	return ends_here(w, vec) && (o->it == NULL || o->it->life != LIVE || o->it->kind == STACK || may_hold(o->it));
}

static bool is_vec(const operand* o) { return o->it != NULL && o->it->life == LIVE && o->it->kind == VEC; }

static void hold(world* w, const operand* e)
{
	if (e->it != NULL && e->it->kind != STACK) retain(w, e->it);
}

static void push(world* w)
{
	unsigned set;
	operand v = draw_vec(w, &set), e = operand_of(NULL);
	if (is_vec(&v)) {
		if (v.it->refs_len > 40 || !draw_element(w, v.it, &e)) return;
		set = e.refusal;
	}
	note(w, "tl_vec_push(%s, %s)", v.name, e.name);
	if (want_memory(w, tl_vec_push(v.at, e.at), set) != TL_OK || !is_vec(&v)) return;
	hold(w, &e);
	add_ref(v.it, e.it);
	memory_unknown(w);
}

static int64_t draw_index(world* w, const operand* v) { return (int64_t)draw(w, v->it->refs_len + 2) - 1; }

static bool in_range(const operand* v, int64_t i) { return i >= 0 && (size_t)i < v->it->refs_len; }

static void get(world* w)
{
	unsigned set;
	operand v = draw_vec(w, &set);
	int64_t i = 0;
	const item* e = NULL;
	if (is_vec(&v)) {
		i = draw_index(w, &v);
		if (in_range(&v, i)) e = v.it->refs[i];
		else set = BAD_SIZE;
	}
	note(w, "tl_vec_get(%s, %" PRId64 ")", v.name, i);
	want_pointer(w, tl_vec_get(v.at, i), e == NULL ? NULL : e->at, "the element");
	want_last(w, set);
}

static void set_element(world* w)
{
	unsigned set;
	operand v = draw_vec(w, &set), e = operand_of(NULL);
	int64_t i = 0;
	if (is_vec(&v)) {
		i = draw_index(w, &v);
		set = BAD_SIZE;
		if (in_range(&v, i)) {
			if (!draw_element(w, v.it, &e)) return;
			set = e.refusal;
		}
	}
	note(w, "tl_vec_set(%s, %" PRId64 ", %s)", v.name, i, e.name);
	if (want(w, tl_vec_set(v.at, i, e.at), set) != TL_OK || !is_vec(&v)) return;
	hold(w, &e);
	item* old = v.it->refs[i];
	v.it->refs[i] = e.it;
	if (e.it != NULL) e.it->inside++;
	if (old != NULL) drop_ref(w, v.it, old);
	drain(w);
}

static void pop(world* w)
{
	unsigned set;
	operand v = draw_vec(w, &set);
	item* e = NULL;
	if (is_vec(&v)) {
		if (v.it->refs_len == 0) set = BAD_SIZE;
		else e = v.it->refs[v.it->refs_len - 1];
	}
	if (e != NULL && ((e->immortal && e->frozen >= 14) || !ends_here(w, e))) return;
	if (e != NULL && e->life == GONE) return; /* memory that has ended under it */
	if (e != NULL && e->kind != STACK && floats_enough(e)) set = S(TL_E_OVERFLOW);
	note(w, "tl_vec_pop(%s)", v.name);
	void* got = tl_vec_pop(v.at);
	if (want_last(w, set) != TL_OK || !is_vec(&v)) {
		want_pointer(w, got, NULL, "the element");
		return;
	}
	want_pointer(w, got, e == NULL ? NULL : e->at, "the element");
	v.it->refs_len--;
	if (e == NULL) return;
	e->inside--;
	if (e->life == LIVE && e->kind != STACK) {
		touch(w, e);
		float_one(e);
	}
	forget_if_unmentioned(e);
}

static void len(world* w)
{
	unsigned set;
	operand v = draw_vec(w, &set);
	note(w, "tl_vec_len(%s)", v.name);
	want_int(w, tl_vec_len(v.at), is_vec(&v) ? (int64_t)v.it->refs_len : v.at == NULL ? 0 : -1, "the length");
	want_last(w, set);
}

static void reserve(world* w)
{
	static const size_t capacities[] = {0, 10, 100, 1000, (size_t)1 << 44, (size_t)-1};
	unsigned set;
	operand v = draw_vec(w, &set);
	size_t capacity = ONE_OF(w, capacities);
	if (is_vec(&v) && capacity == (size_t)-1) set = BAD_SIZE;
	else if (is_vec(&v) && capacity == too_many) set = S(TL_E_OUT_OF_MEMORY) | (model.limits ? S(TL_E_LIMIT) : 0);
	note(w, "tl_vec_reserve(%s, %zu)", v.name, capacity);
	want_memory(w, tl_vec_reserve(v.at, capacity), set | (is_vec(&v) ? 0 : BAD_SIZE & set));
	memory_unknown(w);
}

/* Releases the elements, last first; a Vec may hold itself and end on the way. */
static void clear(world* w, const operand* v, unsigned set)
{
	note(w, "tl_vec_clear(%s)", v->name);
	if (want(w, tl_vec_clear(v->at), set) != TL_OK || !is_vec(v)) return;
	v->it->buried++; /* keeps the struct */
	while (v->it->refs_len > 0) {
		item* e = v->it->refs[--v->it->refs_len];
		if (e != NULL) drop_ref(w, v->it, e);
	}
	drain(w);
	v->it->buried--;
	forget_if_unmentioned(v->it);
}

static void clear_one(world* w)
{
	unsigned set;
	operand v = draw_vec(w, &set);
	if (chance(w, 40)) clear(w, &v, set);
}

static void compare(world* w)
{
	const item* v = pick(w, K(VEC));
	if (v == NULL) return;
	note(w, "all of %s", name(v));
	want_int(w, tl_vec_len(v->at), (int64_t)v->refs_len, "the length");
	for (size_t i = 0; i < v->refs_len; i++)
		want_pointer(w, tl_vec_get(v->at, (int64_t)i), v->refs[i] == NULL ? NULL : v->refs[i]->at, "an element");
	want_last(w, GOOD);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {vec_new, push, push, push,    push,      get,    set_element,
	                                        pop,     pop,  len,  reserve, clear_one, compare};
	ONE_OF(w, steps)(w);
}

static void finish(world* w)
{
	for (size_t i = 0; i < w->items_len; i++) {
		operand v = operand_of(w->items[i]);
		if (!is_vec(&v) || v.it->refs_len == 0) continue;
		clear(w, &v, GOOD);
		events_end(w);
		i = (size_t)-1;
	}
}

const family vecs_family = {"vecs", 15, step, NULL, finish};
