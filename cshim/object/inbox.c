/* Releases by a thread that does not own the object: the last shared reference is handed to
 * the owner, which frees the object at its next poll; docs/model has the protocol. */
#include "inbox.h"

#include "../heap/nodes.h"

/* ---- the thread that releases ----------------------------------------------------------- */

/* Budget: 16 loads, 8 stores, two compare-and-swaps. The owner is read before the shared
 * word: MERGED follows owner 0, so an owner that was there still looks for QUEUED. */
bool tlc_hand_over(tl_context* c, tl_record* r, tl_entry e)
{
	uint32_t loc = atomic_load_explicit(&r->loc, memory_order_acquire), owner = loc >> TL_LOC_OWNER_SHIFT;
	uint32_t sh = atomic_load_explicit(&r->sh, memory_order_acquire);
	if (TLC_LOAD(r->gen) != e.gen || owner == 0 || (sh & TL_SH_FLAGS) != TL_SH_ALIVE || tlc_forked()) return false;
	if (tlc_sh_count(sh) > (int32_t)((sh & TL_SH_CLAIM_MASK) >> TL_SH_CLAIM_SHIFT)) return false;
	/* Go looks whether a float goes with the reference, because every reference floats. The local word is read after sh. */
	const uint32_t now = TLC_LOAD(r->loc), count = now & TL_LOC_COUNT;
	if (TLC_UNLIKELY(count > 1 && tlc_loc_floats(now) + (uint32_t)tlc_sh_floats(sh) >= count)) return false;
	uint32_t node;
	const int result = tlc_queue(tlc_shared, c, r, e, loc, sh, sh | TL_SH_QUEUED, &node);
	tl_context* to = (tl_context*)(tlc_g.slices_base + ((uintptr_t)owner << tlc_g.slice_shift));
	if (node != 0 && TLC_UNLIKELY(tlc_deliver(tlc_shared, to, node, node, TL_CTX_PARKED))) {
		atomic_exchange(&tlc_shared->reap, 1); /* asks a slow call to look into the inbox, this one */
		tlc_poll();
	}
	return result == TLC_QUEUED;
}

/* ---- the owner ---------------------------------------------------------------------------- */

/* Ends the object of a node when the queue's reference and the owner's one count are all that there is; floats are not
 * references. Plain bytes are free at once, others are appended to the queue. True: the node is done with. */
static bool finish(tl_context* c, const tl_node* n)
{
	tl_record* r = tlc_g.records + n->record;
	if (TLC_LOAD(r->gen) != n->gen) return true;
	const uint32_t type = TLC_LOAD(r->type_flags);
	const bool plain = type == TL_TYPE_PLAIN;
	if ((TLC_LOAD(r->loc) & ~TL_LOC_FLOATS) != c->one) return false;
	if (plain ? tlc_is_last_life(n->gen) : !tlc_may_enqueue(type)) return false;
	uint32_t sh = TL_SH_ALIVE | TL_SH_QUEUED;
	if (!atomic_compare_exchange_strong_explicit(&r->sh, &sh, 0, memory_order_acq_rel, memory_order_relaxed))
		return false;
	const uint64_t tag = (uint64_t)n->record | (uint64_t)n->gen << 32;
	if (plain) return tlc_free_slot(c, r, n->object, tag);
	tlc_enqueue(c, r, n->object);
	return true;
}

/* Finishes nodes from i on. Those that Go has to finish are put in front of rest, the nodes that wait already. */
static uint32_t finish_all(tl_context* c, uint32_t i, uint32_t rest)
{
	for (uint32_t next; i != 0; i = next) {
		tl_node* n = tlc_node_at(&tlc_g, i);
		next = n->next;
		if (finish(c, n)) {
			tlc_answer(tlc_shared, c, i);
			continue;
		}
		n->next = rest;
		rest = i;
	}
	return rest;
}

/* A child leaves its inbox alone: fork copies memory page by page, so that a word may name nodes
 * whose contents other threads of the parent wrote after their page was copied. */
bool tlc_read_inbox(tl_context* c)
{
	if (TLC_UNLIKELY(tlc_forked())) return false;
	c->waiting = finish_all(c, (uint32_t)c->waiting, 0);
	c->waiting = finish_all(c, tlc_swap_inbox(c, 0), (uint32_t)c->waiting);
	return c->waiting == 0;
}

/* Finishes waiting nodes up to the first that Go would have to finish; then true. */
static bool finish_some(tl_context* c)
{
	while (c->waiting != 0) {
		uint32_t i = (uint32_t)c->waiting;
		const tl_node* n = tlc_node_at(&tlc_g, i);
		uint32_t next = n->next;
		if (!finish(c, n)) return true;
		c->waiting = next;
		tlc_answer(tlc_shared, c, i);
	}
	return false;
}

bool tlc_refill(tl_context* c, const tl_magazine* m)
{
	if (m->top > m->base || tlc_forked()) return false;
	if (tlc_has_mail(c) && !finish_some(c)) {
		c->waiting = tlc_swap_inbox(c, 0);
		finish_some(c);
	}
	if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0) && c->draining.active == 0) tlc_finish(c);
	return m->top > m->base || tlc_refill_magazine(c, (uint32_t)(m - c->magazines));
}
