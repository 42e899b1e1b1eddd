/* Rings of garbage on several threads, for the programs about cycles. */
#pragma once

#include "check.h"
#include "thread.h"

/* What makes a ring of n objects, each held by its neighbour alone, and how many were destroyed. */
typedef struct ring_maker {
	void* (*garbage_ring)(int n);
	int* destroyed;
} ring_maker;

static inline void* ring_of_a_thread(void* maker)
{
	((const ring_maker*)maker)->garbage_ring(4);
	CHECK_INT(tl_mem_collect_cycles(), 4);
	return NULL;
}

static inline void check_each_thread_collects_its_own(ring_maker maker)
{
	void* mine = maker.garbage_ring(3);
	*maker.destroyed = 0;
	run_thread(ring_of_a_thread, &maker);
	CHECK_INT(*maker.destroyed, 4);
	CHECK_COUNT(mine, 1);
	CHECK_INT(tl_mem_collect_cycles(), 3);
}
