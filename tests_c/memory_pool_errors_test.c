/* Section Memory pools: bad input and broken devices. A call that fails changes nothing. */
#include "check.h"
#include "device.h"
#include "thread.h"

enum { KIB = 1024 };

/* A pool with one live block, whose counters a failure must not change. */
static device d;
static tl_memory_pool* pool;
static char* block;
static tl_memory_pool_stats before;

static void begin(void)
{
	d = (device){0};
	pool = device_pool(&d, 64 * KIB);
	block = tl_memory_pool_allocate(pool, KIB);
	before = pool_stats(pool);
}

static void end(void)
{
	tl_memory_pool_stats after = pool_stats(pool);
	CHECK(memcmp(&before, &after, sizeof after) == 0);
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	device_end(&d, pool);
}

TEST(pointers_that_are_no_blocks)
{
	int local = 0;
	begin();
	void* dead = tl_memory_pool_allocate(pool, KIB);
	CHECK_OK(tl_memory_pool_deallocate(pool, dead));
	before = pool_stats(pool);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, &local), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, block + 1), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, block + 64), TL_E_UNKNOWN_POINTER);
	CHECK(strstr(tl_last_error(), "inside a block") != NULL);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, block - 64), TL_E_UNKNOWN_POINTER);
	CHECK(strstr(tl_last_error(), "no memory of this pool") != NULL);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, block + 64 * KIB), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, dead), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, (void*)1), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, (void*)~(uintptr_t)0), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, pool), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_memory_pool_deallocate(pool, NULL));
	end();
}

THREAD(free_again, dead) { CHECK_FAILS(tl_memory_pool_deallocate(pool, dead), TL_E_UNKNOWN_POINTER); }

THREAD(free_live, live) { CHECK_OK(tl_memory_pool_deallocate(pool, live)); }

TEST(blocks_of_other_threads_and_pools)
{
	device other_device = {0};
	tl_memory_pool* other = device_pool(&other_device, 64 * KIB);
	void *live, *foreign = tl_memory_pool_allocate(other, KIB);
	begin();
	CHECK_FAILS(tl_memory_pool_deallocate(pool, foreign), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate(other, block), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_memory_pool_deallocate(other, foreign));
	live = tl_memory_pool_allocate(pool, 100);
	run_thread(free_live, live);
	run_thread(free_again, live);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, live), TL_E_UNKNOWN_POINTER);
	before = pool_stats(pool);
	device_end(&other_device, other);
	end();
}

TEST(sizes_that_are_none)
{
	begin();
	CHECK_REFUSED(tl_memory_pool_allocate(pool, 0), 0, TL_OK);
	CHECK_REFUSED(tl_memory_pool_allocate(pool, SIZE_MAX), 0, TL_E_OVERFLOW);
	CHECK_REFUSED(tl_memory_pool_allocate(pool, SIZE_MAX - 63), 0, TL_E_OVERFLOW);
	CHECK_REFUSED(tl_memory_pool_allocate(pool, (size_t)1 << 63), 0, TL_E_OVERFLOW);
	CHECK_REFUSED(tl_memory_pool_allocate(pool, (size_t)1 << 47), 0, TL_E_OVERFLOW);
	CHECK_REFUSED(tl_memory_pool_allocate(pool, ((size_t)1 << 47) - 1), 0, TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "test device has no") != NULL);
	end();
}

static void refuse_creation(tl_device_allocator a, size_t bytes, tl_status want)
{
	tl_memory_pool* none = (tl_memory_pool*)&d;
	CHECK_FAILS(tl_memory_pool_create(&a, bytes, &none), want);
	CHECK_PTR(none, &d);
}

TEST(allocators_that_are_none)
{
	tl_device_allocator bad;
	tl_memory_pool* none = NULL;
	d = (device){0};
	tl_device_allocator good = device_allocator(&d, 64);
	/* covers: tl_memory_pool_create TL_E_OVERFLOW */
	CHECK_FAILS(tl_memory_pool_create(NULL, KIB, &none), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_create((tl_device_allocator*)16, KIB, &none), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_create(&good, KIB, NULL), TL_E_INVALID_ARGUMENT);
	refuse_creation(good, 0, TL_E_INVALID_ARGUMENT);
	refuse_creation(good, SIZE_MAX, TL_E_OVERFLOW);
	refuse_creation(good, (size_t)1 << 47, TL_E_OVERFLOW);
	static const size_t alignments[] = {0, 3, 48, 65, (size_t)1 << 63};
	for (int i = 0; i < 5; i++) {
		bad = good;
		bad.alignment = alignments[i];
		refuse_creation(bad, KIB, TL_E_INVALID_ARGUMENT);
	}
	bad = good, bad.struct_size = sizeof bad - 1;
	refuse_creation(bad, KIB, TL_E_INVALID_ARGUMENT);
	bad = good, bad.allocate = NULL;
	refuse_creation(bad, KIB, TL_E_INVALID_ARGUMENT);
	bad = good, bad.deallocate = NULL;
	refuse_creation(bad, KIB, TL_E_INVALID_ARGUMENT);
	CHECK_INT(d.calls, 0);
}

TEST(alignments_are_granules)
{
	for (size_t alignment = 1; alignment <= 4096; alignment *= 4) {
		device of = {0};
		tl_device_allocator a = device_allocator(&of, alignment);
		tl_memory_pool* p = NULL;
		a.name = NULL;
		CHECK_OK(tl_memory_pool_create(&a, 64 * KIB, &p));
		char* one = tl_memory_pool_allocate(p, 1);
		char* two = tl_memory_pool_allocate(p, 1);
		CHECK_INT(two - one, alignment);
		CHECK_OK(tl_memory_pool_reset(p));
		device_end(&of, p);
	}
}

static void refuse_handle(tl_memory_pool* bad)
{
	tl_memory_pool_stats stats = {.struct_size = sizeof stats};
	CHECK_REFUSED(tl_memory_pool_allocate(bad, 64), 0, TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_deallocate(bad, block), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_reset(bad), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_trim(bad), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_set_limit(bad, 64), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_stats_get(bad, &stats), TL_E_INVALID_ARGUMENT);
	if (bad != NULL) CHECK_FAILS(tl_memory_pool_destroy(bad), TL_E_INVALID_ARGUMENT);
}

TEST(handles_that_are_none)
{
	device other = {0};
	tl_memory_pool* ended = device_pool(&other, KIB);
	device_end(&other, ended);
	begin();
	refuse_handle(NULL);
	refuse_handle(ended);
	refuse_handle((tl_memory_pool*)block);
	refuse_handle((tl_memory_pool*)&d);
	for (uintptr_t n = 1; n < 4096; n++)
		CHECK_REFUSED(tl_memory_pool_allocate((tl_memory_pool*)n, 64), 0, TL_E_INVALID_ARGUMENT);
	for (int bit = 0; bit < 64; bit++) refuse_handle((tl_memory_pool*)((uintptr_t)pool ^ (uintptr_t)1 << bit));
	refuse_handle((tl_memory_pool*)~(uintptr_t)0);
	end();
}

/* Numbers of all magnitudes, and near misses, as pools and as blocks. */
TEST(random_numbers)
{
	uint64_t random = 99;
	begin();
	for (int i = 0; i < 20000; i++) {
		uintptr_t number = check_random(&random) >> check_random(&random) % 64;
		uintptr_t near = (uintptr_t)block + check_random(&random) % 1024 + 1;
		CHECK_REFUSED(tl_memory_pool_allocate((tl_memory_pool*)number, 64), 0, TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_memory_pool_deallocate(pool, (void*)near), TL_E_UNKNOWN_POINTER);
		if (number != 0) CHECK_FAILS(tl_memory_pool_deallocate(pool, (void*)number), TL_E_UNKNOWN_POINTER);
	}
	end();
}

TEST(as_many_pools_as_there_can_be)
{
	enum { POOLS = 1023 };
	static tl_memory_pool* pools[POOLS];
	d = (device){0};
	tl_device_allocator a = device_allocator(&d, 64);
	for (int i = 0; i < POOLS; i++) CHECK_OK(tl_memory_pool_create(&a, KIB, &pools[i]));
	refuse_creation(a, KIB, TL_E_LIMIT);
	for (int i = 0; i < POOLS; i++) CHECK_OK(tl_memory_pool_destroy(pools[i]));
	CHECK_INT(d.chunks, 0);
}

TEST(memory_that_cannot_be)
{
	begin();
	d.misalign = 32;
	CHECK_REFUSED(tl_memory_pool_allocate(pool, 65 * KIB), 0, TL_E_DEVICE);
	CHECK(strstr(tl_last_error(), "not aligned") != NULL);
	CHECK_INT(d.chunks, 1);
	d.misalign = 0;
	static const ptrdiff_t overlaps[] = {0, 64, -64, 63 * KIB, -129 * KIB};
	for (int i = 0; i < 5; i++) {
		d.returns = block + overlaps[i];
		CHECK_REFUSED(tl_memory_pool_allocate(pool, 65 * KIB), 0, TL_E_DEVICE);
		CHECK(strstr(tl_last_error(), "overlaps") != NULL);
	}
	d.returns = (char*)~(uintptr_t)63;
	CHECK_REFUSED(tl_memory_pool_allocate(pool, 65 * KIB), 0, TL_E_DEVICE);
	CHECK_INT(d.chunks, 1);
	CHECK_INT(d.wrong, 0);
	d.returns = NULL;
	/* covers: tl_memory_pool_create TL_E_DEVICE, TL_E_OUT_OF_MEMORY */
	device broken = {.misalign = 8};
	refuse_creation(device_allocator(&broken, 64), KIB, TL_E_DEVICE);
	broken = (device){.fail_at = 1};
	refuse_creation(device_allocator(&broken, 64), KIB, TL_E_OUT_OF_MEMORY);
	CHECK_INT(broken.chunks + broken.wrong, 0);
	end();
}

int main(void) { return check_tests(); }
