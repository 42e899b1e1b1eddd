/* Releases by a thread that does not own the object: the last shared reference is handed to
 * the owner, which frees the object at its next poll. runtime/object/nodes.go and counts.go
 * (queue, mergeQueued) are the Go twins; docs/model has the protocol. */
#include "inbox.h"

#include "../heap/heap.h"
#include "../inline/counts.h"
#include "../inline/refs.h"

static tl_node* node_at(uint32_t i) { return tlc_g.nodes + i; }

/* ---- free nodes ----------------------------------------------------------------------- */

static uint32_t pop_chain(void)
{
	uint64_t old = atomic_load_explicit(&tlc_shared->node_chains, memory_order_acquire), next;
	do {
		if ((uint32_t)old == 0) return 0;
		next = (old & ~(TL_CHAINS_CHANGE - 1)) + TL_CHAINS_CHANGE + TLC_LOAD(node_at((uint32_t)old)->chain);
	} while (!atomic_compare_exchange_weak_explicit(&tlc_shared->node_chains, &old, next, memory_order_acq_rel,
	                                                memory_order_acquire));
	return (uint32_t)old;
}

static void push_chain(uint32_t first)
{
	uint64_t old = TLC_LOAD(tlc_shared->node_chains), next;
	do {
		TLC_STORE(node_at(first)->chain, (uint32_t)old);
		next = (old & ~(TL_CHAINS_CHANGE - 1)) + TL_CHAINS_CHANGE + first;
	} while (!atomic_compare_exchange_weak_explicit(&tlc_shared->node_chains, &old, next, memory_order_release,
	                                                memory_order_relaxed));
}

/* A free node; 0: Go makes more. */
static uint32_t take_node(tl_context* c)
{
	if (TLC_UNLIKELY(c->node_count == 0)) {
		uint32_t chain = c->node_full != 0 ? c->node_full : pop_chain();
		if (chain == 0) return 0;
		c->node_full = 0;
		c->node_first = chain;
		c->node_count = TL_NODE_CHAIN;
		tlc_heap_watch(tlc_g.heap);
	}
	uint32_t i = c->node_first;
	c->node_first = node_at(i)->next;
	c->node_count--;
	return i;
}

static void give_node(tl_context* c, uint32_t i)
{
	if (TLC_UNLIKELY(c->node_count == TL_NODE_CHAIN)) {
		if (c->node_full != 0) push_chain(c->node_full);
		c->node_full = c->node_first;
		c->node_first = c->node_count = 0;
	}
	node_at(i)->next = c->node_first;
	c->node_first = i;
	c->node_count++;
}

/* ---- what waits for owners --------------------------------------------------------------- */

/* Whoever holds the queue's reference to an object calls it: the object is there. A program may have written over a
 * Vec's capacity. */
static uint32_t units_of(const tl_record* r, tl_entry e)
{
	uint64_t units = tlc_slot_bytes(e.object, e.gen & 0xFF) / TL_NODE_UNIT;
	if (TLC_LOAD(r->type_flags) == TL_TYPE_VEC)
		units += ((const tlc_vec*)e.object)->cap / (TL_NODE_UNIT / sizeof(void*));
	return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* The clock looks whether the owner sleeps once a chain of nodes is used up, and for each object that is so large. */
enum { LARGE_UNITS = TL_HEAP_KEEPS / TL_NODE_CHAIN / TL_NODE_UNIT };

/* Before the node is delivered. */
static void count_deferred(tl_context* c, tl_node* n, uint32_t units)
{
	TLC_STORE(n->chain, units);
	c->deferred += units != 0;
	c->deferred_units += units;
	if (TLC_UNLIKELY(units >= LARGE_UNITS)) tlc_heap_watch(tlc_g.heap);
}

/* Gives a node back whose object waits no more. */
static void answer(tl_context* c, uint32_t i)
{
	uint32_t units = TLC_LOAD(node_at(i)->chain);
	c->answered += units != 0;
	c->answered_units += units;
	give_node(c, i);
}

/* ---- the thread that releases ----------------------------------------------------------- */

/* A parked owner cannot look into its inbox: the flag asks a slow call to do it, this one. */
static void deliver(uint32_t owner, uint32_t i)
{
	tl_context* to = (tl_context*)(tlc_g.slices_base + ((uintptr_t)owner << tlc_g.slice_shift));
	uint64_t word = TLC_LOAD(to->word);
	do {
		node_at(i)->next = (uint32_t)(word >> 2);
	} while (!atomic_compare_exchange_weak_explicit(&to->word, &word, (uint64_t)i << 2 | (word & TL_CTX_STATE),
	                                                memory_order_acq_rel, memory_order_relaxed));
	if (TLC_LIKELY((word & TL_CTX_STATE) != TL_CTX_PARKED)) return;
	atomic_exchange(&tlc_shared->reap, 1);
	tlc_poll();
}

/* The caller has set QUEUED for an object that had ended: its slot has a later object, whose shared word had the same
 * bits. The queue then holds a reference to the later object, which is counted here as one more, and the object stays
 * until its owner has read the node. False, and nothing is changed: the later object has ended, too. Its owner had seen
 * the last reference before the mark and has stored over it; the object that lives there now was never marked, and
 * nobody would drop a reference that was counted for it. If another thread has marked that object meanwhile, it has two
 * nodes and a reference for each. */
__attribute__((cold, noinline)) bool tlc_give_to_later(const tl_context* c, tl_record* r, tl_entry* e)
{
	const tl_ref later = tlc_ref_to(c, r);
	uint32_t sh = atomic_load_explicit(&r->sh, memory_order_acquire);
	do {
		if (!(sh & TL_SH_QUEUED) || TLC_LOAD(r->gen) != tlc_ref_gen(later)) return false;
	} while (!atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh + TL_SH_ONE, memory_order_acquire,
	                                                memory_order_acquire));
	*e = (tl_entry){tlc_ref_address(c, later), tlc_ref_record(later), tlc_ref_gen(later)};
	return true;
}

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
	uint32_t i = take_node(c);
	if (TLC_UNLIKELY(i == 0)) return false;
	if (TLC_UNLIKELY(!atomic_compare_exchange_strong_explicit(&r->sh, &sh, sh | TL_SH_QUEUED, memory_order_acq_rel,
	                                                          memory_order_relaxed))) {
		give_node(c, i);
		return false;
	}
	bool same = TLC_LOAD(r->gen) == e.gen;
	if (TLC_UNLIKELY(!same) && !tlc_give_to_later(c, r, &e)) {
		give_node(c, i);
		return false;
	}
	tl_node* n = node_at(i);
	n->object = e.object;
	n->record = e.record;
	n->gen = e.gen;
	count_deferred(c, n, same && (loc & TL_LOC_COUNT) == 1 ? units_of(r, e) : 0);
	deliver(owner, i);
	return same;
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

/* Takes all nodes out of the inbox. */
static uint32_t empty_inbox(tl_context* c)
{
	uint64_t word = TLC_LOAD(c->word);
	while (word >> 2 != 0 && !atomic_compare_exchange_weak_explicit(&c->word, &word, word & TL_CTX_STATE,
	                                                                memory_order_acq_rel, memory_order_relaxed)) {}
	return (uint32_t)(word >> 2);
}

/* Finishes nodes from i on. Those that Go has to finish are put in front of rest, the nodes that wait already. */
static uint32_t finish_all(tl_context* c, uint32_t i, uint32_t rest)
{
	for (uint32_t next; i != 0; i = next) {
		tl_node* n = node_at(i);
		next = n->next;
		if (finish(c, n)) {
			answer(c, i);
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
	c->waiting = finish_all(c, empty_inbox(c), (uint32_t)c->waiting);
	return c->waiting == 0;
}

/* Finishes waiting nodes up to the first that Go would have to finish; then true. */
static bool finish_some(tl_context* c)
{
	while (c->waiting != 0) {
		uint32_t i = (uint32_t)c->waiting;
		const tl_node* n = node_at(i);
		uint32_t next = n->next;
		if (!finish(c, n)) return true;
		c->waiting = next;
		answer(c, i);
	}
	return false;
}

bool tlc_refill(tl_context* c, const tl_magazine* m)
{
	if (m->top > m->base || tlc_forked()) return false;
	if (tlc_has_mail(c) && !finish_some(c)) {
		c->waiting = empty_inbox(c);
		finish_some(c);
	}
	if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0) && c->draining == 0) tlc_finish(c);
	return m->top > m->base || tlc_refill_magazine(c, (uint32_t)(m - c->magazines));
}
