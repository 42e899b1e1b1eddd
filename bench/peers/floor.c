#include "floor.h"

#include <stdatomic.h>

void* floor_plain_acquire(void* object)
{
	++*(int*)object;
	return object;
}

int floor_plain_release(void* object) { return --*(int*)object == 0; }

void* floor_atomic_acquire(void* object)
{
	atomic_fetch_add_explicit((_Atomic int*)object, 1, memory_order_relaxed);
	return object;
}

int floor_atomic_release(void* object)
{
	return atomic_fetch_sub_explicit((_Atomic int*)object, 1, memory_order_acq_rel) == 1;
}

/* The least of a count that is looked at before it changes: one of a dead object must not. */
static int change(_Atomic int* count, int by, memory_order order)
{
	int seen = atomic_load_explicit(count, memory_order_relaxed);
	while (seen > 0 && !atomic_compare_exchange_weak_explicit(count, &seen, seen + by, order, memory_order_relaxed)) {}
	return seen;
}

void* floor_checked_acquire(void* object)
{
	change((_Atomic int*)object, 1, memory_order_relaxed);
	return object;
}

int floor_checked_release(void* object) { return change((_Atomic int*)object, -1, memory_order_acq_rel) == 1; }
