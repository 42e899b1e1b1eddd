/* Checked and weak references: words that know their object for ever, whatever has its memory. */
#include "model.h"

enum { STALE = 256 };

/* References to objects that have ended, of each world, in a ring. */
static struct {
	tl_ref refs[STALE];
	uint64_t count;
} stale[2];

void ref_ended(world* w, item* it)
{
	const tl_ref ref = it->ref;
	it->ref = 0;
	if (ref == 0 || w->number > 1 || !ends_here(w, it)) return; /* it may wait for its owner */
	stale[w->number].refs[stale[w->number].count++ % STALE] = ref;
}

static void on_stale(world* w)
{
	if (stale[w->number].count == 0) return;
	tl_ref ref = stale[w->number].refs[draw(w, STALE)];
	if (ref == 0) return;
	switch (draw(w, 5)) {
	case 0:
		note(w, "tl_ref_check(%" PRIx64 "), stale", ref);
		want(w, tl_ref_check(ref), S(TL_E_NOT_LIVE));
		return;
	case 1:
		note(w, "tl_ref_acquire(%" PRIx64 "), stale", ref);
		want_int(w, (int64_t)tl_ref_acquire(ref), 0, "the result");
		want_last(w, S(TL_E_NOT_LIVE));
		return;
	case 2:
		note(w, "tl_ref_release(%" PRIx64 "), stale", ref);
		want(w, tl_ref_release(ref), S(TL_E_NOT_LIVE));
		return;
	case 3:
		note(w, "tl_ref_get(%" PRIx64 "), stale", ref);
		want_pointer(w, tl_ref_get(ref), NULL, "the result");
		want_last(w, S(TL_E_NOT_LIVE));
		return;
	default:
		note(w, "tl_weak_get(%" PRIx64 "), stale", ref);
		want_pointer(w, tl_weak_get(ref), NULL, "the result");
		want_last(w, GOOD);
	}
}

/* The reference to an operand; 0 for what has none. */
static tl_ref ref_of(world* w, const operand* o)
{
	unsigned set = refusal_for(o, HEAP);
	tl_ref ref;
	if (o->it != NULL && o->it->life == ZERO && o->it->kind == FOREIGN) return 0;
	if (chance(w, 50)) {
		note(w, "tl_ref_of(%s)", o->name);
		ref = tl_ref_of(o->at);
	} else {
		note(w, "tl_weak_of(%s)", o->name);
		ref = tl_weak_of(o->at);
	}
	want_last(w, set);
	want_true(w, (ref != 0) == (set == GOOD && o->at != NULL), "a reference to what is an object");
	if (ref == 0) return 0;
	want_true(w, o->it->ref == 0 || o->it->ref == ref, "always the same reference to an object");
	return o->it->ref = ref;
}

/* Another thread upgrades an object as long as it has an owner only by chance: a release may have taken
 * it from its owner. */
static void upgrade(world* w, item* it, tl_ref ref)
{
	const bool certain = it->owner == w || it->shared;
	note(w, "tl_weak_get(%" PRIx64 "), %s", ref, name(it));
	void* got = tl_weak_get(ref);
	if (want_last(w, certain ? GOOD : GOOD | S(TL_E_BUSY)) != TL_OK) want_pointer(w, got, NULL, "the result");
	else want_pointer(w, got, it->at, "the result");
	if (got != NULL) retain(w, it);
}

static void on_live(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	tl_ref ref = ref_of(w, &o);
	item* it = o.it;
	if (ref == 0) return;
	switch (draw(w, 6)) {
	case 0:
		note(w, "tl_ref_check(%" PRIx64 "), %s", ref, o.name);
		want(w, tl_ref_check(ref), GOOD);
		return;
	case 1:
		note(w, "tl_ref_get(%" PRIx64 "), %s", ref, o.name);
		want_pointer(w, tl_ref_get(ref), o.at, "the result");
		want_last(w, GOOD);
		return;
	case 2:
		note(w, "tl_ref_acquire(%" PRIx64 "), %s", ref, o.name);
		want_true(w, tl_ref_acquire(ref) == ref, "the result");
		want_last(w, GOOD);
		retain(w, it);
		return;
	case 3:
	case 4:
		if (!may_drop(it)) return;
		note(w, "tl_ref_release(%" PRIx64 "), %s", ref, o.name);
		if (told(w, &o, tl_ref_release(ref))) release(w, it);
		return;
	default: upgrade(w, it, ref);
	}
}

static void share(world* w)
{
	operand o = draw_operand(w, COUNTED);
	unsigned set = refusal_for(&o, HEAP);
	if (o.it != NULL && o.it->life == ZERO && o.it->kind == FOREIGN) return;
	const bool live = set == GOOD && o.it != NULL;
	if (live && o.it->owner != w && !o.it->shared) set |= S(TL_E_BUSY);
	note(w, "tl_weak_share(%s)", o.name);
	tl_ref ref = tl_weak_share(o.at);
	tl_status got = want_last(w, set);
	want_true(w, (ref != 0) == (live && got == TL_OK), "the result");
	if (ref == 0) return;
	want_true(w, o.it->ref == 0 || o.it->ref == ref, "always the same reference to an object");
	o.it->ref = ref;
	if (o.it->owner == w) o.it->shared = o.it->touched = true;
}

static void step(world* w)
{
	if (chance(w, 30)) on_stale(w);
	else if (chance(w, 5)) share(w);
	else on_live(w);
}

const family refs_family = {"checked references", 10, step, NULL, NULL};
