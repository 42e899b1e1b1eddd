/* Tensors: their references, what is returned from functions, and the pool. */
#include "model.h"

/* ---- operands ------------------------------------------------------------------------------------------------- */

bool is_tensor(const operand* o) { return o->it != NULL && o->it->life == LIVE && o->it->shape != NULL; }

static bool slot_tensor(const item* it) { return it->shape != NULL; }

operand draw_tensor(world* w, unsigned* set)
{
	item* it = chance(w, 10) ? pick_where(w, K(STACK), slot_tensor) : NULL;
	operand o = it != NULL ? operand_of(it) : chance(w, 85) ? operand_of(pick(w, K(TENSOR))) : draw_operand(w, COUNTED);
	*set = is_tensor(&o) ? GOOD : refusal_for(&o, K(TENSOR));
	if (o.it != NULL && o.it->life == ZERO) *set |= S(TL_E_UNSUPPORTED);
	return o;
}

/* ---- counting and handing on ----------------------------------------------------------------------------- */

static void acquire(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	note(w, "tl_tensor_acquire(%s)", o.name);
	want_pointer(w, tl_tensor_acquire((tl_tensor*)o.at), o.at, "the result");
	want_last(w, set);
	if (is_tensor(&o) && o.it->kind == TENSOR) retain(w, o.it);
}

static void drop(world* w)
{
	static tl_status (*const functions[])(tl_tensor*) = {tl_tensor_release, tl_tensor_release_safe};
	unsigned set;
	operand o = draw_tensor(w, &set);
	if (is_tensor(&o) && o.it->kind == TENSOR && !may_drop(o.it)) return;
	note(w, "tl_tensor_release(%s)", o.name);
	if (want(w, ONE_OF(w, functions)((tl_tensor*)o.at), set) == TL_OK && is_tensor(&o) && o.it->kind == TENSOR)
		release(w, o.it);
}

static void registers(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	if (is_tensor(&o) && o.it->kind == TENSOR && !may_sink(o.it)) return;
	note(w, "tl_tensor_register(%s)", o.name);
	if (want_memory(w, tl_tensor_register((tl_tensor*)o.at), set) == TL_OK && is_tensor(&o)) enlist(w, o.it);
}

static void promote(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	if (is_tensor(&o)) set = o.it->kind == STACK ? S(TL_E_UNSUPPORTED) : take_out_set(w, o.it);
	note(w, "tl_tensor_promote(%s)", o.name);
	if (want(w, tl_tensor_promote((tl_tensor*)o.at), set) == TL_OK && is_tensor(&o)) take_out(w, o.it);
}

static void prepare_return(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	item* it;
	shape s;
	if (is_tensor(&o) && o.it->kind == STACK) {
		s = *o.it->shape;
		note(w, "tl_tensor_prepare_return(%s)", o.name);
		it = tensor_own(w, tl_tensor_prepare_return((tl_tensor*)o.at), GOOD, &s);
		if (it == NULL) return;
		w->entries_len--; /* it floats, in no scope */
		it->listed--;
		it->floats = 1;
		tensor_fill(it);
		return;
	}
	unsigned out = is_tensor(&o) ? take_out_set(w, o.it) : 0;
	if (out == S(TL_E_OVERFLOW)) set = out;
	note(w, "tl_tensor_prepare_return(%s)", o.name);
	void* got = tl_tensor_prepare_return((tl_tensor*)o.at);
	if (want_last(w, set) == TL_OK) want_pointer(w, got, o.at, "the result");
	if (out == GOOD) take_out(w, o.it);
}

static void end(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	if (is_tensor(&o) && o.it->kind == TENSOR && !may_drop(o.it)) return;
	note(w, "tl_tensor_free(%s)", o.name);
	if (want(w, tl_tensor_free((tl_tensor*)o.at), set) != TL_OK || !is_tensor(&o) || o.it->kind == STACK) return;
	if (take_out_set(w, o.it) != S(TL_E_NOT_REGISTERED)) leave_scope(w, o.it);
	release(w, o.it);
}

/* ---- the pool ------------------------------------------------------------------------------------------------ */

static void pool_acquire(world* w)
{
	shape s;
	if (!draw_shape(w, &s) || crowded(w)) return;
	s.rank = 1;
	s.dims[0] = s.numel;
	s.strides[0] = 1;
	note(w, "tl_pool_acquire(%" PRId64 ", %d)", s.numel, s.dtype);
	tl_tensor* t = tl_pool_acquire((size_t)s.numel, (uint8_t)s.dtype, 0);
	want_last(w, GOOD);
	if (t == NULL) return;
	item* it = tensor_own(w, t, GOOD, &s);
	w->entries_len--;
	it->listed--;
	it->floats = 1;
	tensor_fill(it);
	tensor_check(w, it);
}

static void pool_release(world* w)
{
	unsigned set;
	operand o = draw_tensor(w, &set);
	const shape* s = is_tensor(&o) ? o.it->shape : NULL;
	size_t elements = s != NULL ? (size_t)s->numel : 4;
	int32_t dtype = s != NULL ? s->dtype : 0;
	bool other = s != NULL && chance(w, 10);
	if (s != NULL && (o.it->kind == STACK || (s->flags & (TL_TENSOR_FLAG_VIEW | TL_TENSOR_FLAG_LENT))))
		set = S(TL_E_UNSUPPORTED) | GOOD | BAD_SIZE | S(TL_E_BUSY);
	else if (s != NULL)
		set = other ? BAD_SIZE | (o.it->count > 1 ? S(TL_E_BUSY) : 0) : o.it->count > 1 ? S(TL_E_BUSY) : GOOD;
	if (s != NULL && (set & ~GOOD) != set && (!may_drop(o.it) || o.it->kind == STACK || s->flags != 0)) return;
	note(w, "tl_pool_release(%s, %zu, %d)", o.name, elements + other, dtype);
	if (want(w, tl_pool_release((tl_tensor*)o.at, elements + other, (uint8_t)dtype, 0), set) == TL_OK && s != NULL)
		release(w, o.it);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {acquire, drop, drop,           drop,         registers,
	                                        promote, end,  prepare_return, pool_acquire, pool_release};
	ONE_OF(w, steps)(w);
}

const family tensor_counts_family = {"references to tensors", 8, step, NULL, NULL};
