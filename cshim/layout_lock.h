/* Locks of the memory that both paths share; runtime/layout/lock.go is the Go side. Whoever waits may not
 * sleep in the kernel, since the other language would have to wake it. */
#ifndef TL_LAYOUT_LOCK_H
#define TL_LAYOUT_LOCK_H

#include <sched.h>

#include "layout.h"

/* One turn of waiting. After 100 the processor is given away: the holder may be waiting for it. */
static inline void tlc_wait(unsigned turn)
{
	if (turn >= 100) {
		sched_yield();
		return;
	}
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* A lock word is 1 while it is held. */
static inline bool tlc_try_lock(_Atomic uint32_t* lock)
{
	uint32_t open = 0;
	return atomic_compare_exchange_strong_explicit(lock, &open, 1, memory_order_acquire, memory_order_relaxed);
}

/* Takes a lock that somebody holds. */
__attribute__((cold)) void tlc_lock_slowly(_Atomic uint32_t* lock);

static inline void tlc_lock(_Atomic uint32_t* lock)
{
	if (TLC_UNLIKELY(!tlc_try_lock(lock))) tlc_lock_slowly(lock);
}

static inline void tlc_unlock(_Atomic uint32_t* lock) { atomic_store_explicit(lock, 0, memory_order_release); }

#endif
