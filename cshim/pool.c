/* Memory pools: handles, locks, and the two functions that are called often. What they
 * do to the tables: pool_blocks.h. */
#define _GNU_SOURCE
#include "pool_blocks.h"

#include <sched.h>

#include "door.h"
#include "fast.h"

_Static_assert(sizeof(tl_pool_state) <= TL_POOL_STRIDE, "a pool fits into its slot");
_Static_assert(sizeof(tl_pool_block) == 32, "two records share a cache line");

/* Where the pools stand; NULL sends every call to Go: before the first use, and with TL_FASTPATH=0. */
static char* pools;

static tl_pool_state* pool_at(uint64_t slot) { return (tl_pool_state*)(pools + slot * TL_POOL_STRIDE); }

void tlc_memory_pools_attach(uintptr_t table, bool fast) { pools = fast ? (char*)table : NULL; }

/* ---- locks ------------------------------------------------------------------------- */

static inline void spin(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Takes a lock that somebody holds. Yields after 100 turns: the holder may wait for this processor. */
__attribute__((noinline, cold)) static void wait_for(tl_pool_state* p)
{
	for (unsigned turn = 0;; turn++) {
		uint32_t open = 0;
		if (TLC_LOAD(p->lock) == 0 &&
		    atomic_compare_exchange_weak_explicit(&p->lock, &open, 1, memory_order_acquire, memory_order_relaxed))
			return;
		if (turn < 100) spin();
		else sched_yield();
	}
}

static inline void lock(tl_pool_state* p)
{
	uint32_t open = 0;
	if (TLC_UNLIKELY(!atomic_compare_exchange_strong_explicit(&p->lock, &open, 1, memory_order_acquire, memory_order_relaxed)))
		wait_for(p);
}

static inline void unlock(tl_pool_state* p) { atomic_store_explicit(&p->lock, 0, memory_order_release); }

/* The pool of a handle, locked; NULL, nothing locked: it has none, or Go must look. */
static inline tl_pool_state* enter(tl_memory_pool* pool)
{
	uint64_t handle = (uintptr_t)pool;
	if (TLC_UNLIKELY(pools == NULL)) return NULL;
	tl_pool_state* p = pool_at(handle % TL_POOL_SLOTS);
	lock(p);
	if (TLC_LIKELY(p->handle == handle)) return p;
	unlock(p);
	return NULL;
}

/* For pthread_atfork: prepare takes all locks, parent and child release them. Under the
 * lock of slot 0 no further slot comes into use. */
void tlc_memory_pools_lock_all(void)
{
	if (pools == NULL) return;
	lock(pool_at(0));
	for (uint32_t i = 1; i < pool_at(0)->fresh; i++) lock(pool_at(i));
}

void tlc_memory_pools_unlock_all(void)
{
	if (pools == NULL) return;
	for (uint32_t i = 1; i < pool_at(0)->fresh; i++) unlock(pool_at(i));
	unlock(pool_at(0));
}

/* ---- the fast door ------------------------------------------------------------------- */

void* tl_memory_pool_allocate(tl_memory_pool* pool, size_t bytes)
{
	tl_pool_state* p = enter(pool);
	if (TLC_LIKELY(p != NULL)) {
		uint64_t address = tlc_pool_take_block(p, bytes);
		unlock(p);
		if (TLC_LIKELY(address != 0)) {
			tl_context* c = tlc_tls->self; /* NULL: a thread that is not attached */
			return c != NULL && tlc_spend(c, bytes) ? tlc_sampled_block(c, (void*)address, bytes) : (void*)address;
		}
	}
	return slow_memory_pool_allocate(pool, bytes);
}

static inline __attribute__((always_inline)) tl_status deallocate(tl_memory_pool* pool, void* block)
{
	tl_pool_state* p = enter(pool);
	if (TLC_LIKELY(p != NULL)) {
		bool known = tlc_pool_return_block(p, (uintptr_t)block);
		unlock(p);
		if (TLC_LIKELY(known)) return TL_OK;
	}
	return slow_memory_pool_deallocate(pool, block);
}

/* Out of line, so that nothing is kept across the call where nothing is recorded. */
static __attribute__((noinline, cold)) tl_status deallocate_recorded(tl_memory_pool* pool, void* block)
{
	if (tlc_shared->debug == 0) tlc_forget_block(block); /* else after its red zone was looked at */
	return deallocate(pool, block);
}

tl_status tl_memory_pool_deallocate(tl_memory_pool* pool, void* block)
{
	if (TLC_UNLIKELY((TLC_LOAD(tlc_shared->tracking) & TL_TRACKING_MODE) != 0)) return deallocate_recorded(pool, block);
	return deallocate(pool, block);
}
