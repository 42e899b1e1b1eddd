/* The probes of the slow path. Go has no notes of its own, and calls these by address (runtime/usdt). */
#include "probe.h"

void tlc_probe_allocate(uint64_t object, uint64_t bytes) { TLC_PROBE_ALLOCATE(object, bytes); }

void tlc_probe_free(uint64_t object, uint64_t unused)
{
	(void)unused;
	TLC_PROBE_FREE(object);
}

void tlc_probe_pool_miss(uint64_t elements, uint64_t dtype) { TLC_PROBE_POOL_MISS(elements, dtype); }

void tlc_probe_limit(uint64_t device, uint64_t bytes) { TLC_PROBE_LIMIT(device, bytes); }
