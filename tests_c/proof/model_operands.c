/* What calls are given: live items mostly, and every kind of pointer that is none. */
#include <stdio.h>
#include <string.h>

#include "model.h"

static char static_memory[64];

static bool any(const item* it)
{
	(void)it;
	return true;
}

item* pick_where(world* w, unsigned kinds, bool (*fits)(const item*))
{
	size_t start, n = w->items_len;
	if (n == 0) return NULL;
	start = (size_t)draw(w, n);
	for (size_t i = 0; i < n && i < 64; i++) {
		item* it = w->items[(start + i) % n];
		if ((kinds & K(it->kind)) != 0 && it->life == LIVE && fits(it)) return it;
	}
	return NULL;
}

item* pick(world* w, unsigned kinds) { return pick_where(w, kinds, any); }

static operand at_address(void* at, unsigned refusal)
{
	operand o = {.at = at, .refusal = refusal};
	snprintf(o.name, sizeof o.name, "%p", at);
	return o;
}

operand operand_of(const item* it)
{
	operand o = {.refusal = GOOD};
	if (it == NULL) {
		snprintf(o.name, sizeof o.name, "NULL");
		return o;
	}
	o.at = it->at;
	o.it = (item*)it;
	snprintf(o.name, sizeof o.name, "%s", name(it));
	if (it->life == ZERO) o.refusal = S(TL_E_NOT_LIVE) | (it->kind == FOREIGN ? S(TL_E_UNKNOWN_POINTER) : 0);
	return o;
}

/* ---- bad pointers ------------------------------------------------------------------------ */

static operand a_number(world* w)
{
	static const uintptr_t numbers[] = {
		1, 0x10, 0xfff, 0x1230, (uintptr_t)INT64_MIN, ~(uintptr_t)0xfff, ~(uintptr_t)31, ~(uintptr_t)0};
	operand o = at_address((void*)ONE_OF(w, numbers), S(TL_E_UNKNOWN_POINTER));
	o.unknown = true;
	return o;
}

static operand of_the_host(world* w)
{
	char local[16];
	operand o = at_address(chance(w, 50) ? static_memory + draw(w, 64) : local, S(TL_E_UNKNOWN_POINTER));
	o.host = true;
	return o;
}

/* By a hash of the address; other addresses with the same one are avoided with it. */
enum { FREED_BITS = 16 };
static bool freed[1 << FREED_BITS];

static bool* freed_at(const void* at)
{
	return &freed[(uintptr_t)at * UINT64_C(0x9E3779B97F4A7C15) >> (64 - FREED_BITS)];
}

void host_freed(const void* at) { __atomic_store_n(freed_at(at), true, __ATOMIC_RELAXED); }

/* Inside a block with several names another one may stand. */
static bool has_inside(const item* it) { return it->kind != FOREIGN || (it->bytes > 16 && it->block->names_len == 1); }

static operand inside(world* w)
{
	item* it = pick_where(w, COUNTED, has_inside);
	if (it == NULL) return a_number(w);
	size_t room = it->bytes > 32 || it->kind == FOREIGN ? it->bytes : 32;
	operand o = at_address(it->at + 1 + draw(w, room - 1), S(TL_E_INTERIOR_POINTER));
	snprintf(o.name, sizeof o.name, "%s+%zu", name(it), (size_t)(o.at - it->at));
	if (it->kind == FOREIGN) {
		if (__atomic_load_n(freed_at(o.at), __ATOMIC_RELAXED)) return a_number(w);
		o.refusal = S(TL_E_INTERIOR_POINTER) | S(TL_E_UNKNOWN_POINTER);
		o.host = true;
	}
	return o;
}

/* The slab of a dead item may be gone, and its memory part of another slab. */
static operand dead(world* w)
{
	const item* it = w->graves[draw(w, GRAVES)];
	if (it == NULL || !model.turns) return inside(w);
	operand o = at_address(it->at, S(TL_E_NOT_LIVE) | S(TL_E_UNKNOWN_POINTER) | S(TL_E_INTERIOR_POINTER));
	snprintf(o.name, sizeof o.name, "%s", name(it));
	if (it->kind != CELL && chance(w, 20)) {
		o.at += 1 + draw(w, 31);
		snprintf(o.name, sizeof o.name, "%s+%zu", name(it), (size_t)(o.at - it->at));
	}
	return o;
}

static operand at_zero(world* w)
{
	for (size_t i = 0; i < w->items_len; i++)
		if (w->items[i]->life == ZERO) return operand_of(w->items[i]);
	return dead(w);
}

/* To all but tl_cell_* the inside of an object. */
static operand a_cell(world* w)
{
	const item* it = pick(w, K(CELL));
	return it == NULL ? inside(w) : at_address(it->at, S(TL_E_INTERIOR_POINTER));
}

operand draw_bad(world* w)
{
	__atomic_add_fetch(&model.bad_pointers, 1, __ATOMIC_RELAXED);
	switch (draw(w, 8)) {
	case 0: return of_the_host(w);
	case 1:
	case 2: return inside(w);
	case 3:
	case 4: return dead(w);
	case 5: return at_zero(w);
	case 6: return a_cell(w);
	}
	return a_number(w);
}

operand draw_operand(world* w, unsigned kinds)
{
	if (chance(w, 3)) return operand_of(NULL);
	item* it = chance(w, 85) ? pick(w, kinds) : NULL;
	return it != NULL ? operand_of(it) : draw_bad(w);
}

unsigned refusal_for(const operand* o, unsigned kinds)
{
	if (o->it == NULL || o->refusal != GOOD || (kinds & K(o->it->kind)) != 0) return o->refusal;
	return S(TL_E_UNSUPPORTED);
}
