/* The least that a counted pointer behind a C ABI can cost: two trivial functions in a shared library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void* floor_plain_acquire(void* object);
int floor_plain_release(void* object);
void* floor_atomic_acquire(void* object);
int floor_atomic_release(void* object);
void* floor_checked_acquire(void* object);
int floor_checked_release(void* object);

/* The least of an arena: a pointer in memory that each call loads, moves and stores. */
void* floor_bump(size_t bytes);
void* floor_top(void);
void floor_set_top(void* top);

/* The least of an allocator with a record for each object: a stack of free slots, and a record that is written when one
 * goes and when one comes. */
void* floor_take(void);
void floor_give(void* object);

/* The least that a kept tensor costs where two threads use the library: a slot with a header, an entry of a scope, and a shared count whose last reference
 * is dropped by a compare-and-swap. */
void* floor_make_tensor(uint64_t kind, uint64_t elements, uint64_t bytes);
int floor_free_tensor(void* tensor);

#ifdef __cplusplus
}
#endif
