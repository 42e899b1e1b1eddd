/* Memory pools whose device, or whose tables, fail: at every call of a scenario, once
 * and from there on. Every call succeeds or says why, nothing leaks, the retry works. */
#include "check.h"
#include "device.h"

enum { KIB = 1024, BLOCKS = 3000 };

static int refused;

/* What an allocation may say when memory is short. */
static char* try_get(tl_memory_pool* pool, size_t bytes)
{
	char* block = tl_memory_pool_allocate(pool, bytes);
	if (block == NULL) {
		refused++;
		CHECK_STATUS(tl_last_status(), TL_E_OUT_OF_MEMORY);
	}
	return block;
}

/* A failure must leave the counters as they were, but for chunks that were trimmed in
 * the search for memory. */
static char* get_or_unchanged(tl_memory_pool* pool, size_t bytes)
{
	tl_memory_pool_stats before = pool_stats(pool), after;
	char* block = try_get(pool, bytes);
	if (block != NULL) return block;
	after = pool_stats(pool);
	CHECK_INT(after.num_allocations, before.num_allocations);
	CHECK_INT(after.current_usage, before.current_usage);
	CHECK_INT(after.num_device_allocations, before.num_device_allocations);
	CHECK(after.reserved <= before.reserved);
	return NULL;
}

static void put_if(tl_memory_pool* pool, char* block)
{
	if (block != NULL) CHECK_OK(tl_memory_pool_deallocate(pool, block));
}

/* Growth of chunks in several sizes, with idle chunks to trim, and of tables. */
static void grow_and_shrink(tl_memory_pool* pool)
{
	static char* blocks[BLOCKS];
	char* chunks[8];
	for (int i = 0; i < 8; i++) chunks[i] = get_or_unchanged(pool, (size_t)(100 + 60 * i) * KIB);
	for (int i = 0; i < 8; i += 2) put_if(pool, chunks[i]);
	char* large = get_or_unchanged(pool, 900 * KIB);
	for (int i = 0; i < BLOCKS; i++) blocks[i] = try_get(pool, 64 + (size_t)(i % 5) * 64);
	CHECK_OK(tl_memory_pool_trim(pool));
	for (int i = 0; i < BLOCKS; i++) put_if(pool, blocks[i]);
	put_if(pool, large);
	for (int i = 1; i < 8; i += 2) put_if(pool, chunks[i]);
}

/* The whole life of a pool over d; after whatever went wrong, `repair` and it works. */
static void live(device* d, void (*repair)(device*))
{
	tl_memory_pool* pool = NULL;
	tl_device_allocator a = device_allocator(d, 64);
	tl_status status = tl_memory_pool_create(&a, 64 * KIB, &pool);
	refused = 0;
	if (status == TL_OK) {
		grow_and_shrink(pool);
	} else {
		refused++;
		CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
		CHECK_INT(d->chunks, 0);
	}
	int before = refused;
	repair(d);
	if (pool == NULL) CHECK_OK(tl_memory_pool_create(&a, 64 * KIB, &pool));
	grow_and_shrink(pool);
	CHECK_INT(refused, before);
	CHECK_INT(pool_stats(pool).current_usage, 0);
	device_end(d, pool);
}

static void repair_device(device* d) { d->fail_at = d->fail_from = 0; }

static int calls_of_the_scenario(void)
{
	device d = {0};
	live(&d, repair_device);
	CHECK_INT(refused, 0);
	return d.calls;
}

TEST(the_device_fails_at_each_call)
{
	int calls = calls_of_the_scenario(), failures = 0;
	CHECK(calls > 8);
	for (int k = 1; k <= calls; k++) {
		device once = {.fail_at = k}, on = {.fail_from = k};
		live(&once, repair_device);
		live(&on, repair_device);
		failures += refused;
	}
	CHECK(failures > calls);
}

static void repair_system(device* d)
{
	(void)d;
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
}

/* The pool's own tables: every call for memory to the system is refused in turn. */
TEST(the_system_fails_at_each_call)
{
	int n = 0, last = 1;
	for (; n < 1000 && last != 0; n++) {
		char text[16];
		device d = {0};
		snprintf(text, sizeof text, "%d", n);
		CHECK_OK(tl_configure("TL_FAIL_MEMORY", text));
		live(&d, repair_system);
		last = refused;
	}
	CHECK(n > 4);
	CHECK_INT(last, 0);
}

int main(void)
{
	CHECK_OK(tl_init());
	return check_tests();
}
