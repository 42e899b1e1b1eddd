#include "lock.h"

void tlc_lock_slowly(_Atomic uint32_t* lock)
{
	unsigned turn = 0;
	while (atomic_load_explicit(lock, memory_order_relaxed) != 0 || !tlc_try_lock(lock)) tlc_wait(turn++);
}
