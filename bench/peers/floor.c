#include "floor.h"

#include <stdatomic.h>

void* floor_plain_acquire(void* object) {
	++*(int*)object;
	return object;
}

int floor_plain_release(void* object) { return --*(int*)object == 0; }

void* floor_atomic_acquire(void* object) {
	atomic_fetch_add_explicit((_Atomic int*)object, 1, memory_order_relaxed);
	return object;
}

int floor_atomic_release(void* object) {
	return atomic_fetch_sub_explicit((_Atomic int*)object, 1, memory_order_acq_rel) == 1;
}
