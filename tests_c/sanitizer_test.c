/* With TL_DEBUG the program's AddressSanitizer knows what of the runtime's memory it may not touch. Built with it. */
#include <sanitizer/asan_interface.h>

#include "check.h"

/* Whether the program may touch so many bytes, and not the one behind them. */
static bool ends_at(const void* memory, size_t bytes)
{
	return __asan_region_is_poisoned((void*)(uintptr_t)memory, bytes) == NULL &&
	       __asan_address_is_poisoned((const char*)memory + bytes);
}

static bool is_closed(const void* memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!__asan_address_is_poisoned((const char*)memory + i)) return false;
	return true;
}

TEST(objects_end_where_they_were_asked_to)
{
	for (size_t bytes = 1; bytes <= 1 << 20; bytes = bytes * 3 / 2 + 1) {
		char* object = tl_mem_alloc(bytes);
		CHECK(ends_at(object, bytes));
		object = tl_mem_realloc(object, bytes + 5);
		CHECK(ends_at(object, bytes + 5));
		CHECK_OK(tl_ptr_release(object));
		CHECK(is_closed(object, bytes + 5));
	}
}

/* What has waited long enough is memory for anybody. */
TEST(the_quarantine_opens_what_it_lets_go)
{
	enum { BYTES = 1 << 20, COUNT = 64 }; /* more than TL_QUARANTINE */
	static char* ended[COUNT];
	for (int i = 0; i < COUNT; i++) {
		ended[i] = tl_mem_alloc(BYTES);
		CHECK_OK(tl_ptr_release(ended[i]));
	}
	CHECK(is_closed(ended[COUNT - 1], BYTES));
	CHECK(__asan_region_is_poisoned(ended[0], BYTES) != ended[0]);
	char* large = tl_mem_alloc(20 << 20);
	CHECK_OK(tl_ptr_release(large)); /* which does not wait */
	CHECK(!__asan_address_is_poisoned(large));
}

TEST(blocks_of_pools)
{
	tl_memory_pool* pool;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &pool));
	char *block = tl_memory_pool_allocate(pool, 1000), *other = tl_memory_pool_allocate(pool, 64), *again;
	CHECK(ends_at(block, 1000));
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK(is_closed(block, 1000) && !__asan_address_is_poisoned(other));
	again = tl_memory_pool_allocate_async(pool, 1000, NULL);
	CHECK_PTR(again, block);
	CHECK(__asan_region_is_poisoned(again, 1024) == NULL); /* work of a stream may write to all of it */
	CHECK_OK(tl_memory_pool_deallocate_async(pool, again, NULL));
	again = tl_memory_pool_allocate(pool, 3);
	CHECK(ends_at(again, 3));
	CHECK_OK(tl_memory_pool_reset(pool));
	CHECK(is_closed(again, 3) && is_closed(other, 64));
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK(__asan_region_is_poisoned(again, 3) == NULL && __asan_region_is_poisoned(other, 64) == NULL);
}

int main(void)
{
	setenv("TL_DEBUG", "1", 1);
	return check_tests();
}
