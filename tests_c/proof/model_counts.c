/* References: every function that counts, and the scopes' entries. */
#include <stdlib.h>

#include "model.h"

bool alive(const operand* o) { return o->it != NULL && o->it->life == LIVE; }

static void acquire(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	if (chance(w, 60)) {
		note(w, "tl_ptr_acquire(%s)", o.name);
		want_pointer(w, tl_ptr_acquire(o.at), o.at, "the result");
		want_last(w, o.refusal);
	} else {
		note(w, "tl_ptr_inc_ref(%s)", o.name);
		want(w, tl_ptr_inc_ref(o.at), o.refusal);
	}
	if (alive(&o) && o.it->kind != STACK) retain(w, o.it);
}

/* A call that drops the last reference of another thread's object tells that thread, which
 * needs memory. */
bool told(world* w, const operand* o, tl_status got)
{
	if (!alive(o) || o->it->owner == w || o->it->shared) return want(w, got, o->refusal) == TL_OK;
	return want_memory(w, got, o->refusal) == TL_OK;
}

static void drop(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	bool dropped;
	if (alive(&o) && o.it->kind != STACK && !may_drop(o.it)) return;
	if (chance(w, 70)) {
		note(w, "tl_ptr_release(%s)", o.name);
		dropped = told(w, &o, tl_ptr_release(o.at));
	} else {
		note(w, "tl_ptr_release_bool(%s)", o.name);
		bool said = tl_ptr_release_bool(o.at);
		dropped = told(w, &o, tl_last_status());
		if (o.it == NULL || o.it->kind != STACK) want_int(w, said, dropped && o.at != NULL, "the result");
	}
	if (dropped && alive(&o) && o.it->kind != STACK) release(w, o.it);
}

/* Whether the end of an item may be left to the program. */
static bool may_end_by_hand(const world* w, const item* it)
{
	if (it->kind == TENSOR || it->kind == SPARSE) return false;
	return ends_here(w, it) && (it->kind != VEC || it->refs_len == 0);
}

static void dec_ref(world* w)
{
	operand o = draw_operand(w, COUNTED);
	bool last = alive(&o) && !o.it->immortal && o.it->count == 1;
	if (alive(&o) && (!may_drop(o.it) || (last && !may_end_by_hand(w, o.it)))) return;
	note(w, "tl_ptr_dec_ref(%s)", o.name);
	int32_t zero = tl_ptr_dec_ref(o.at);
	want_last(w, o.refusal);
	want_int(w, zero, last, "the result");
	if (!alive(&o)) return;
	touch(w, o.it);
	if (drop_one(o.it)) o.it->life = ZERO;
}

static bool at_zero(const item* it) { return it->life == ZERO; }

/* The program's part after tl_ptr_dec_ref returned 1: fields, then the memory;
 * of a Vec of its own the data, too. */
void finish_zero(world* w, item* it)
{
	for (size_t i = 0; i < it->refs_len; i++) {
		item* held = it->refs[i];
		if (held == NULL) continue;
		note(w, "tl_ptr_release(%s), field of %s", name(held), name(it));
		want(w, tl_ptr_release(held->at), GOOD);
		drop_ref(w, it, held);
		it->refs[i] = NULL;
		drain(w);
		events_end(w);
	}
	void* data = it->own_vec ? ((own_vec*)it->at)->data : NULL;
	note(w, "tl_mem_free(%s)", name(it));
	want(w, tl_mem_free(it->at), GOOD);
	free(data);
	end_by_hand(w, it);
}

static void finish_one(world* w)
{
	for (size_t i = 0; i < w->items_len; i++)
		if (at_zero(w->items[i])) {
			finish_zero(w, w->items[i]);
			return;
		}
}

static void refcount(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	int64_t wanted = o.refusal != GOOD ? -1 : o.it == NULL ? 0 : o.it->kind == STACK ? 1 : o.it->count;
	note(w, "tl_ptr_refcount(%s)", o.name);
	int64_t count = tl_ptr_refcount(o.at);
	want_last(w, o.refusal);
	if (!alive(&o) || !o.it->immortal) want_int(w, count, wanted, "the count");
}

static void check(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	note(w, "tl_ptr_check(%s)", o.name);
	want(w, tl_ptr_check(o.at), o.refusal);
}

/* ---- scopes' entries ----------------------------------------------------------------------- */

static void registers(world* w, bool adopts)
{
	static tl_status (*const adopting[])(void*) = {tl_mem_register_struct, tl_mem_register};
	static tl_status (*const known[])(void*) = {tl_mem_register_ptr, tl_mem_register_tensor, tl_mem_register_vec_ptr};
	operand o = draw_operand(w, COUNTED | K(STACK));
	unsigned set = o.refusal;
	if ((alive(&o) && o.it->kind != STACK && !may_sink(o.it)) || (adopts && o.host)) return;
	if (o.it != NULL && o.it->life == ZERO && o.it->kind == FOREIGN) return;
	if (adopts && o.unknown) set = S(TL_E_INVALID_ARGUMENT);
	note(w, "tl_mem_register%s(%s)", adopts ? "" : "_ptr", o.name);
	tl_status got = adopts ? ONE_OF(w, adopting)(o.at) : ONE_OF(w, known)(o.at);
	if (want_memory(w, got, set) == TL_OK && alive(&o)) enlist(w, o.it);
}

static void register_known(world* w) { registers(w, false); }
static void register_any(world* w) { registers(w, true); }

/* The newest entry of an item that this function's scopes have; -1: none. */
static int64_t newest_entry(world* w, const item* it)
{
	mark* f = current_function(w);
	int64_t floor = f == NULL ? 0 : (int64_t)f->entries, i = (int64_t)w->entries_len - 1;
	while (i >= floor && w->entries[i] != it) i--;
	return i >= floor ? i : -1;
}

unsigned take_out_set(world* w, const item* it)
{
	if (newest_entry(w, it) < 0) return S(TL_E_NOT_REGISTERED);
	return floats_enough(it) ? S(TL_E_OVERFLOW) : GOOD;
}

void leave_scope(world* w, item* it)
{
	w->entries[newest_entry(w, it)] = NULL;
	it->listed--;
}

void take_out(world* w, item* it)
{
	leave_scope(w, it);
	touch(w, it);
	float_one(it);
}

static void unregister(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	unsigned set = o.refusal;
	if (alive(&o) && o.it->kind == STACK) set = S(TL_E_UNSUPPORTED);
	else if (alive(&o)) set = take_out_set(w, o.it);
	if (alive(&o) && ((o.it->immortal && o.it->frozen >= 14) || !ends_here(w, o.it))) return;
	note(w, "tl_mem_unregister(%s)", o.name);
	if (want(w, tl_mem_unregister(o.at), set) == TL_OK && alive(&o)) take_out(w, o.it);
}

/* ---- threads ---------------------------------------------------------------------------------- */

static void share(world* w)
{
	operand o = draw_operand(w, COUNTED);
	unsigned set = o.refusal;
	if (alive(&o) && o.it->owner != w) set = o.it->shared && o.it->kind != FOREIGN ? GOOD : GOOD | S(TL_E_BUSY);
	note(w, "tl_ptr_share(%s)", o.name);
	if (want(w, tl_ptr_share(o.at), set) == TL_OK && alive(&o) && o.it->owner == w) o.it->shared = o.it->touched = true;
}

enum { MOST_IMMORTALS = 3 };

static void make_immortal(world* w)
{
	operand o = draw_operand(w, K(PLAIN));
	if (alive(&o) && (o.it->bytes > 100 || w->immortals == MOST_IMMORTALS || !chance(w, 3))) return;
	note(w, "tl_ptr_make_immortal(%s)", o.name);
	if (want(w, tl_ptr_make_immortal(o.at), o.refusal) == TL_OK && alive(&o) && !o.it->immortal) {
		o.it->immortal = true;
		w->immortals++;
	}
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {acquire,    acquire, drop,           drop,         drop,         dec_ref,
	                                        refcount,   check,   register_known, register_any, register_any, unregister,
	                                        unregister, share,   make_immortal,  finish_one};
	ONE_OF(w, steps)(w);
}

/* Containers are empty already: what is left is the program's own to release. */
static bool finish_item(world* w, item* it)
{
	if (it->life == ZERO) {
		finish_zero(w, it);
		return true;
	}
	if (it->life != LIVE || it->immortal || it->kind == STACK || it->kind == CELL || it->inside != 0) return false;
	note(w, "tl_ptr_release(%s), the end", name(it));
	if (want_memory(w, tl_ptr_release(it->at), GOOD) == TL_OK) release(w, it);
	events_end(w);
	return true;
}

static void finish(world* w)
{
	for (size_t i = 0; i < w->items_len; i++)
		if (finish_item(w, w->items[i])) i = (size_t)-1; /* what ended has changed the list */
}

const family counts_family = {"references", 20, step, NULL, finish};
