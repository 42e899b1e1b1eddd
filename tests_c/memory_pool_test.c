/* Section Memory pools: fit, split, join, growth, reset, trim, limit, statistics. */
#include "check.h"
#include "device.h"
#include "thread.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

static char* get(tl_memory_pool* pool, size_t bytes)
{
	char* block = tl_memory_pool_allocate(pool, bytes);
	CHECK(block != NULL);
	return block;
}

static void put(tl_memory_pool* pool, void* block) { CHECK_OK(tl_memory_pool_deallocate(pool, block)); }

/* The first block of an empty pool: where its first chunk starts. */
static char* start_of(tl_memory_pool* pool)
{
	char* block = get(pool, 64);
	put(pool, block);
	return block;
}

TEST(every_other_of_ten_freed)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 16 * KIB);
	char* blocks[10];
	for (int i = 0; i < 10; i++) blocks[i] = get(pool, KIB);
	for (int i = 0; i < 10; i += 2) put(pool, blocks[i]);
	char* large = get(pool, 4 * KIB);
	CHECK_PTR(large, blocks[9] + KIB);
	CHECK_INT(pool_stats(pool).num_free_blocks, 6);
	put(pool, large);
	for (int i = 1; i < 10; i += 2) put(pool, blocks[i]);
	CHECK_INT(pool_stats(pool).num_free_blocks, 1);
	CHECK_INT(pool_stats(pool).largest_free_block, 16 * KIB);
	device_end(&d, pool);
}

TEST(twice_the_size_adds_one_chunk)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, MIB);
	CHECK_INT(pool_stats(pool).num_device_allocations, 1);
	CHECK_INT(pool_stats(pool).reserved, MIB);
	char* block = get(pool, 2 * MIB);
	CHECK_INT(d.calls, 2);
	CHECK_INT(d.last_bytes, 4 * MIB);
	CHECK_INT(pool_stats(pool).num_device_allocations, 2);
	CHECK_INT(pool_stats(pool).reserved, 5 * MIB);
	put(pool, block);
	device_end(&d, pool);
}

TEST(small_growth_is_by_the_size_of_the_pool)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 64 * KIB);
	char *all = get(pool, 64 * KIB), *more = get(pool, 100);
	CHECK_INT(d.last_bytes, 64 * KIB);
	put(pool, more);
	put(pool, all);
	device_end(&d, pool);
}

TEST(reuse_asks_the_device_no_more)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, MIB);
	char *first = get(pool, 100 * KIB), *again;
	put(pool, first);
	for (int i = 0; i < 1000; i++) {
		again = get(pool, 100 * KIB);
		CHECK_PTR(again, first);
		put(pool, again);
	}
	CHECK_INT(d.calls, 1);
	CHECK_INT(pool_stats(pool).num_allocations, 1001);
	device_end(&d, pool);
}

TEST(reset_then_allocate)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 64 * KIB);
	char *first = get(pool, KIB), *second = get(pool, 60 * KIB), *third = get(pool, 100 * KIB);
	tl_memory_pool_stats before = pool_stats(pool), after;
	put(pool, second);
	CHECK_OK(tl_memory_pool_reset(pool));
	after = pool_stats(pool);
	CHECK_INT(after.current_usage, 0);
	CHECK_INT(after.total_freed, before.total_allocated);
	CHECK_INT(after.num_deallocations, 3);
	CHECK_INT(after.peak_usage, before.current_usage);
	CHECK_INT(after.reserved, (64 + 200) * KIB);
	CHECK_INT(after.num_free_blocks, 2);
	CHECK_INT(after.largest_free_block, 200 * KIB);
	CHECK_INT(d.calls, 2);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, first), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, third), TL_E_UNKNOWN_POINTER);
	CHECK_PTR(get(pool, KIB), first);
	CHECK_PTR(get(pool, 60 * KIB), second);
	CHECK_OK(tl_memory_pool_reset(pool));
	device_end(&d, pool);
}

TEST(the_default_is_reserved_and_not_touched)
{
	device d = {.access = PROT_READ | PROT_WRITE};
	int64_t before = tl_get_memory_bytes();
	tl_memory_pool* pool = device_pool(&d, TL_MEMORY_POOL_DEFAULT_BYTES);
	CHECK_INT(pool_stats(pool).reserved, 256 * MIB);
	put(pool, get(pool, 100 * MIB));
	CHECK(tl_get_memory_bytes() - before < 16 * MIB);
	device_end(&d, pool);
}

TEST(a_block_is_cut_when_more_than_256_bytes_remain)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 4 * KIB);
	char* block = get(pool, 4 * KIB - 256);
	CHECK_INT(pool_stats(pool).current_usage, 4 * KIB);
	CHECK_INT(pool_stats(pool).num_free_blocks, 0);
	put(pool, block);
	block = get(pool, 4 * KIB - 256 - 64);
	CHECK_INT(pool_stats(pool).current_usage, 4 * KIB - 320);
	CHECK_INT(pool_stats(pool).largest_free_block, 320);
	put(pool, block);
	block = get(pool, 1);
	CHECK_INT(pool_stats(pool).current_usage, 64);
	CHECK_INT((uintptr_t)block % 64, 0);
	put(pool, block);
	device_end(&d, pool);
}

TEST(the_smallest_fit_then_the_lowest_address)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 64 * KIB);
	char* blocks[9];
	const size_t sizes[9] = {2048, 64, 1024, 64, 1024, 64, 4096, 64, 1024};
	for (int i = 0; i < 9; i++) blocks[i] = get(pool, sizes[i]);
	for (int i = 8; i >= 0; i -= 2) /* the last one joins the rest of the chunk */
		put(pool, blocks[i]);
	CHECK_PTR(get(pool, 960), blocks[2]); /* 64 bytes remain, not cut */
	CHECK_PTR(get(pool, 1024), blocks[4]);
	CHECK_PTR(get(pool, 1024), blocks[0]);
	CHECK_PTR(get(pool, 1024), blocks[0] + 1024);
	CHECK_PTR(get(pool, 4096), blocks[6]);
	CHECK_PTR(get(pool, 1024), blocks[8]);
	CHECK_OK(tl_memory_pool_reset(pool));
	device_end(&d, pool);
}

TEST(neighbours_join_in_any_order)
{
	static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 64 * KIB);
	for (int o = 0; o < 6; o++) {
		char *blocks[3], *joined, *last;
		for (int i = 0; i < 3; i++) blocks[i] = get(pool, 1000 + 1000 * (size_t)i);
		last = get(pool, 64);
		for (int i = 0; i < 3; i++) put(pool, blocks[orders[o][i]]);
		CHECK_INT(pool_stats(pool).num_free_blocks, 2);
		joined = get(pool, 1024 + 2048 + 3008);
		CHECK_PTR(joined, blocks[0]);
		put(pool, joined);
		put(pool, last);
	}
	CHECK_INT(pool_stats(pool).num_free_blocks, 1);
	device_end(&d, pool);
}

/* Offsets of a thousand random calls; the same for every pool. */
static void record_layout(ptrdiff_t* offsets)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 16 * MIB);
	char *base = start_of(pool), *blocks[100] = {0};
	uint64_t random = 7;
	for (int i = 0; i < 1000; i++) {
		char** at = &blocks[check_random(&random) % 100];
		if (*at != NULL) put(pool, *at);
		*at = get(pool, check_random(&random) % 65536 + 1);
		offsets[i] = *at - base;
	}
	CHECK_INT(d.calls, 1);
	CHECK_OK(tl_memory_pool_reset(pool));
	device_end(&d, pool);
}

TEST(the_same_calls_give_the_same_layout)
{
	static ptrdiff_t first[1000], second[1000];
	record_layout(first);
	record_layout(second);
	CHECK(memcmp(first, second, sizeof first) == 0);
}

TEST(what_was_given_back_last_is_free)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 4 * KIB);
	char *a = get(pool, KIB), *b = get(pool, KIB), *whole;
	put(pool, b);
	CHECK_INT(pool_stats(pool).current_usage, KIB);
	CHECK_INT(pool_stats(pool).largest_free_block, 3 * KIB);
	b = get(pool, KIB);
	put(pool, b);
	put(pool, a);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, a), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, b), TL_E_UNKNOWN_POINTER);
	whole = get(pool, 4 * KIB); /* joined: nothing of it is held back */
	CHECK_PTR(whole, a);
	CHECK_INT(d.calls, 1);
	put(pool, whole);
	CHECK_OK(tl_memory_pool_trim(pool));
	CHECK_INT(d.chunks, 0);
	device_end(&d, pool);
}

TEST(thousands_of_blocks)
{
	enum { BLOCKS = 20000 };
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 4 * MIB);
	static char* blocks[BLOCKS];
	for (int i = 0; i < BLOCKS; i++) blocks[i] = get(pool, 64);
	for (int i = 1; i < BLOCKS; i++) CHECK_PTR(blocks[i], blocks[0] + 64 * i);
	CHECK_INT(pool_stats(pool).num_free_blocks, 1);
	for (int i = 0; i < BLOCKS; i += 2) put(pool, blocks[i]);
	CHECK_INT(pool_stats(pool).num_free_blocks, BLOCKS / 2 + 1);
	for (int i = 0; i < BLOCKS; i += 2) CHECK_PTR(get(pool, 64), blocks[i]);
	CHECK_OK(tl_memory_pool_reset(pool));
	device_end(&d, pool);
}

TEST(trim_returns_idle_chunks)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 64 * KIB);
	char *a = get(pool, 64 * KIB), *b = get(pool, 64 * KIB), *c = get(pool, KIB);
	CHECK_INT(d.chunks, 2); /* that of b has room for c */
	put(pool, b);
	put(pool, c);
	CHECK_OK(tl_memory_pool_trim(pool));
	CHECK_INT(d.chunks, 1);
	CHECK_INT(pool_stats(pool).reserved, 64 * KIB);
	put(pool, a);
	CHECK_OK(tl_memory_pool_trim(pool));
	CHECK_INT(pool_stats(pool).reserved, 0);
	CHECK_INT(pool_stats(pool).largest_free_block, 0);
	put(pool, get(pool, KIB));
	CHECK_INT(d.chunks, 1);
	device_end(&d, pool);
}

TEST(a_limit_bounds_what_is_reserved)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 64 * KIB);
	char *a = get(pool, 64 * KIB), *b;
	CHECK_OK(tl_memory_pool_set_limit(pool, 128 * KIB));
	CHECK_REFUSED(tl_memory_pool_allocate(pool, 65 * KIB), 0, TL_E_LIMIT);
	CHECK_INT(d.calls, 1);
	b = get(pool, 60 * KIB); /* twice would pass the limit */
	CHECK_INT(pool_stats(pool).reserved, 124 * KIB);
	put(pool, a);
	a = get(pool, 68 * KIB); /* the idle chunk makes room */
	CHECK_INT(pool_stats(pool).reserved, 128 * KIB);
	CHECK_OK(tl_memory_pool_set_limit(pool, 1));
	CHECK_INT(pool_stats(pool).reserved, 128 * KIB);
	put(pool, b);
	CHECK_OK(tl_memory_pool_set_limit(pool, 1));
	CHECK_INT(pool_stats(pool).reserved, 68 * KIB);
	CHECK_OK(tl_memory_pool_set_limit(pool, 0));
	put(pool, get(pool, MIB));
	put(pool, a);
	device_end(&d, pool);
}

TEST(statistics_know_their_size)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, 64 * KIB);
	tl_memory_pool_stats stats;
	char* block = get(pool, 100);
	memset(&stats, 0x55, sizeof stats);
	stats.struct_size = 16;
	CHECK_OK(tl_memory_pool_stats_get(pool, &stats));
	CHECK_INT(stats.total_allocated, 128);
	CHECK_INT(stats.total_freed, 0x5555555555555555);
	stats.struct_size = 0;
	CHECK_FAILS(tl_memory_pool_stats_get(pool, &stats), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_stats_get(pool, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_stats_get(NULL, &stats), TL_E_INVALID_ARGUMENT);
	put(pool, block);
	device_end(&d, pool);
}

TEST(a_pool_with_live_blocks_is_not_destroyed)
{
	device d = {.access = PROT_READ | PROT_WRITE};
	tl_memory_pool* pool = device_pool(&d, 64 * KIB);
	char* block = get(pool, 100);
	CHECK_FAILS(tl_memory_pool_destroy(pool), TL_E_BUSY);
	CHECK(strstr(tl_last_error(), "blocks are live: 1, of 128 bytes in all; ") != NULL);
	memset(block, 1, 100);
	put(pool, block);
	device_end(&d, pool);
	CHECK_OK(tl_memory_pool_destroy(NULL));
}

static tl_memory_pool* inside_pool;

static void call_back(void)
{
	tl_memory_pool_stats stats = {.struct_size = sizeof stats};
	CHECK_STATUS(tl_memory_pool_stats_get(inside_pool, &stats), TL_E_BUSY);
}

TEST(an_allocator_cannot_call_back)
{
	device d = {0};
	inside_pool = device_pool(&d, 64 * KIB);
	d.during = call_back;
	put(inside_pool, get(inside_pool, MIB));
	CHECK_INT(d.calls, 2);
	device_end(&d, inside_pool);
}

int main(void) { return check_tests(); }
