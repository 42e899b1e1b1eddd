/* Memory pools: handles, locks, and the two functions that are called often. What they
 * do to the tables: mempool/blocks.h. */
#include "../base/go.h"
#include "../mempool/caches.h"
#include "../object/fast.h"

_Static_assert(sizeof(tl_mempool_state) <= TL_MEMPOOL_CACHES_AT, "a pool's caches stand behind its state");
_Static_assert(TL_MEMPOOL_CACHES_AT + TL_MEMPOOL_CACHES * sizeof(tl_mempool_cache) <= TL_MEMPOOL_STRIDE,
               "a pool fits into its slot");
_Static_assert(sizeof(tl_mempool_cache) % 64 == 0, "caches share no cache line");
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

/* Where the pool of a handle would be; NULL: ask Go. */
static inline tl_mempool_state* state_of(tl_memory_pool* pool)
{
	char* first = table();
	if (TLC_UNLIKELY(first == NULL || tlc_is_inside())) return NULL;
	return pool_at(first, (uintptr_t)pool % TL_MEMPOOL_SLOTS);
}

/* Whether a locked state is the pool's; if not it is unlocked. */
static inline bool is_of(tl_mempool_state* p, tl_memory_pool* pool)
{
	if (TLC_LIKELY(p->handle == (uintptr_t)pool)) return true;
	unlock(p);
	return false;
}

/* For pthread_atfork: prepare takes all locks, parent and child release them. Under the
 * lock of slot 0 no further slot comes into use. A thread may have the lock of a cache that is not in use. */
void tlc_memory_pools_lock_all(void)
{
	char* first = table();
	if (first == NULL) return;
	lock(pool_at(first, 0));
	for (uint32_t i = 1; i < pool_at(first, 0)->fresh; i++) {
		tl_mempool_state* p = pool_at(first, i);
		lock(p);
		for (uint32_t k = 0; k < TL_MEMPOOL_CACHES; k++) tlc_lock(&tlc_cache(p, k)->lock);
	}
}

void tlc_memory_pools_unlock_all(void)
{
	char* first = table();
	if (first == NULL) return;
	for (uint32_t i = 1; i < pool_at(first, 0)->fresh; i++) {
		tl_mempool_state* p = pool_at(first, i);
		for (uint32_t k = 0; k < TL_MEMPOOL_CACHES; k++) tlc_unlock(&tlc_cache(p, k)->lock);
		unlock(p);
	}
	unlock(pool_at(first, 0));
}

/* ---- the fast path ------------------------------------------------------------------- */

/* Counts a block for tracking, and returns its address. */
static inline void* given(uint64_t address, size_t bytes)
{
	tl_context* c = tlc_own_context();
	return c != NULL && tlc_spend(c, bytes) ? tlc_sampled_block(c, (void*)address, bytes) : (void*)address;
}

/* Where another thread has the pool's lock, or the thread's cache has no such block. */
static __attribute__((noinline)) void* allocate_waiting(tl_mempool_state* p, tl_memory_pool* pool, size_t bytes)
{
	uint64_t address = tlc_mempool_take_waiting(p, (uintptr_t)pool, tlc_tls->id, bytes);
	return TLC_LIKELY(address != 0) ? given(address, bytes) : slow_memory_pool_allocate(pool, bytes);
}

/* Where other threads are in the pool. */
static __attribute__((noinline)) void* allocate_shared(tl_mempool_state* p, tl_memory_pool* pool, size_t bytes)
{
	uint64_t address = tlc_mempool_take_kept(p, (uintptr_t)pool, tlc_tls->id, bytes);
	return TLC_LIKELY(address != 0) ? given(address, bytes) : allocate_waiting(p, pool, bytes);
}

/* Allocates a block that is not in the log, in a pool that is locked. */
static __attribute__((noinline, flatten)) void* allocate_other(tl_mempool_state* p, tl_memory_pool* pool, size_t bytes)
{
	const bool shared = tlc_mempool_open(p) != 0;
	uint64_t address = shared ? 0 : tlc_mempool_take_other(p, bytes);
	unlock(p);
	if (TLC_LIKELY(address != 0)) return given(address, bytes);
	return shared ? allocate_shared(p, pool, bytes) : slow_memory_pool_allocate(pool, bytes);
}

/* This function handles blocks in the log and needs no stack; the rest is in others that do. Budget:
 * one compare-and-swap, about 50 instructions. */
void* tl_memory_pool_allocate(tl_memory_pool* pool, size_t bytes)
{
	tl_mempool_state* p = state_of(pool);
	if (TLC_UNLIKELY(p == NULL)) return slow_memory_pool_allocate(pool, bytes);
	if (TLC_UNLIKELY(tlc_mempool_open(p) != 0)) return allocate_shared(p, pool, bytes);
	if (TLC_UNLIKELY(!tlc_try_lock(&p->lock))) return allocate_waiting(p, pool, bytes);
	if (TLC_UNLIKELY(!is_of(p, pool))) return slow_memory_pool_allocate(pool, bytes);
	uint64_t address = tlc_mempool_take_logged(p, bytes);
	if (TLC_UNLIKELY(address == 0)) return allocate_other(p, pool, bytes);
	unlock(p);
	return given(address, bytes);
}

static __attribute__((noinline)) tl_status deallocate_waiting(tl_mempool_state* p, tl_memory_pool* pool, void* block)
{
	bool known = tlc_mempool_give_waiting(p, (uintptr_t)pool, (uintptr_t)block);
	return TLC_LIKELY(known) ? TL_OK : slow_memory_pool_deallocate(pool, block);
}

static __attribute__((noinline)) tl_status deallocate_shared(tl_mempool_state* p, tl_memory_pool* pool, void* block)
{
	bool known = tlc_mempool_give_kept(p, (uintptr_t)pool, tlc_tls->id, (uintptr_t)block);
	return TLC_LIKELY(known) ? TL_OK : deallocate_waiting(p, pool, block);
}

static __attribute__((noinline, flatten)) tl_status deallocate_other(tl_mempool_state* p, tl_memory_pool* pool,
                                                                     void* block)
{
	const bool shared = tlc_mempool_open(p) != 0;
	bool known = !shared && tlc_mempool_return_other(p, (uintptr_t)block);
	unlock(p);
	if (TLC_LIKELY(known)) return TL_OK;
	return shared ? deallocate_shared(p, pool, block) : slow_memory_pool_deallocate(pool, block);
}

static inline __attribute__((always_inline)) tl_status deallocate(tl_memory_pool* pool, void* block)
{
	tl_mempool_state* p = state_of(pool);
	if (TLC_UNLIKELY(p == NULL)) return slow_memory_pool_deallocate(pool, block);
	if (TLC_UNLIKELY(tlc_mempool_open(p) != 0)) return deallocate_shared(p, pool, block);
	if (TLC_UNLIKELY(!tlc_try_lock(&p->lock))) return deallocate_waiting(p, pool, block);
	if (TLC_UNLIKELY(!is_of(p, pool))) return slow_memory_pool_deallocate(pool, block);
	if (TLC_UNLIKELY(!tlc_mempool_return_logged(p, (uintptr_t)block))) return deallocate_other(p, pool, block);
	unlock(p);
	return TL_OK;
}

/* With tracking on, the block's record is dropped first: afterwards the block may be given out
 * again. */
static __attribute__((noinline, cold)) tl_status deallocate_tracked(tl_memory_pool* pool, void* block)
{
	if (tlc_shared->debug == 0) tlc_forget_block(block); /* otherwise after its red zone was checked */
	return deallocate(pool, block);
}

tl_status tl_memory_pool_deallocate(tl_memory_pool* pool, void* block)
{
	if (TLC_UNLIKELY((TLC_LOAD(tlc_shared->tracking) & TL_TRACKING_MODE) != 0)) return deallocate_tracked(pool, block);
	return deallocate(pool, block);
}
