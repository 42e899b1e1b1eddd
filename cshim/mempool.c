/* Memory pools: handles, locks, and the two functions that are called often. What they
 * do to the tables: mempool_blocks.h. */
#include "mempool_blocks.h"

#include "entry.h"
#include "object_fast.h"

_Static_assert(sizeof(tl_mempool_state) <= TL_MEMPOOL_STRIDE, "a pool fits into its slot");
_Static_assert(sizeof(tl_mempool_block) == 32, "two records share a cache line");

/* The table of pools. NULL sends every call to Go: before the first use, and with TL_FASTPATH=0. */
static char* _Atomic pools;

static inline char* table(void) { return atomic_load_explicit(&pools, memory_order_acquire); }

static inline tl_mempool_state* pool_at(char* first, uint64_t slot)
{
	return (tl_mempool_state*)(first + slot * TL_MEMPOOL_STRIDE);
}

void tlc_memory_pools_attach(uintptr_t at, bool fast)
{
	atomic_store_explicit(&pools, fast ? (char*)at : NULL, memory_order_release);
}

/* ---- locks ------------------------------------------------------------------------- */

static inline void lock(tl_mempool_state* p) { tlc_lock(&p->lock); }
static inline void unlock(tl_mempool_state* p) { tlc_unlock(&p->lock); }

/* The pool of a handle, locked, if no other thread has the lock; NULL: nothing locked. */
static inline tl_mempool_state* enter_at_once(tl_memory_pool* pool)
{
	uint64_t handle = (uintptr_t)pool;
	char* first = table();
	if (TLC_UNLIKELY(first == NULL || tlc_is_inside())) return NULL;
	tl_mempool_state* p = pool_at(first, handle % TL_MEMPOOL_SLOTS);
	if (TLC_UNLIKELY(!tlc_try_lock(&p->lock))) return NULL;
	if (TLC_LIKELY(p->handle == handle)) return p;
	unlock(p);
	return NULL;
}

/* The pool of a handle, locked; NULL, nothing locked: there is no such pool, or ask Go. */
static inline tl_mempool_state* enter(tl_memory_pool* pool)
{
	uint64_t handle = (uintptr_t)pool;
	char* first = table();
	if (TLC_UNLIKELY(first == NULL || tlc_is_inside())) return NULL;
	tl_mempool_state* p = pool_at(first, handle % TL_MEMPOOL_SLOTS);
	lock(p);
	if (TLC_LIKELY(p->handle == handle)) return p;
	unlock(p);
	return NULL;
}

/* For pthread_atfork: prepare takes all locks, parent and child release them. Under the
 * lock of slot 0 no further slot comes into use. */
void tlc_memory_pools_lock_all(void)
{
	char* first = table();
	if (first == NULL) return;
	lock(pool_at(first, 0));
	for (uint32_t i = 1; i < pool_at(first, 0)->fresh; i++) lock(pool_at(first, i));
}

void tlc_memory_pools_unlock_all(void)
{
	char* first = table();
	if (first == NULL) return;
	for (uint32_t i = 1; i < pool_at(first, 0)->fresh; i++) unlock(pool_at(first, i));
	unlock(pool_at(first, 0));
}

/* ---- the fast path ------------------------------------------------------------------- */

/* Counts a block for tracking, and returns its address. */
static inline void* given(uint64_t address, size_t bytes)
{
	tl_context* c = tlc_own_context();
	return c != NULL && tlc_spend(c, bytes) ? tlc_sampled_block(c, (void*)address, bytes) : (void*)address;
}

/* Allocates a block that is not in the log, in a pool that is locked. */
static __attribute__((noinline)) void* allocate_other(tl_mempool_state* p, tl_memory_pool* pool, size_t bytes)
{
	uint64_t address = tlc_mempool_take_other(p, bytes);
	unlock(p);
	return TLC_LIKELY(address != 0) ? given(address, bytes) : slow_memory_pool_allocate(pool, bytes);
}

static __attribute__((noinline, cold)) void* allocate_waiting(tl_memory_pool* pool, size_t bytes)
{
	tl_mempool_state* p = enter(pool);
	if (p == NULL) return slow_memory_pool_allocate(pool, bytes);
	uint64_t address = tlc_mempool_take_logged(p, bytes);
	if (address == 0) return allocate_other(p, pool, bytes);
	unlock(p);
	return given(address, bytes);
}

/* This function handles blocks in the log and needs no stack; the rest is in one that does. Budget:
 * one compare-and-swap, about 45 instructions. */
void* tl_memory_pool_allocate(tl_memory_pool* pool, size_t bytes)
{
	tl_mempool_state* p = enter_at_once(pool);
	if (TLC_UNLIKELY(p == NULL)) return allocate_waiting(pool, bytes);
	uint64_t address = tlc_mempool_take_logged(p, bytes);
	if (TLC_UNLIKELY(address == 0)) return allocate_other(p, pool, bytes);
	unlock(p);
	return given(address, bytes);
}

static __attribute__((noinline)) tl_status deallocate_other(tl_mempool_state* p, tl_memory_pool* pool, void* block)
{
	bool known = tlc_mempool_return_other(p, (uintptr_t)block);
	unlock(p);
	return TLC_LIKELY(known) ? TL_OK : slow_memory_pool_deallocate(pool, block);
}

/* With tracking on, the block's record is dropped first: afterwards the block may be given out
 * again. */
static __attribute__((noinline, cold)) tl_status deallocate_waiting(tl_memory_pool* pool, void* block)
{
	bool lapses = (TLC_LOAD(tlc_shared->tracking) & TL_TRACKING_MODE) != 0 && tlc_shared->debug == 0;
	if (lapses) tlc_forget_block(block); /* otherwise after its red zone was checked */
	tl_mempool_state* p = enter(pool);
	if (p == NULL) return slow_memory_pool_deallocate(pool, block);
	if (!tlc_mempool_return_logged(p, (uintptr_t)block)) return deallocate_other(p, pool, block);
	unlock(p);
	return TL_OK;
}

tl_status tl_memory_pool_deallocate(tl_memory_pool* pool, void* block)
{
	if (TLC_UNLIKELY((TLC_LOAD(tlc_shared->tracking) & TL_TRACKING_MODE) != 0)) return deallocate_waiting(pool, block);
	tl_mempool_state* p = enter_at_once(pool);
	if (TLC_UNLIKELY(p == NULL)) return deallocate_waiting(pool, block);
	if (TLC_UNLIKELY(!tlc_mempool_return_logged(p, (uintptr_t)block))) return deallocate_other(p, pool, block);
	unlock(p);
	return TL_OK;
}
