/* Copies of whole graphs, and cycles that only hold themselves. */
#include <string.h>

#include "model.h"

enum { MOST = 48 };

typedef struct graph {
	item* of[MOST];   /* each once, the root first */
	item* copy[MOST]; /* NULL: not seen yet */
	size_t len;
	bool known; /* all of it is here, and none of it is memory without a count */
} graph;

static bool is_copied(const item* it)
{
	return it->kind == PLAIN || it->kind == TYPED || it->kind == VEC || it->typed || it->own_vec;
}

static size_t find(const graph* g, const item* it)
{
	size_t i = 0;
	while (i < g->len && g->of[i] != it) i++;
	return i;
}

static void reach(graph* g, item* root)
{
	*g = (graph){.known = true};
	g->of[g->len++] = root;
	for (size_t i = 0; i < g->len; i++)
		for (size_t k = 0; is_copied(g->of[i]) && k < g->of[i]->refs_len; k++) {
			item* held = g->of[i]->refs[k];
			if (held == NULL || find(g, held) < g->len) continue;
			if (held->kind == STACK || g->len == MOST || (!is_copied(held) && !may_hold(held))) {
				g->known = false;
				return;
			}
			g->of[g->len++] = held;
		}
}

/* ---- copies --------------------------------------------------------------------------------- */

static void* at_ref(const item* holder, char* at, size_t k)
{
	if (holder->kind == VEC) return tl_vec_get(at, (int64_t)k);
	if (holder->own_vec) return ((own_vec*)at)->data[k];
	return *(void* volatile*)(at + types[holder->type].offsets[k]);
}

/* Takes in what was found at an address, for what stands there in the original. */
static item* copy_of(world* w, graph* g, size_t i, void* at)
{
	item *of = g->of[i], *it = g->copy[i];
	if (!is_copied(of)) {
		want_pointer(w, at, of->at, "what is shared");
		return of;
	}
	if (it != NULL) {
		want_pointer(w, at, it->at, "what was copied already");
		return it;
	}
	want_true(w, at != NULL && at != of->at, "a copy");
	it = of->kind == FOREIGN ? block_made(w, at, of->bytes) : item_new(w, of->kind, at, of->bytes);
	if (it->block != NULL) it->block->measured = of->block->measured; /* malloc may have given the copy more */
	it->count = 0;
	it->type = of->type;
	it->typed = of->typed;
	it->own_vec = of->own_vec;
	it->pattern = of->pattern;
	g->copy[i] = it;
	return it;
}

static void compare_contents(world* w, const item* of, item* it)
{
	int id = layout_of(of) != NULL ? types[of->type].id_offset : NO_ID;
	if (of->kind == VEC || of->own_vec) return;
	verify(w, it);
	if (id != NO_ID) want_int(w, (int64_t)*(volatile uint64_t*)(it->at + id), (int64_t)of->id, "the id in a copy");
	fill(it);
}

static item* take_in(world* w, graph* g, void* root)
{
	item* first = copy_of(w, g, 0, root);
	for (size_t i = 0; i < g->len; i++) {
		item *of = g->of[i], *it = g->copy[i];
		if (!is_copied(of)) continue;
		if (of->kind == VEC) want_int(w, tl_vec_len(it->at), (int64_t)of->refs_len, "the length of a copy");
		if (of->own_vec) want_int(w, ((own_vec*)it->at)->length, (int64_t)of->refs_len, "the length of a copy");
		for (size_t k = 0; k < of->refs_len; k++) {
			void* at = at_ref(of, it->at, k);
			item* held = of->refs[k];
			if (held == NULL) {
				want_pointer(w, at, NULL, "a field of a copy");
				add_ref(it, NULL);
				continue;
			}
			held = copy_of(w, g, find(g, held), at);
			retain(w, held);
			add_ref(it, held);
		}
	}
	for (size_t i = 0; i < g->len; i++)
		if (g->copy[i] != NULL) compare_contents(w, g->of[i], g->copy[i]);
	return first;
}

static void deep_clone(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	unsigned set = o.refusal;
	bool live = o.it != NULL && o.it->life == LIVE;
	graph g;
	void* at;
	if (live && o.it->kind == STACK) set = S(TL_E_UNSUPPORTED);
	if (live && set == GOOD) {
		if (crowded(w)) return;
		reach(&g, o.it);
		if (!g.known) return;
	}
	note(w, "tl_mem_deep_clone(%s)", o.name);
	at = tl_mem_deep_clone(o.at);
	if (want_memory_last(w, set) != TL_OK || !live) {
		want_pointer(w, at, NULL, "the result");
		return;
	}
	memory_unknown(w); /* of the tables of Vecs */
	item* copy = take_in(w, &g, at);
	retain(w, copy);
	enlist_new(w, copy);
}

/* ---- cycles ----------------------------------------------------------------------------------- */

/* Containers of this thread that only garbage refers to: those that none with a reference
 * from elsewhere reaches. What was ever shared counts as held. */
static bool is_candidate(const world* w, const item* it)
{
	bool block = it->kind == FOREIGN && (it->typed || it->own_vec);
	return (it->kind == TYPED || it->kind == VEC || block) && it->life == LIVE && it->owner == w &&
	       (block || !it->shared) && !it->touched && !it->immortal;
}

static void keep_reachable(item* it)
{
	it->doomed = false;
	for (size_t k = 0; k < it->refs_len; k++)
		if (it->refs[k] != NULL && it->refs[k]->doomed) keep_reachable(it->refs[k]);
}

static int64_t references_from_candidates(const world* w, const item* it)
{
	int64_t n = 0;
	for (size_t i = 0; i < w->items_len; i++)
		for (size_t k = 0; is_candidate(w, w->items[i]) && k < w->items[i]->refs_len; k++)
			n += w->items[i]->refs[k] == it;
	return n;
}

static int64_t doom_garbage(world* w)
{
	int64_t n = 0;
	for (size_t i = 0; i < w->items_len; i++) w->items[i]->doomed = is_candidate(w, w->items[i]);
	for (size_t i = 0; i < w->items_len; i++) {
		item* it = w->items[i];
		if (is_candidate(w, it) && it->doomed && it->count > references_from_candidates(w, it)) keep_reachable(it);
	}
	for (size_t i = 0; i < w->items_len; i++) n += w->items[i]->doomed;
	return n;
}

static void collect(world* w)
{
	size_t before = w->items_len;
	note(w, "tl_mem_collect_cycles()");
	int64_t freed = tl_mem_collect_cycles();
	if (want_memory_last(w, GOOD) != TL_OK) {
		want_int(w, freed, -1, "the result");
		return;
	}
	int64_t least = doom_garbage(w);
	w->any_order = true;
	memory_unknown(w);
	for (size_t i = 0; i < w->items_len; i++)
		if (w->items[i]->doomed) die(w, w->items[i]);
	drain(w);
	w->any_order = false;
	want_true(w, freed >= least && freed <= (int64_t)(before - w->items_len) + (int64_t)w->born,
	          "as many as are garbage");
}

static void step(world* w)
{
	if (chance(w, 85)) deep_clone(w);
	else collect(w);
}

/* Copies have no other handle than what they stand in: cycles of them are left. */
static void finish(world* w)
{
	note(w, "what cycles are left");
	collect(w);
	events_end(w);
}

const family graphs_family = {"graphs", 6, step, NULL, finish};
