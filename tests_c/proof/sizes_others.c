/* Functions whose size is one of something else, or of memory that is there. */
#include "sizes.h"

/* Room for so many elements is there: the table does not move, and every element stays. */
static void vec_of(size_t elements, void* element)
{
	void* vec = tl_vec_new(elements);
	CHECK(vec != NULL);
	tl_stats before = {.struct_size = sizeof before}, after = before;
	CHECK_OK(tl_stats_get(&before));
	for (size_t i = 0; i < elements; i++) CHECK_OK(tl_vec_push(vec, element));
	CHECK_OK(tl_stats_get(&after));
	CHECK_INT(after.live_bytes, before.live_bytes);
	CHECK_OK(tl_vec_reserve(vec, elements + 1));
	for (size_t i = 0; i < elements; i++) CHECK_PTR(tl_vec_get(vec, (int64_t)i), element);
	CHECK_OK(tl_mem_unregister(vec));
	CHECK_OK(tl_ptr_release(vec));
}

/* Slots of a function are empty, and apart from what comes behind them. */
static void function_of(size_t slots)
{
	CHECK_OK(tl_mem_function_enter((int64_t)slots));
	char* last = tl_mem_get_buffer((int64_t)slots - 1, 64);
	memset(last, 0x5A, 64);
	if (slots > 1) memset(tl_mem_get_buffer(0, 64), 0xA5, 64);
	CHECK_PTR(tl_mem_get_buffer((int64_t)slots - 1, 64), last);
	CHECK_INT(last[0], 0x5A);
	CHECK_INT(last[63], 0x5A);
	CHECK_OK(tl_mem_function_exit());
}

/* A pool of so many bytes gives them out as one block. */
static void pool_of(size_t bytes)
{
	tl_memory_pool* whole = NULL;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(TL_DEVICE_CPU), bytes, &whole));
	char* all = tl_memory_pool_allocate(whole, bytes);
	CHECK(all != NULL);
	memset(all, 0x11, bytes);
	tl_memory_pool_stats stats = {.struct_size = sizeof stats};
	CHECK_OK(tl_memory_pool_stats_get(whole, &stats));
	CHECK_INT(stats.num_device_allocations, 1);
	CHECK_OK(tl_memory_pool_deallocate(whole, all));
	CHECK_OK(tl_memory_pool_destroy(whole));
}

/* An arena of so many bytes has them, and not one more. */
static void arena_of(size_t bytes)
{
	int64_t before = tl_arena_get_capacity();
	CHECK_OK(tl_arena_init((int64_t)bytes));
	char* all = tl_arena_alloc((int64_t)bytes);
	CHECK(all != NULL);
	memset(all, 0x22, bytes);
	CHECK_REFUSED(tl_arena_alloc(1), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_OK(tl_arena_reset());
	CHECK_OK(tl_arena_init(before));
}

/* Offsets of a plan leave every buffer its bytes. */
static void plan_of(size_t bytes)
{
	const tl_plan_buffer two = {.bytes = bytes, .alignment = 64, .first = 0, .end = 1};
	tl_plan* plan = NULL;
	CHECK_OK(tl_plan_create(&plan));
	CHECK_INT(tl_plan_add_buffer(plan, bytes, 64, 0, 1), 0);
	CHECK_INT(tl_plan_add_buffers(plan, &two, 1), 1);
	CHECK_OK(tl_plan_solve(plan, 0));
	size_t first = tl_plan_offset(plan, 0), second = tl_plan_offset(plan, 1);
	CHECK(first < second ? second - first >= bytes : first - second >= bytes);
	CHECK(tl_plan_frame_bytes(plan) >= 2 * bytes && tl_plan_frame_bytes(plan) < 2 * bytes + 128);
	CHECK_OK(tl_plan_destroy(plan));
}

/* ---- memory that is there ---------------------------------------------------------------- */

enum { MARGIN = 64 };

/* Memory of malloc with so many bytes in its middle, and whether nothing around them changed. */
static char* with_margins(size_t bytes)
{
	char* memory = malloc(bytes + 2 * MARGIN);
	memset(memory, 0x33, bytes + 2 * MARGIN);
	return memory + MARGIN;
}

static void end_margins(char* middle, size_t bytes)
{
	for (size_t i = 0; i < MARGIN; i++) {
		CHECK_INT(middle[(ptrdiff_t)i - MARGIN], 0x33);
		CHECK_INT(middle[bytes + i], 0x33);
	}
	free(middle - MARGIN);
}

static void filled_and_copied(size_t bytes)
{
	char *from = with_margins(bytes), *to = with_margins(bytes);
	CHECK_OK(tl_device_fill(TL_DEVICE_CPU, from, 0x44, bytes));
	CHECK_OK(tl_device_copy(TL_DEVICE_CPU, to, TL_DEVICE_CPU, from, bytes));
	CHECK_INT(from[0], 0x44);
	CHECK_INT(memcmp(from, to, bytes), 0);
	CHECK_INT(memcmp(from, from + 1, bytes - 1), 0);
	end_margins(from, bytes);
	end_margins(to, bytes);
}

/* Texts fill the buffer up to its last byte, which is zero. */
static void text_in(size_t (*write)(char*, size_t), size_t bytes)
{
	char* buffer = with_margins(bytes);
	size_t length = write(buffer, bytes), end = length < bytes ? length : bytes - 1;
	CHECK(length > 0);
	CHECK_INT(strlen(buffer), end);
	end_margins(buffer, bytes);
}

static void deleted(void* memory, void* count)
{
	free(memory);
	++*(int*)count;
}

static void is_registered(void* memory, size_t bytes)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_registry_info(memory, &info));
	CHECK_INT(info.bytes, bytes);
	CHECK_OK(tl_registry_unregister(memory));
}

/* So many bytes are registered, and the last of them may have a name. */
static void registered(size_t bytes)
{
	uint64_t id;
	int deletions = 0;
	char* memory = malloc(bytes);
	void *last = memory + bytes - 1, *many = malloc(bytes);
	CHECK_OK(tl_registry_register_buffer(memory, bytes, &last, bytes > 1, TL_ALLOC_MALLOC, &id));
	if (bytes > 1) CHECK_OK(tl_registry_unregister(last));
	is_registered(memory, bytes);
	CHECK_OK(tl_registry_register(memory = malloc(bytes), bytes, TL_ALLOC_MALLOC));
	is_registered(memory, bytes);
	CHECK_OK(tl_registry_register_custom(memory = malloc(bytes), bytes, deleted, &deletions));
	is_registered(memory, bytes);
	CHECK_INT(deletions, 1);
	last = (memory = malloc(bytes)) + bytes - 1;
	CHECK_OK(tl_registry_register_custom_buffer(memory, bytes, &last, bytes > 1, deleted, &deletions, NULL));
	if (bytes > 1) CHECK_OK(tl_registry_unregister(last));
	is_registered(memory, bytes);
	CHECK_INT(deletions, 2);
	CHECK_OK(tl_registry_register_many(&many, &bytes, 1, TL_ALLOC_MALLOC));
	is_registered(many, bytes);
}

void sizes_of_others(size_t bytes)
{
	void* element = tl_mem_new(32);
	vec_of((bytes + 7) / 8, element);
	function_of((bytes + 15) / 16);
	pool_of(bytes);
	arena_of(bytes);
	plan_of(bytes);
	filled_and_copied(bytes);
	text_in(tl_stats_json, bytes);
	text_in(tl_stats_openmetrics, bytes);
	text_in(tl_config_dump, bytes);
	registered(bytes);
}
