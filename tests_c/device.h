/* A device for the tests of memory pools, which does what it is told: grants ranges of
 * addresses or memory, fails at a call, breaks its promises. Ranges have no access at
 * all, so a pool that looked at its memory would die. */
#pragma once

#include <sys/mman.h>

#include "check.h"

enum { DEVICE_CHUNKS = 4096 };

typedef struct device {
	int access;      /* of the memory: PROT_NONE, or PROT_READ | PROT_WRITE */
	int calls;       /* of allocate */
	int fail_at;     /* the call that fails, from 1; 0: none */
	int fail_from;   /* this call and all later ones fail; 0: none */
	size_t misalign; /* added to what is returned */
	char* returns;   /* returned instead of new memory */
	int chunks;      /* granted and not returned */
	int wrong;       /* returned and never granted */
	struct {
		char* at;
		size_t bytes;
	} granted[DEVICE_CHUNKS];
	size_t last_bytes;    /* of the newest request */
	void (*during)(void); /* called inside allocate */
} device;

static inline void* device_allocate(void* ctx, size_t bytes)
{
	device* d = ctx;
	char* at;
	d->last_bytes = bytes;
	d->calls++;
	if (d->during != NULL) d->during();
	if (d->calls == d->fail_at || (d->fail_from != 0 && d->calls >= d->fail_from)) return NULL;
	if (d->returns != NULL) return d->returns;
	at = mmap(NULL, bytes + d->misalign, d->access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED || d->chunks == DEVICE_CHUNKS) return NULL;
	d->granted[d->chunks].at = at + d->misalign;
	d->granted[d->chunks++].bytes = bytes;
	return at + d->misalign;
}

static inline void device_deallocate(void* ctx, void* block, size_t bytes)
{
	device* d = ctx;
	for (int i = 0; i < d->chunks; i++)
		if (d->granted[i].at == block && d->granted[i].bytes == bytes) {
			size_t in = (uintptr_t)block & 4095;
			munmap((char*)block - in, bytes + in);
			d->granted[i] = d->granted[--d->chunks];
			return;
		}
	d->wrong++;
}

static inline tl_device_allocator device_allocator(device* d, size_t alignment)
{
	tl_device_allocator a = {sizeof a, "test device", alignment, d, device_allocate, device_deallocate};
	return a;
}

static inline tl_memory_pool* device_pool(device* d, size_t bytes)
{
	tl_memory_pool* pool = NULL;
	tl_device_allocator a = device_allocator(d, 64);
	CHECK_OK(tl_memory_pool_create(&a, bytes, &pool));
	return pool;
}

static inline tl_memory_pool_stats pool_stats(tl_memory_pool* pool)
{
	tl_memory_pool_stats stats;
	memset(&stats, 0, sizeof stats);
	stats.struct_size = sizeof stats;
	CHECK_OK(tl_memory_pool_stats_get(pool, &stats));
	CHECK_INT(stats.current_usage, stats.total_allocated - stats.total_freed);
	CHECK_INT(stats.num_pool_allocations, stats.num_allocations);
	return stats;
}

/* Ends a pool and holds the device to having everything back. */
static inline void device_end(device* d, tl_memory_pool* pool)
{
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_INT(d->chunks, 0);
	CHECK_INT(d->wrong, 0);
}
