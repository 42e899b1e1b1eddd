/* Nodes of inboxes, and what is put into an inbox: releases by a thread that does not own the object. Both paths call the
 * functions below, object/inbox.c and runtime/object/nodes.go; docs/model has the protocol. */
#pragma once

#include "heap.h"

static inline tl_node* tlc_node_at(const tl_globals* g, uint32_t i) { return g->nodes + i; }

/* ---- free nodes ----------------------------------------------------------------------- */

/* Full chains of free nodes lie in a stack, whose count of changes tells a stack that is the same from one that only looks
 * so. 0: it is empty. */
static inline uint32_t tlc_pop_chain(tl_globals* g)
{
	uint64_t old = atomic_load_explicit(&g->node_chains, memory_order_acquire), next;
	do {
		if ((uint32_t)old == 0) return 0;
		const uint32_t below = atomic_load_explicit(&tlc_node_at(g, (uint32_t)old)->chain, memory_order_relaxed);
		next = (old & ~(TL_CHAINS_CHANGE - 1)) + TL_CHAINS_CHANGE + below;
	} while (!atomic_compare_exchange_weak_explicit(&g->node_chains, &old, next, memory_order_acq_rel,
	                                                memory_order_acquire));
	return (uint32_t)old;
}

static inline void tlc_push_chain(tl_globals* g, uint32_t first)
{
	uint64_t old = atomic_load_explicit(&g->node_chains, memory_order_relaxed), next;
	do {
		atomic_store_explicit(&tlc_node_at(g, first)->chain, (uint32_t)old, memory_order_relaxed);
		next = (old & ~(TL_CHAINS_CHANGE - 1)) + TL_CHAINS_CHANGE + first;
	} while (!atomic_compare_exchange_weak_explicit(&g->node_chains, &old, next, memory_order_release,
	                                                memory_order_relaxed));
}

/* A free node; 0: Go makes more. What is handed over may wait for a thread that sleeps, so the clock has to look. */
static inline uint32_t tlc_take_node(tl_globals* g, tl_context* c)
{
	if (TLC_UNLIKELY(c->nodes.count == 0)) {
		uint32_t chain = c->nodes.full != 0 ? c->nodes.full : tlc_pop_chain(g);
		if (chain == 0) return 0;
		c->nodes.full = 0;
		c->nodes.first = chain;
		c->nodes.count = TL_NODE_CHAIN;
		tlc_heap_watch(g->heap);
	}
	uint32_t i = c->nodes.first;
	c->nodes.first = tlc_node_at(g, i)->next;
	c->nodes.count--;
	return i;
}

static inline void tlc_give_node(tl_globals* g, tl_context* c, uint32_t i)
{
	if (TLC_UNLIKELY(c->nodes.count == TL_NODE_CHAIN)) {
		if (c->nodes.full != 0) tlc_push_chain(g, c->nodes.full);
		c->nodes.full = c->nodes.first;
		c->nodes.first = c->nodes.count = 0;
	}
	tlc_node_at(g, i)->next = c->nodes.first;
	c->nodes.first = i;
	c->nodes.count++;
}

/* Gives a node back whose object waits no more. */
static inline void tlc_answer(tl_globals* g, tl_context* c, uint32_t i)
{
	uint32_t units = atomic_load_explicit(&tlc_node_at(g, i)->chain, memory_order_relaxed);
	c->handed.answered += units != 0;
	c->handed.answered_units += units;
	tlc_give_node(g, c, i);
}

/* ---- what waits for an owner -------------------------------------------------------------- */

/* The clock looks whether the owner sleeps once a chain of nodes is used up, and for each object that is so large. */
enum { TLC_LARGE_UNITS = TL_HEAP_KEEPS / TL_NODE_CHAIN / TL_NODE_UNIT };

/* What an object takes, with the element table of a Vec. Whoever holds the queue's reference calls it: the object is there.
 * A program may have written over a Vec's capacity. */
static inline uint32_t tlc_units_of(const tl_globals* g, const tl_record* r, const tl_entry* e)
{
	uint64_t units = tlc_bytes_of(g, e->object, e->gen & 0xFF) / TL_NODE_UNIT;
	if (atomic_load_explicit(&r->type_flags, memory_order_relaxed) == TL_TYPE_VEC)
		units += ((const tl_vec_payload*)e->object)->cap / (TL_NODE_UNIT / sizeof(void*));
	return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* For a mark that came too late. For example, B has read the shared word of A's object x, to drop a reference. A frees x and
 * makes y in the same slot, of generation gen; y's shared word has the same bits. So B's exchange succeeds and marks y as
 * QUEUED. B's node is now a reference to y. This function counts it, so y stays until A has read the node.
 *
 * False, and nothing is changed: y has ended, too. A saw y's last reference before the mark and has stored over the mark. The
 * object z that lives there now was never marked, and nobody would drop a reference that was counted for it. If another
 * thread has marked z meanwhile, z has two nodes and a reference for each. */
static __attribute__((cold, noinline, unused)) bool tlc_give_to_later(tl_record* r, uint32_t gen)
{
	uint32_t sh = atomic_load_explicit(&r->sh, memory_order_acquire);
	do {
		if (!(sh & TL_SH_QUEUED) || atomic_load_explicit(&r->gen, memory_order_relaxed) != gen) return false;
	} while (!atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh + TL_SH_ONE, memory_order_acquire,
	                                                memory_order_acquire));
	return true;
}

/* Where the object of a live record is. */
static inline uintptr_t tlc_address_of(const tl_heap* h, uint32_t record, uint32_t size_class)
{
	const tl_class_info* k = &h->classes[size_class];
	const uint32_t first = h->record_blocks[record / TL_LINE_RECORDS];
	const tl_record* metadata =
		k->block_records > 1 ? h->block_metadata + first / TL_BLOCK_RECORDS : h->records + first + 1;
	return h->base + ((uint64_t)atomic_load_explicit(&metadata->type_flags, memory_order_relaxed) << TL_SPAN_SHIFT) +
	       (uint64_t)(record - first) * k->stride;
}

/* What tlc_queue says. */
enum {
	TLC_QUEUED = 0,
	TLC_QUEUED_LATER = 1, /* the object had ended: there was no reference to drop */
	TLC_SH_CHANGED = 2,   /* nothing changed */
	TLC_NO_NODE = 3,      /* nothing changed: Go makes more */
};

/* Hands a reference to the owner: the shared word becomes `queued` if it is `sh` still. The node is taken first: once QUEUED
 * is set there is no way back, and the object stays until its owner has read the node. If that object is a later one, it gets
 * the queue's reference as one more, and loses nothing. *node has to be delivered unless it is 0. */
static inline int tlc_queue(tl_globals* g, tl_context* c, tl_record* r, tl_entry e, uint32_t loc, uint32_t sh,
                            uint32_t queued, uint32_t* node)
{
	const uint32_t i = *node = tlc_take_node(g, c);
	if (TLC_UNLIKELY(i == 0)) return TLC_NO_NODE;
	if (TLC_UNLIKELY(!atomic_compare_exchange_strong_explicit(&r->sh, &sh, queued, memory_order_acq_rel,
	                                                          memory_order_relaxed))) {
		tlc_give_node(g, c, i);
		*node = 0;
		return TLC_SH_CHANGED;
	}
	const uint32_t gen = atomic_load_explicit(&r->gen, memory_order_relaxed);
	const bool same = gen == e.gen;
	if (TLC_UNLIKELY(!same)) {
		if (!tlc_give_to_later(r, gen)) {
			tlc_give_node(g, c, i);
			*node = 0;
			return TLC_QUEUED_LATER;
		}
		e = (tl_entry){tlc_address_of(g->heap, e.record, gen & 0xFF), e.record, gen};
	}
	tl_node* n = tlc_node_at(g, i);
	n->object = e.object;
	n->record = e.record;
	n->gen = e.gen;
	const uint32_t units = same && (loc & TL_LOC_COUNT) == 1 ? tlc_units_of(g, r, &e) : 0;
	atomic_store_explicit(&n->chain, units, memory_order_relaxed);
	c->handed.deferred += units != 0;
	c->handed.deferred_units += units;
	if (TLC_UNLIKELY(units >= TLC_LARGE_UNITS)) tlc_heap_watch(g->heap);
	return same ? TLC_QUEUED : TLC_QUEUED_LATER;
}

/* ---- inboxes ------------------------------------------------------------------------------- */

/* Puts a list of nodes into an inbox. A parked owner cannot look into it, and its state becomes `parked`; then true. */
static inline bool tlc_deliver(tl_globals* g, tl_context* to, uint32_t first, uint32_t last, uint64_t parked)
{
	uint64_t word = atomic_load_explicit(&to->word, memory_order_relaxed), state;
	do {
		tlc_node_at(g, last)->next = (uint32_t)(word >> 2);
		state = word & TL_CTX_STATE;
	} while (!atomic_compare_exchange_weak_explicit(&to->word, &word,
	                                                (uint64_t)first << 2 | (state == TL_CTX_PARKED ? parked : state),
	                                                memory_order_acq_rel, memory_order_relaxed));
	return state == TL_CTX_PARKED;
}

/* Takes all nodes out of an inbox, and puts one into it unless that is 0. */
static inline uint32_t tlc_swap_inbox(tl_context* c, uint32_t node)
{
	uint64_t word = atomic_load_explicit(&c->word, memory_order_relaxed);
	while (word >> 2 != node &&
	       !atomic_compare_exchange_weak_explicit(&c->word, &word, (uint64_t)node << 2 | (word & TL_CTX_STATE),
	                                              memory_order_acq_rel, memory_order_relaxed)) {}
	return (uint32_t)(word >> 2);
}
