/* The least that a counted pointer behind a C ABI can cost: two trivial functions in a shared library. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#ifdef __cplusplus
extern "C" {
#endif

void* floor_plain_acquire(void* object);
int floor_plain_release(void* object);
void* floor_atomic_acquire(void* object);
int floor_atomic_release(void* object);
void* floor_checked_acquire(void* object);
int floor_checked_release(void* object);

#ifdef __cplusplus
}
#endif

#endif
