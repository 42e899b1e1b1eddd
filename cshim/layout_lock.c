#include "layout_lock.h"

void tlc_lock_slowly(_Atomic uint32_t* lock)
{
	for (unsigned turn = 0; atomic_load_explicit(lock, memory_order_relaxed) != 0 || !tlc_try_lock(lock); turn++) tlc_wait(turn);
}
