/* Section Limits: what is counted, what a limit does, and in which order memory is found. */
#include "device.h"
#include "memory.h"
#include "thread.h"

TEST(spans_and_chunks_are_counted)
{
	uint64_t cpu = reserved(0), all = reserved(TL_MEM_TOTAL), own = reserved(TL_MEM_OWN_ALLOCATORS);
	void* object = tl_mem_alloc(3 * MIB);
	device d = {0};
	tl_memory_pool *pool = device_pool(&d, MIB), *of_cpu = NULL;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 2 * MIB, &of_cpu));
	CHECK_INT(reserved(0) - cpu, 5 * MIB);
	CHECK_INT(reserved(TL_MEM_OWN_ALLOCATORS) - own, MIB);
	CHECK_INT(reserved(TL_MEM_TOTAL) - all, 6 * MIB);
	CHECK(usage(0).largest_free_block >= 2 * MIB);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_memory_pool_destroy(of_cpu));
	device_end(&d, pool);
	CHECK_INT(reserved(0), cpu);
	CHECK_INT(reserved(TL_MEM_TOTAL), all);
	CHECK(usage(0).peak >= cpu + 5 * MIB);
}

TEST(limits_are_set_and_told)
{
	uint64_t soft = 1, hard = 1;
	CHECK_FAILS(tl_mem_set_limit(99, 0, 0), TL_E_DEVICE);
	CHECK_FAILS(tl_mem_set_limit(-3, 0, 0), TL_E_DEVICE);
	CHECK_FAILS(tl_mem_set_limit(INT32_MAX, 0, 0), TL_E_DEVICE);
	CHECK_FAILS(tl_mem_set_limit(INT32_MIN, 0, 0), TL_E_DEVICE);
	CHECK_FAILS(tl_mem_set_limit(0, 2, 1), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_mem_get_limit(0, &soft, &hard));
	CHECK_INT(soft + hard, 0);
	CHECK_OK(tl_mem_set_limit(0, 5 * MIB, UINT64_MAX));
	CHECK_OK(tl_mem_get_limit(0, &soft, &hard));
	CHECK(soft == 5 * MIB && hard == UINT64_MAX && usage(0).soft_limit == soft && usage(0).hard_limit == hard);
	CHECK_FAILS(tl_mem_get_limit(99, &soft, &hard), TL_E_DEVICE);
	CHECK_FAILS(tl_mem_get_limit(0, NULL, &hard), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_get_limit(0, &soft, (uint64_t*)8), TL_E_INVALID_ARGUMENT);
	no_limits();
}

TEST(figures_are_filled_in_as_far_as_known)
{
	struct {
		size_t struct_size;
		uint64_t in_use, beyond;
	} some = {16, 7, 99};
	CHECK_FAILS(tl_mem_usage(99, (tl_mem_usage_info*)(void*)&some), TL_E_DEVICE);
	CHECK_FAILS(tl_mem_usage(0, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_mem_usage(0, (tl_mem_usage_info*)(void*)&some));
	CHECK_INT(some.beyond, 99);
	some.struct_size = 8;
	CHECK_FAILS(tl_mem_usage(0, (tl_mem_usage_info*)(void*)&some), TL_E_INVALID_ARGUMENT);
}

TEST(options_set_limits_at_any_time)
{
	uint64_t soft, hard;
	char dump[8192] = "";
	CHECK_OK(tl_configure("TL_MEM_LIMIT", "1GiB,cpu:0=512MiB,own=1MiB,cuda:0=20GiB,npu=1MiB"));
	CHECK(tl_config_dump(dump, sizeof dump) < sizeof dump);
	CHECK(strstr(dump, "\n# TL_MEM_LIMIT: no device npu:0 is known so far\n") != NULL);
	CHECK(strstr(dump, "no device cpu") == NULL);
	CHECK_OK(tl_configure("TL_MEM_SOFT_LIMIT", "cpu=100MiB"));
	CHECK_OK(tl_mem_get_limit(TL_MEM_TOTAL, &soft, &hard));
	CHECK(soft == 0 && hard == 1024 * (uint64_t)MIB);
	CHECK_OK(tl_mem_get_limit(0, &soft, &hard));
	CHECK(soft == 100 * MIB && hard == 512 * MIB);
	CHECK_OK(tl_mem_get_limit(TL_MEM_OWN_ALLOCATORS, &soft, &hard));
	CHECK_INT(hard, MIB);
	CHECK_FAILS(tl_configure("TL_MEM_LIMIT", "lots"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_MEM_LIMIT", "1,5GiB"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_MEM_LIMIT", "cpuu=1GiB"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_TENSOR_POOL", "lots"), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_configure("TL_MEM_LIMIT", ""));
	CHECK_OK(tl_configure("TL_MEM_SOFT_LIMIT", ""));
	CHECK_OK(tl_mem_get_limit(0, &soft, &hard));
	CHECK_INT(soft + hard, 0);
}

/* Every way to memory of the heap, at a limit that leaves none. */
TEST(everything_that_allocates_says_so)
{
	int64_t shape = 5 * MIB;
	tl_type type;
	tl_type_desc desc = {.name = "large", .size = 9 * MIB};
	CHECK_OK(tl_type_define(&desc, &type));
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	void* object = tl_mem_new(4 * MIB);
	leave_room(0, MIB);
	CHECK_REFUSED(tl_mem_alloc(4 * MIB), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_mem_new(4 * MIB), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_mem_new_zeroed(4 * MIB), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_alloc_tmp(4 * MIB), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_mem_realloc(object, 8 * MIB), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_object_new(type), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_vec_new(MIB), 0, TL_E_LIMIT);
	CHECK_FAILS(tl_vec_reserve(vec, MIB), TL_E_LIMIT);
	CHECK_REFUSED(tl_mem_deep_clone(object), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 0, 1, &shape), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &shape), 0, TL_E_LIMIT);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_set_limit(0, 0, 0));
	CHECK(tl_mem_new(4 * MIB) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	no_limits();
}

/* Small objects come in slabs; what contexts have in magazines they may use up. */
TEST(small_objects_stop_as_well)
{
	void **newest = NULL, **object;
	long count = 0;
	leave_room(TL_MEM_TOTAL, MIB);
	while ((object = tl_mem_alloc(64)) != NULL) {
		*object = newest;
		newest = object;
		count++;
	}
	CHECK_STATUS(tl_last_status(), TL_E_LIMIT);
	CHECK(count * 64 > MIB / 2 && count * 64 < 3 * MIB);
	CHECK(says("64 B requested of cpu"));
	while ((object = newest) != NULL) {
		newest = *object;
		CHECK_OK(tl_ptr_release(object));
	}
	no_limits();
}

TEST(the_message_has_every_figure)
{
	static const char* const parts[] = {
		"tl_mem_alloc: TL_E_LIMIT: 32 MiB requested of cpu (more than a limit allows)",
		"; in use ",
		", cached ",
		", reserved ",
		", largest free block ",
		"; limit ",
		", in all ",
		"; device free ",
		" of ",
		"; largest keys (5000000, u8) x 2 = ",
		"(1000, u8) x 3 = ",
	};
	keep_tensors(2, 5000000);
	keep_tensors(3, 1000);
	CHECK_OK(tl_mem_set_limit(0, 0, 31 * MIB));
	CHECK_OK(tl_mem_set_limit(TL_MEM_TOTAL, 0, 100 * MIB));
	CHECK_REFUSED(tl_mem_alloc(32 * MIB), 0, TL_E_LIMIT);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) CHECK(says(parts[i]));
	CHECK(strlen(tl_last_error()) < 511);
	no_limits();
}

TEST(the_message_of_a_pool_has_them_too)
{
	device d = {.fail_from = 2};
	tl_memory_pool *pool = device_pool(&d, MIB), *of_cpu = NULL;
	char* block = tl_memory_pool_allocate(pool, 24 * KIB);
	CHECK_REFUSED(tl_memory_pool_allocate(pool, 2 * MIB), 0, TL_E_OUT_OF_MEMORY);
	CHECK(says("tl_memory_pool_allocate: TL_E_OUT_OF_MEMORY: 2.0 MiB requested of an allocator (test device has no "
	           "2097152 bytes)"));
	CHECK(says("; in use 24 KiB, cached 1000 KiB, reserved 1.0 MiB, largest free block 1000 KiB; "));
	CHECK(says("; limit none; device free unknown; largest keys "));
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	device_end(&d, pool);
	leave_room(0, MIB);
	CHECK_FAILS(tl_memory_pool_create(tl_device_allocator_for(0), 2 * MIB, &of_cpu), TL_E_LIMIT);
	CHECK(says("2.0 MiB requested of cpu") && says("largest free block") && says("device free"));
	no_limits();
}

/* Which stage gives how much: tensors before chunks, and no more than needed. */
TEST(caches_give_in_order)
{
	device d = {0};
	void* objects[3];
	no_limits();
	keep_tensors(8, 2 * MIB);
	tl_memory_pool* pool = device_pool(&d, 4 * MIB);
	CHECK_INT(tl_get_pool_count(), 8);
	leave_room(TL_MEM_TOTAL, 0);
	objects[0] = tl_mem_alloc(3 * MIB);
	CHECK(objects[0] != NULL);
	CHECK_INT(tl_get_pool_count(), 6);
	CHECK_INT(d.chunks, 1);
	objects[1] = tl_mem_alloc(12 * MIB);
	CHECK(objects[1] != NULL);
	CHECK_INT(tl_get_pool_count(), 0);
	CHECK_INT(d.chunks, 1);
	objects[2] = tl_mem_alloc(4 * MIB);
	CHECK(objects[2] != NULL);
	CHECK_INT(d.chunks, 0);
	uint64_t failed = usage(TL_MEM_TOTAL).failed;
	CHECK_REFUSED(tl_mem_alloc(4 * MIB), 0, TL_E_LIMIT);
	CHECK_INT(usage(TL_MEM_TOTAL).failed, failed + 1);
	CHECK(usage(0).relieved >= 4);
	for (int i = 0; i < 3; i++) CHECK_OK(tl_ptr_release(objects[i]));
	device_end(&d, pool);
	no_limits();
}

TEST(what_no_cache_can_help_empties_none)
{
	device d = {0};
	tl_memory_pool* pool = device_pool(&d, MIB);
	no_limits();
	keep_tensors(3, MIB);
	uint64_t before = reserved(TL_MEM_TOTAL);
	CHECK_REFUSED(tl_mem_alloc(SIZE_MAX), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_mem_alloc((size_t)1 << 47), 0, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_mem_set_limit(TL_MEM_TOTAL, 0, 1024 * (uint64_t)MIB));
	CHECK_REFUSED(tl_mem_alloc((size_t)1025 * MIB), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_memory_pool_allocate(pool, (size_t)1025 * MIB), 0, TL_E_LIMIT);
	CHECK_INT(tl_get_pool_count(), 3);
	CHECK_INT(reserved(TL_MEM_TOTAL), before);
	device_end(&d, pool);
	no_limits();
}

/* A device that has no more gets its own pools' chunks back, not other memory. */
TEST(a_refusing_device_is_helped_by_its_own_pools)
{
	device d = {0}, other = {0};
	tl_memory_pool *idle = device_pool(&d, MIB), *pool = device_pool(&d, MIB), *apart = device_pool(&other, MIB);
	char* block = tl_memory_pool_allocate(pool, MIB);
	keep_tensors(2, MIB);
	d.fail_from = d.calls + 1;
	CHECK_REFUSED(tl_memory_pool_allocate(pool, MIB), 0, TL_E_OUT_OF_MEMORY);
	CHECK_INT(pool_stats(idle).reserved, 0);
	CHECK_INT(pool_stats(apart).reserved, MIB);
	CHECK(tl_get_pool_count() >= 2);
	d.fail_from = 0;
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_OK(tl_memory_pool_destroy(idle));
	device_end(&d, pool);
	device_end(&other, apart);
	no_limits();
}

TEST(a_soft_limit_empties_caches_and_fails_nothing)
{
	no_limits();
	keep_tensors(4, MIB);
	CHECK_OK(tl_mem_set_limit(0, reserved(0) + MIB, 0));
	CHECK_INT(tl_get_pool_count(), 4);
	uint64_t failed = usage(0).failed, relieved = usage(0).relieved;
	void* object = tl_mem_alloc(8 * MIB);
	CHECK(object != NULL);
	CHECK_INT(tl_get_pool_count(), 0);
	CHECK_INT(usage(0).failed, failed);
	CHECK_INT(usage(0).relieved, relieved + 1);
	keep_tensors(1, MIB);
	CHECK_INT(tl_get_pool_count(), 0); /* near a limit nothing new is kept */
	CHECK_OK(tl_ptr_release(object));
	no_limits();
	keep_tensors(1, MIB);
	CHECK_INT(tl_get_pool_count(), 1);
}

TEST(a_limit_below_the_use_trims_and_waits)
{
	void *object = tl_mem_alloc(8 * MIB), *more;
	keep_tensors(4, MIB);
	CHECK_OK(tl_mem_set_limit(0, 0, 4 * MIB));
	CHECK_INT(tl_get_pool_count(), 0);
	uint64_t live = reserved(0);
	CHECK(live >= 8 * MIB);
	CHECK_REFUSED(tl_mem_alloc(MIB), 0, TL_E_LIMIT);
	CHECK_OK(tl_ptr_release(object));
	more = tl_mem_alloc(MIB);
	CHECK(more != NULL);
	CHECK_OK(tl_ptr_release(more));
	no_limits();
}

TEST(the_pool_of_tensors_has_limits_of_its_own)
{
	tl_pool_key_stats key = {.struct_size = sizeof key};
	no_limits();
	keep_tensors(40, 1000);
	CHECK_INT(tl_get_pool_count(), 32);
	CHECK_OK(tl_pool_set_limits(200, 64 * MIB));
	keep_tensors(118, 1000);
	keep_tensors(60, 5000);
	CHECK_INT(tl_get_pool_count(), 210);
	CHECK_OK(tl_pool_key_stats_get(0, &key));
	CHECK(key.elements == 5000 && key.tensors == 60 && key.dtype == TL_DTYPE_U8 && key.device == 0 &&
	      key.bytes >= 300000);
	CHECK_OK(tl_pool_key_stats_get(1, &key));
	CHECK(key.elements == 1000 && key.tensors == 150);
	CHECK_OK(tl_pool_key_stats_get(2, &key));
	CHECK_INT(key.tensors, 0);
	CHECK_OK(tl_pool_set_limits(5, 64 * MIB));
	CHECK_INT(tl_get_pool_count(), 10);
	CHECK_OK(tl_pool_set_limits(5, 0));
	CHECK_INT(tl_get_pool_count(), 0);
	keep_tensors(3, 1000);
	CHECK_INT(tl_get_pool_count(), 0);
	CHECK_OK(tl_configure("TL_TENSOR_POOL", "7,1MiB"));
	keep_tensors(9, 1000);
	CHECK_INT(tl_get_pool_count(), 7);
	CHECK_FAILS(tl_pool_set_limits(1025, MIB), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_pool_set_limits(SIZE_MAX, SIZE_MAX), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_pool_key_stats_get(0, NULL), TL_E_INVALID_ARGUMENT);
	key.struct_size = 3;
	CHECK_FAILS(tl_pool_key_stats_get(0, &key), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_pool_set_limits(32, 256 * MIB));
	no_limits();
}

/* The system refuses at every call in turn: a status, nothing leaks, the retry works. */
TEST(the_system_fails_at_each_call)
{
	int refused = 1;
	for (int n = 0; refused != 0 && n < 500; n++) {
		char text[16];
		device d = {0};
		tl_memory_pool* pool = NULL;
		refused = 0;
		no_limits();
		keep_tensors(2, MIB);
		uint64_t before = reserved(TL_MEM_TOTAL);
		leave_room(TL_MEM_TOTAL, 70 * MIB);
		snprintf(text, sizeof text, "%d", n);
		CHECK_OK(tl_configure("TL_FAIL_MEMORY", text));
		void* object = tl_mem_alloc((size_t)(33 + 4 * n) * MIB % (60 * MIB) + MIB);
		if (object == NULL) {
			refused++;
			CHECK_STATUS(tl_last_status(), TL_E_OUT_OF_MEMORY);
			CHECK(says("the system or TL_HEAP_RESERVE refuses them") && says("; largest keys "));
		}
		tl_device_allocator a = device_allocator(&d, 64);
		tl_status status = tl_memory_pool_create(&a, MIB, &pool);
		if (status != TL_OK) {
			refused++;
			CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
		}
		CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
		if (object == NULL) object = tl_mem_alloc(MIB);
		if (pool == NULL) CHECK_OK(tl_memory_pool_create(&a, MIB, &pool));
		void* block = tl_memory_pool_allocate(pool, 64);
		CHECK(object != NULL && block != NULL);
		CHECK_OK(tl_ptr_release(object));
		CHECK_OK(tl_memory_pool_deallocate(pool, block));
		device_end(&d, pool);
		CHECK(reserved(TL_MEM_TOTAL) <= before);
	}
	CHECK_INT(refused, 0);
	no_limits();
}

THREAD(work_at_the_limit, failures)
{
	for (int i = 0; i < 3000; i++) {
		void* object = tl_mem_alloc((size_t)(1 + i % 9) * 40 * KIB);
		if (object == NULL) {
			CHECK_STATUS(tl_last_status(), TL_E_LIMIT);
			__atomic_add_fetch((int*)failures, 1, __ATOMIC_RELAXED);
			continue;
		}
		CHECK_OK(tl_ptr_release(object));
		int64_t elements = 100 * KIB + i % 16;
		CHECK_OK(tl_mem_enter_scope());
		if (tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &elements) == NULL)
			CHECK_STATUS(tl_last_status(), TL_E_LIMIT);
		CHECK_OK(tl_mem_exit_scope());
	}
}

TEST(threads_meet_the_limit)
{
	pthread_t threads[4];
	int failures = 0;
	no_limits();
	leave_room(TL_MEM_TOTAL, MIB);
	uint64_t most = usage(TL_MEM_TOTAL).hard_limit;
	for (int i = 0; i < 4; i++) threads[i] = start_thread(work_at_the_limit, &failures);
	for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	CHECK(reserved(TL_MEM_TOTAL) <= most);
	CHECK(failures < 12000);
	printf("%d requests of 12000 failed at the limit\n", failures);
	no_limits();
}

int main(void) { return check_tests(); }
