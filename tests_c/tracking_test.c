/* Tracking: sites, samples, tags, and what is told of an allocation. */
#define TL_TRACK_ALLOCATIONS
#include <pthread.h>

#include "check.h"

static tl_alloc_info info_of(const void* pointer)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_mem_allocation_info(pointer, &info));
	return info;
}

static void track(const char* value) { CHECK_OK(tl_configure("TL_TRACK", value)); }

/* The program's function that a stack leads to, past the library's own frames. */
static bool passes(const tl_alloc_info* info, uintptr_t function, size_t length)
{
	for (uint64_t i = 0; i < info->frames; i++)
		if ((uintptr_t)info->stack[i] - function < length) return true;
	return false;
}

OWN_FRAME static void* allocate(size_t bytes)
{
	void* p = (tl_mem_alloc)(bytes);
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is looked for */
	return p;
}

static void an_allocation_has_a_stack_time_thread_and_size(void)
{
	track("1");
	uint64_t before = *tl_track_count();
	void* p = allocate(40);
	tl_alloc_info info = info_of(p);
	CHECK_INT(info.bytes, 40);
	CHECK_INT(info.count, 1);
	CHECK(info.block == p);
	CHECK_INT(info.number, before + 1);
	CHECK_INT(info.thread, gettid());
	CHECK(info.time / 1000000000 - (uint64_t)time(NULL) + 60 < 120);
	CHECK(passes(&info, (uintptr_t)allocate, 200));
	CHECK(passes(&info, (uintptr_t)an_allocation_has_a_stack_time_thread_and_size, 4000));
	CHECK(info.file == NULL && info.tag == NULL);
	CHECK_OK(tl_mem_free(p));
	track("0");
}

static void nothing_is_recorded_when_it_is_off(void)
{
	uint64_t before = *tl_track_count();
	void* p = allocate(40);
	tl_alloc_info info = info_of(p);
	CHECK_INT(info.number, 0);
	CHECK_INT(info.frames, 0);
	CHECK_INT(*tl_track_count(), before);
	CHECK_OK(tl_mem_free(p));
}

static void a_freed_object_takes_its_record_along(void)
{
	track("1");
	void* p = allocate(64);
	CHECK(info_of(p).number != 0);
	CHECK_OK(tl_mem_free(p));
	track("0");
	void* again = allocate(64);
	CHECK_PTR(again, p);
	CHECK_INT(info_of(again).number, 0);
	CHECK_OK(tl_mem_free(again));
}

static void lines_are_told(void)
{
	track("1");
	void* p = tl_track_site(allocate(40), "model.tl", 12);
	CHECK(strcmp(info_of(p).file, "model.tl") == 0);
	CHECK_INT(info_of(p).line, 12);
	CHECK(info_of(p).frames > 1);
	CHECK_OK(tl_log_alloc(p, 40, "other.tl", 13));
	CHECK(strcmp(info_of(p).file, "other.tl") == 0);
	CHECK_INT(info_of(p).line, 13);
	CHECK_OK(tl_mem_free(p));
	CHECK_PTR(tl_track_site(NULL, "model.tl", 1), NULL);
	CHECK_PTR(tl_track_site(p, "model.tl", 1), p); /* not live: nothing to tell */
	track("0");
}

static void macros_tell_the_line(void)
{
	track("1");
	tl_mem_enter_scope();
	tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, (int64_t[]){2, 3});
	int line = __LINE__ - 1;
	CHECK(strcmp(info_of(t).file, __FILE__) == 0);
	CHECK_INT(info_of(t).line, line);
	t = (tl_tensor_new_zeroed)(TL_DTYPE_F32, 0, 2, (int64_t[]){2, 3});
	CHECK(info_of(t).file == NULL);
	CHECK_OK(tl_mem_exit_scope());
	track("0");
}

static void every_kind_of_memory_is_covered(void)
{
	track("1");
	tl_mem_enter_scope();
	int64_t shape[] = {3, 5};
	tl_type type;
	tl_type_desc description = {"tracked", 48, NULL, 0, NULL, 0};
	CHECK_OK(tl_type_define(&description, &type));
	void* malloced = malloc(100);
	char* buffer = malloc(200);
	void* alias = buffer + 16;
	uint64_t id;
	tl_memory_pool* pool;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &pool));
	CHECK_OK(tl_mem_register_struct(malloced));
	CHECK_OK(tl_registry_register_buffer(buffer, 200, &alias, 1, TL_ALLOC_MALLOC, &id));
	void* array = tl_registry_new_array(10, 8);
	void* block = tl_memory_pool_allocate(pool, 3000);
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, shape);
	void* all[] = {
		tl_mem_new(32), tl_mem_new(1 << 20), tl_object_new(type), tl_vec_new(4), tensor, malloced, buffer, alias, array,
		block};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		tl_alloc_info info = info_of(all[i]);
		if (info.number == 0 || info.frames == 0) fprintf(stderr, "kind %zu is not tracked\n", i);
		CHECK(info.number != 0 && info.frames != 0 && info.time != 0);
	}
	CHECK(strcmp(info_of(all[2]).type, "tracked") == 0);
	CHECK(strcmp(info_of(tensor).type, "tensor") == 0);
	CHECK(info_of(all[0]).type == NULL);
	CHECK_INT(info_of(block).bytes, 3000);
	CHECK_INT(info_of(alias).number, info_of(buffer).number);
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_FAILS(tl_mem_allocation_info(block, &(tl_alloc_info){.struct_size = sizeof(tl_alloc_info)}),
	            TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_registry_unregister(buffer));
	CHECK(info_of(alias).number != 0); /* its block lives on */
	CHECK_OK(tl_registry_unregister(alias));
	CHECK_OK(tl_registry_unregister(array));
	CHECK_OK(tl_mem_exit_scope());
	tl_mem_enter_scope();
	tl_tensor* pooled = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, shape); /* out of the tensor pool */
	CHECK_PTR(pooled, tensor);
	CHECK(info_of(pooled).number != 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_memory_pool_destroy(pool));
	track("0");
}

static void what_nobody_has_registered_is_known(void)
{
	track("1");
	void* aligned = tl_aligned_alloc(100, 256);
	tl_alloc_info info = info_of(aligned);
	CHECK(info.number != 0 && info.frames != 0);
	CHECK_INT(info.bytes, 100);
	CHECK_INT(info.count, 0);
	CHECK_INT(info.kind, TL_ALLOC_ALIGNED);
	CHECK_OK(tl_aligned_free(aligned));
	CHECK_FAILS(tl_mem_allocation_info(aligned, &info), TL_E_UNKNOWN_POINTER);
	track("0");
}

/* What the host had back and a scope takes again may be another block of malloc's. */
static void what_comes_back_from_the_host_is_recorded_anew(void)
{
	track("1");
	CHECK_OK(tl_mem_enter_scope());
	for (int how = 0; how < 2; how++) {
		void* p = malloc(100);
		CHECK_OK(tl_mem_register(p));
		uint64_t number = info_of(p).number;
		CHECK(number != 0);
		CHECK_OK(tl_mem_unregister(p));
		CHECK_OK(how == 0 ? tl_mem_register_ptr(p) : tl_mem_register(p));
		CHECK(info_of(p).number > number);
	}
	CHECK_OK(tl_mem_exit_scope());
	track("0");
}

static void another_size_is_known(void)
{
	track("1");
	void* p = allocate(5000);
	uint64_t number = info_of(p).number;
	CHECK_PTR(tl_mem_realloc(p, 5001), p); /* in place */
	CHECK_INT(info_of(p).bytes, 5001);
	CHECK_INT(info_of(p).number, number);
	p = tl_mem_realloc(p, 20);
	CHECK_INT(info_of(p).bytes, 20);
	CHECK(info_of(p).number > number);
	CHECK_OK(tl_mem_free(p));
	track("0");
}

static void samples_come_by_bytes(void)
{
	enum { OBJECTS = 200000, BYTES = 64, PERIOD = 64 << 10 };
	CHECK_OK(tl_configure("TL_TRACK_SAMPLE", "64KiB"));
	uint64_t before = *tl_track_count();
	for (int i = 0; i < OBJECTS; i++) CHECK_OK(tl_mem_free(tl_mem_alloc(BYTES)));
	double expected = (double)OBJECTS * BYTES / PERIOD; /* about 195, standard deviation 14 */
	double got = (double)(*tl_track_count() - before);
	CHECK(got > expected * 0.6 && got < expected * 1.5);
	int64_t shape[] = {1000};
	before = *tl_track_count();
	for (int i = 0; i < 4000; i++) {
		tl_mem_enter_scope();
		tl_tensor_empty(TL_DTYPE_F32, 0, 1, shape);
		tl_mem_exit_scope();
	}
	expected = 4000.0 * 4192 / PERIOD; /* about 256 */
	got = (double)(*tl_track_count() - before);
	CHECK(got > expected * 0.6 && got < expected * 1.5);
	const tl_stats stats = check_stats();
	CHECK_INT(stats.allocations - stats.frees, stats.live_objects);
	CHECK(stats.allocations >= OBJECTS && stats.allocations < 2 * OBJECTS);
	CHECK_OK(tl_configure("TL_TRACK_SAMPLE", "0"));
	before = *tl_track_count();
	for (int i = 0; i < OBJECTS; i++) CHECK_OK(tl_mem_free(tl_mem_alloc(BYTES)));
	CHECK_INT(*tl_track_count(), before);
}

static void tags_nest_and_end_with_their_scope(void)
{
	track("1");
	CHECK_OK(tl_tag_push("epoch"));
	tl_mem_enter_scope();
	CHECK_OK(tl_tag_push("load"));
	CHECK(strcmp(info_of(tl_mem_new(32)).tag, "epoch/load") == 0);
	CHECK_OK(tl_mem_exit_scope());
	tl_mem_enter_scope(); /* another one in its place */
	CHECK(strcmp(info_of(tl_mem_new(32)).tag, "epoch") == 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_function_enter(3));
	CHECK_OK(tl_tag_push("run"));
	CHECK(tl_mem_get_buffer(2, 64) != NULL);
	CHECK(strcmp(info_of(tl_mem_new(32)).tag, "epoch/run") == 0);
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_mem_function_enter(3));
	CHECK(strcmp(info_of(tl_mem_new(32)).tag, "epoch") == 0);
	CHECK_OK(tl_mem_function_exit());
	void* p = allocate(32);
	CHECK(strcmp(info_of(p).tag, "epoch") == 0);
	CHECK_OK(tl_mem_free(p));
	CHECK_OK(tl_tag_pop());
	p = allocate(32);
	CHECK(info_of(p).tag == NULL);
	CHECK_OK(tl_mem_free(p));
	track("0");
}

static void* on_thread(void* numbers)
{
	uint64_t* out = numbers;
	tl_get_scope_depth();
	void* p = allocate(40);
	out[0] = info_of(p).number;
	out[1] = info_of(p).thread;
	out[2] = (uint64_t)gettid();
	CHECK_OK(tl_mem_free(p));
	CHECK_OK(tl_thread_detach());
	return NULL;
}

static void threads_are_told_apart(void)
{
	track("1");
	uint64_t seen[3] = {0};
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, on_thread, seen) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(seen[0] != 0);
	CHECK_INT(seen[1], seen[2]);
	CHECK(seen[1] != (uint64_t)gettid());
	track("0");
}

static void mistakes_are_told(void)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	char* p = allocate(64);
	CHECK_FAILS(tl_mem_allocation_info(p, NULL), TL_E_INVALID_ARGUMENT);
	info.struct_size = 0;
	CHECK_FAILS(tl_mem_allocation_info(p, &info), TL_E_INVALID_ARGUMENT);
	info.struct_size = sizeof info;
	CHECK_OK(tl_mem_allocation_info(NULL, &info));
	CHECK_INT(info.number + info.bytes, 0);
	CHECK_FAILS(tl_mem_allocation_info((void*)&info, &info), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_mem_allocation_info(p + 8, &info), TL_E_INTERIOR_POINTER);
	CHECK_OK(tl_mem_free(p));
	CHECK_FAILS(tl_mem_allocation_info(p, &info), TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_function_enter(1));
	void* slot = tl_mem_get_buffer(0, 64);
	CHECK_FAILS(tl_mem_allocation_info(slot, &info), TL_E_UNSUPPORTED);
	CHECK_OK(tl_mem_function_exit());
	CHECK_FAILS(tl_tag_pop(), TL_E_SCOPE_UNDERFLOW);
	CHECK_FAILS(tl_tag_push(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tag_push(""), TL_E_INVALID_ARGUMENT);
	for (int i = 0; i < 32; i++) CHECK_OK(tl_tag_push("deep"));
	CHECK_FAILS(tl_tag_push("deeper"), TL_E_LIMIT);
	for (int i = 0; i < 32; i++) CHECK_OK(tl_tag_pop());
	CHECK_FAILS(tl_configure("TL_TRACK", "perhaps"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_TRACK_SAMPLE", "many"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_configure("TL_LEAK_CHECK", "maybe"), TL_E_INVALID_ARGUMENT);
}

/* covers: tl_tag_push TL_E_OUT_OF_MEMORY */
static void no_memory_for_a_name_is_an_answer(void)
{
	char name[4096];
	tl_status last = TL_OK;
	int pushed = 0;
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	for (; pushed < 32 && last == TL_OK; pushed++) last = tl_tag_push(name);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_STATUS(last, TL_E_OUT_OF_MEMORY);
	for (int i = 0; i < pushed - 1; i++) CHECK_OK(tl_tag_pop());
}

/* What is due to be recorded in a forked child is served all the same. */
static void a_forked_child_allocates(void)
{
	const char* options[] = {"0", "1"};
	const char* path = getenv("TL_FASTPATH");
	if (path != NULL && *path == '0') return; /* nothing works there without the fast path */
	for (int i = 0; i < 2; i++) {
		track(options[i]);
		void* p = allocate(64);
		CHECK_OK(tl_mem_free(p));
		pid_t child = fork();
		if (child == 0) _exit(tl_mem_alloc(64) == p ? 7 : 1);
		int status = 0;
		extern pid_t waitpid(pid_t, int*, int);
		waitpid(child, &status, 0);
		CHECK_INT(status, 7 << 8);
	}
	track("0");
}

int main(void)
{
	RUN(nothing_is_recorded_when_it_is_off);
	RUN(an_allocation_has_a_stack_time_thread_and_size);
	RUN(a_freed_object_takes_its_record_along);
	RUN(lines_are_told);
	RUN(macros_tell_the_line);
	tl_mem_purge();
	RUN(every_kind_of_memory_is_covered);
	RUN(what_nobody_has_registered_is_known);
	RUN(what_comes_back_from_the_host_is_recorded_anew);
	RUN(another_size_is_known);
	RUN(samples_come_by_bytes);
	RUN(tags_nest_and_end_with_their_scope);
	RUN(threads_are_told_apart);
	RUN(mistakes_are_told);
	RUN(no_memory_for_a_name_is_an_answer);
	RUN(a_forked_child_allocates);
	return check_finish();
}
