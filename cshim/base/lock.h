/* Locks of the memory that both paths share; runtime/layout/lock.go is the Go side. Whoever waits may not
 * sleep in the kernel, since the other language would have to wake it. */
#pragma once

#include <sched.h>

#include "layout.h"

static inline void tlc_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb"); /* as long as x86-64's pause; a yield is over at once */
#endif
}

/* One turn of waiting for a lock: see TL_WAIT_FIRST. */
static inline void tlc_wait(unsigned turn)
{
	if (turn >= TL_WAIT_TURNS) {
		sched_yield();
		return;
	}
	for (unsigned i = TL_WAIT_FIRST << turn; i > 0; i--) tlc_pause();
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
