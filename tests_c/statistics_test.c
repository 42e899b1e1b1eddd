/* Statistics: what adds up, the texts, the peaks, and what is told at the end of a
 * process and of its environment.
 *
 *     statistics_test        runs all
 *     statistics_test CASE   ends with what a case tells on standard error
 */
#include "check.h"
#include "no_file.h"
#include "thread.h"

static const char* program;

static tl_stats read_stats(void)
{
	const tl_stats stats = check_stats();
	CHECK_INT(stats.struct_size, sizeof stats);
	CHECK_INT(stats.allocations - stats.frees, stats.live_objects);
	CHECK_INT(stats.bytes_allocated - stats.bytes_freed, stats.in_use_bytes);
	return stats;
}

static tl_mem_usage_info usage_of(int32_t account)
{
	tl_mem_usage_info usage = {.struct_size = sizeof usage};
	CHECK_OK(tl_mem_usage(account, &usage));
	return usage;
}

static tl_type node_type(void)
{
	static tl_type type;
	const size_t offsets[] = {0};
	const tl_type_desc node = {
		.name = "statistics \"node\"", .size = 48, .num_pointers = 1, .pointer_offsets = offsets};
	if (type == 0) CHECK_OK(tl_type_define(&node, &type));
	return type;
}

/* Exact, whichever path a call takes. */
TEST(every_kind_is_counted)
{
	const int64_t shape[] = {16, 16};
	tl_type type = node_type();
	void **first, *made[10];
	tl_stats before = read_stats();
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 100; i++) tl_mem_new((size_t)(1 + 100 * i));
	for (int i = 0; i < 50; i++) tl_object_new(type);
	for (int i = 0; i < 10; i++) tl_vec_new(0);
	for (int i = 0; i < 5; i++) tl_tensor_empty(TL_DTYPE_F32, 0, 2, shape);
	tl_mem_register_struct(malloc(100));
	tl_stats now = read_stats();
	CHECK_INT(now.plain_live - before.plain_live, 100);
	CHECK_INT(now.typed_live - before.typed_live, 50);
	CHECK_INT(now.vecs_live - before.vecs_live, 10);
	CHECK_INT(now.tensors_live - before.tensors_live, 5);
	CHECK_INT(now.tensor_allocations - before.tensor_allocations, 5);
	CHECK(now.tensor_bytes - before.tensor_bytes >= 5 * 16 * 16 * 4);
	CHECK_INT(now.foreign_live - before.foreign_live, 1);
	CHECK_INT(now.foreign_allocations - before.foreign_allocations, 1);
	CHECK_INT(now.live_objects - before.live_objects, 165);
	CHECK_INT(now.allocations - before.allocations, 165);
	CHECK_INT(now.scope_entries - before.scope_entries, 166);
	for (int i = 0; i < 10; i++) made[i] = tl_mem_new(32);
	for (int i = 0; i < 6; i++) { /* leaves holes */
		CHECK_OK(tl_mem_unregister(made[i]));
		CHECK_OK(tl_mem_free(made[i]));
	}
	CHECK_INT(read_stats().scope_entries - before.scope_entries, 170);
	CHECK_OK(tl_mem_exit_scope());

	CHECK_OK(tl_mem_enter_scope());
	first = tl_object_new(type);
	for (int i = 1; i < 1000; i++) { /* a list: the first one's end is the end of all */
		void** next = tl_object_new(type);
		*next = first;
		CHECK_OK(tl_mem_unregister(first));
		first = next;
	}
	CHECK_INT(read_stats().typed_live - before.typed_live, 1000);
	CHECK_OK(tl_mem_exit_scope());
	now = read_stats();
	CHECK_INT(now.allocations - before.allocations, 1175);
	CHECK_INT(now.frees - before.frees, 1175);
	CHECK_INT(now.typed_live, before.typed_live);
	CHECK_INT(now.tensors_live, before.tensors_live);
	CHECK_INT(now.scope_entries, before.scope_entries);
}

TEST(frames_and_arenas_are_counted)
{
	tl_stats before = read_stats(), now;
	CHECK_OK(tl_mem_function_enter(2));
	CHECK(tl_mem_get_buffer(0, 10000) != NULL);
	now = read_stats();
	CHECK(now.frame_bytes >= before.frame_bytes + 10000);
	CHECK_OK(tl_mem_function_exit());
	CHECK_INT(read_stats().frame_bytes, before.frame_bytes);
}

TEST(a_short_struct_gets_what_it_has_room_for)
{
	struct {
		size_t struct_size;
		uint64_t live_objects, guard;
	} small = {16, 0, 4711};
	CHECK_OK(tl_stats_get((tl_stats*)(void*)&small));
	CHECK_INT(small.struct_size, 16);
	CHECK_INT(small.guard, 4711);
	CHECK_INT(small.live_objects, read_stats().live_objects);
}

/* The peak of what is in use may count a magazine's free slots as used. */
TEST(peaks_are_reset)
{
	void* big = tl_mem_alloc(32 << 20);
	tl_stats now = read_stats();
	CHECK(now.held_peak >= 32 << 20 && now.in_use_peak >= 32 << 20);
	CHECK(now.in_use_peak <= now.held_peak && now.in_use_bytes <= now.in_use_peak && now.held_bytes <= now.held_peak);
	CHECK_OK(tl_ptr_release(big));
	CHECK_OK(tl_mem_purge());
	CHECK(read_stats().in_use_peak >= 32 << 20);
	CHECK_OK(tl_stats_reset_peak());
	now = read_stats();
	CHECK(now.in_use_peak < 32 << 20 && now.held_peak < 32 << 20);
	CHECK_INT(now.held_peak, now.held_bytes);
	CHECK_INT(usage_of(TL_MEM_TOTAL).peak, now.held_peak);
}

TEST(pools_are_counted)
{
	tl_stats before = read_stats(), now;
	tl_memory_pool* pool = NULL;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &pool));
	void* block = tl_memory_pool_allocate(pool, 4096);
	now = read_stats();
	CHECK_INT(now.pool_blocks_live - before.pool_blocks_live, 1);
	CHECK_INT(now.pool_block_bytes - before.pool_block_bytes, 4096);
	CHECK(now.held_bytes >= before.held_bytes + (1 << 20));
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_OK(tl_memory_pool_destroy(pool));
	now = read_stats();
	CHECK_INT(now.pool_blocks_allocated - before.pool_blocks_allocated, 1);
	CHECK_INT(now.pool_blocks_live, before.pool_blocks_live);
}

/* As snprintf: any room will do, and the text ends in it. */
static void check_text(size_t (*text)(char*, size_t))
{
	char whole[65536], part[64];
	size_t length = text(NULL, 0);
	CHECK(length > sizeof part && length < sizeof whole - 1000);
	length = text(whole, sizeof whole);
	CHECK_INT(strlen(whole), length);
	for (size_t room = 1; room <= sizeof part; room++) {
		memset(part, '#', sizeof part);
		CHECK(text(part, room) >= sizeof part);
		CHECK_INT(strlen(part), room - 1);
		CHECK(memcmp(part, whole, room < 40 ? room - 1 : 39) == 0); /* figures may change */
	}
	/* covers: tl_stats_json TL_E_INVALID_ARGUMENT */
	/* covers: tl_stats_openmetrics TL_E_INVALID_ARGUMENT */
	/* covers: tl_config_dump TL_E_INVALID_ARGUMENT */
	CHECK_REFUSED(text(NULL, 1), 0, TL_E_INVALID_ARGUMENT);
}

TEST(the_texts_are_as_long_as_they_say)
{
	char text[65536];
	check_text(tl_stats_json);
	check_text(tl_stats_openmetrics);
	check_text(tl_config_dump);
	node_type();
	tl_stats_openmetrics(text, sizeof text);
	CHECK(strncmp(text, "# TYPE tl_objects_live gauge\n", 29) == 0);
	CHECK(strstr(text, "\n# EOF\n") == text + strlen(text) - 7);
	tl_stats_json(text, sizeof text);
	CHECK(strncmp(text, "{\n  \"version\": 1,\n", 18) == 0);
	CHECK(strstr(text, "\"name\": \"statistics \\\"node\\\"\"") != NULL);
	CHECK_OK(tl_configure("TL_ON_ERROR", "ignore"));
	tl_config_dump(text, sizeof text);
	CHECK(strstr(text, "\nTL_ON_ERROR=ignore (tl_configure)\n") != NULL);
	CHECK(strstr(text, "\nTL_REGISTRY_SHARDS=64 (default)\n") != NULL);
}

TEST(the_table_goes_into_a_file)
{
	char path[] = "/tmp/tl_statistics_XXXXXX", line[256] = "";
	int file = mkstemp(path);
	CHECK(file >= 0);
	CHECK_OK(tl_stats_print(path));
	FILE* f = fopen(path, "r");
	CHECK(f != NULL && fgets(line, sizeof line, f) != NULL);
	CHECK(strcmp(line, "tl_runtime: statistics\n") == 0);
	fclose(f);
	close(file);
	unlink(path);
	CHECK_FAILS(tl_stats_print(no_file()), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), no_file()) != NULL);
	CHECK_FAILS(tl_stats_print((const char*)16), TL_E_INVALID_ARGUMENT);
}

/* ---- threads ------------------------------------------------------------------------ */

static int stop;

THREAD(churn, seed)
{
	tl_type type = node_type();
	const int64_t shape[] = {8, 8};
	for (uintptr_t i = (uintptr_t)seed; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		tl_mem_enter_scope();
		for (uintptr_t j = 0; j < i % 70; j++) {
			tl_mem_new(1 + i * j % 5000);
			tl_object_new(type);
		}
		tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, shape);
		tl_mem_exit_scope();
	}
}

TEST(live_is_never_negative)
{
	enum { THREADS = 3, KEPT = 100, TOO_MANY = 1 << 24 };
	pthread_t threads[THREADS];
	void* kept[KEPT];
	tl_stats before = read_stats();
	node_type();
	for (int i = 0; i < KEPT; i++) kept[i] = tl_mem_alloc(64);
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(churn, (void*)i);
	for (int i = 0; i < 2000; i++) {
		tl_stats now = read_stats();
		if (i % 10 == 0) CHECK_OK(tl_mem_purge()); /* kept tensors go back to the heap meanwhile */
		CHECK(now.live_objects >= before.live_objects + KEPT && now.live_objects < TOO_MANY);
		CHECK(now.typed_live < TOO_MANY && now.tensors_live < TOO_MANY && now.plain_live < TOO_MANY);
		CHECK(now.allocations >= before.allocations);
		before.allocations = now.allocations;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	CHECK_INT(read_stats().live_objects - before.live_objects, KEPT);
	for (int i = 0; i < KEPT; i++) CHECK_OK(tl_ptr_release(kept[i]));
	CHECK_INT(read_stats().tensors_live, before.tensors_live);
	CHECK_INT(read_stats().typed_live, before.typed_live);
}

/* ---- other processes ------------------------------------------------------------------ */

/* Runs a case with a setting and returns what it wrote on standard error. */
static const char* told_by(const char* name, const char* key, const char* value)
{
	static char told[65536];
	int ends[2], status = -1;
	size_t length = 0;
	CHECK(pipe(ends) == 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], 2);
		setenv(key, value, 1);
		execl(program, program, name, (char*)NULL);
		_exit(127);
	}
	close(ends[1]);
	for (ssize_t n; (n = read(ends[0], told + length, sizeof told - 1 - length)) > 0;) length += (size_t)n;
	told[length] = 0;
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return told;
}

static int occurrences(const char* text, const char* part)
{
	int n = 0;
	for (; (text = strstr(text, part)) != NULL; text += strlen(part)) n++;
	return n;
}

TEST(the_end_is_told)
{
	const char* told = told_by("exit", "TL_SHOW_STATS", "1");
	CHECK_INT(occurrences(told, "tl_runtime: statistics\n"), 1);
	CHECK(strstr(told, "objects ") != NULL);
	CHECK_INT(occurrences(told_by("exit", "TL_SHOW_STATS", "off"), "statistics"), 0);
	CHECK_INT(occurrences(told_by("unused", "TL_SHOW_STATS", "1"), "statistics"), 0);
	CHECK_INT(occurrences(told_by("fork", "TL_SHOW_STATS", "1"), "statistics"), 1); /* not in the child */
}

TEST(settings_that_are_not_understood_are_told)
{
	CHECK_INT(occurrences(told_by("exit", "TL_ON_EROR", "log"),
	                      "tl_runtime: TL_ON_EROR is no option; did you mean TL_ON_ERROR?\n"),
	          1);
	CHECK_INT(
		occurrences(told_by("exit", "TL_HUGE_PAGES", "perhaps"), "TL_HUGE_PAGES=\"perhaps\": not one of 0, 1, auto"),
		1);
	CHECK_INT(occurrences(told_by("exit", "TL_HEAP_RESERVE", "1KiB"), "not from 1.0 MiB to 1.0 TiB; it stays \"0\""),
	          1);
	CHECK_INT(occurrences(told_by("exit", "TL_MEM_LIMIT", "cpuu=1GiB"), "no device \"cpuu\"; did you mean cpu?"), 1);
	CHECK_INT(strlen(told_by("init", "TL_SOMEBODY_ELSE", "1")), 0);
	/* covers: tl_mem_manager_init TL_E_INVALID_ARGUMENT */
	CHECK(strstr(told_by("init", "TL_ARENA_BYTE", "1"), "init: invalid argument") != NULL);
	CHECK(strstr(told_by("init", "TL_ARENA_BYTES", "much"), "init: invalid argument") != NULL);
}

TEST(operations_of_pools_are_told)
{
	const char* told = told_by("pools", "TL_POOL_DEBUG", "1");
	CHECK_INT(occurrences(told, ": create over cpu, 1048576 bytes: ok\n"), 1);
	CHECK_INT(occurrences(told, ": allocate 4096 bytes = 0x"), 3);
	CHECK_INT(occurrences(told, ": deallocate 0x"), 3);
	CHECK_INT(occurrences(told, ": reset: ok\n"), 1);
	CHECK_INT(occurrences(told, ": trim: ok\n"), 1);
	CHECK_INT(occurrences(told, ": destroy: ok\n"), 1);
	CHECK_INT(occurrences(told, "tensor pool: miss: 12 elements of f32 on device 0"), 1);
	CHECK_INT(occurrences(told, "tensor pool: kept: 12 elements of f32 on device 0"), 2);
	CHECK_INT(occurrences(told, "tensor pool: hit: 12 elements of f32 on device 0"), 1);
	CHECK_INT(strlen(told_by("pools", "TL_POOL_DEBUG", "0")), 0);
}

TEST(what_emitted_code_tells_is_written)
{
	const char* told = told_by("log", "TL_MEM_LOG", "yes");
	CHECK_INT(occurrences(told, " bytes resident\n"), 3);
	CHECK_INT(occurrences(told, "tl_runtime: start: "), 1);
	CHECK_INT(occurrences(told, " 100 bytes model.tl:7\n"), 1);
	CHECK_INT(occurrences(told, " model.tl:8\n"), 1);
	told = told_by("log", "TL_MEM_LOG", "0"); /* until the program turns it on */
	CHECK_INT(occurrences(told, "tl_runtime: start: "), 0);
	CHECK_INT(occurrences(told, "tl_runtime: set: "), 1);
	CHECK_INT(occurrences(told, " model.tl:7\n"), 1);
	CHECK_INT(occurrences(told, "tl_runtime: end: "), 0);
}

/* Logs before the first use, which must not start the library, and after it. */
static void log_memory(void)
{
	char text[4096];
	bool silent = strcmp(getenv("TL_MEM_LOG"), "0") == 0;
	CHECK_OK(tl_trace_mem("start"));
	CHECK_OK(tl_configure("TL_MEM_LOG", "1"));
	CHECK_OK(tl_trace_mem("set"));
	void* p = tl_mem_alloc(100);
	tl_config_dump(text, sizeof text);
	CHECK(strstr(text, "\nTL_MEM_LOG=1 (tl_configure)\n") != NULL);
	CHECK_OK(tl_log_alloc(p, 100, "model.tl", 7));
	CHECK_OK(tl_log_free(p, "model.tl", 8));
	CHECK_OK(tl_mem_free(p));
	if (silent) CHECK_OK(tl_configure("TL_MEM_LOG", "0"));
	CHECK_OK(tl_trace_mem("end"));
}

static void use_pools(void)
{
	const int64_t shape[] = {3, 4};
	tl_memory_pool* pool = NULL;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &pool));
	for (int i = 0; i < 3; i++) CHECK_OK(tl_memory_pool_deallocate(pool, tl_memory_pool_allocate(pool, 4096)));
	CHECK_OK(tl_memory_pool_reset(pool));
	CHECK_OK(tl_memory_pool_trim(pool));
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_PTR(tl_pool_acquire(12, TL_DTYPE_F32, 0), NULL);
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, shape);
	CHECK_OK(tl_tensor_promote(tensor));
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < 2; i++) {
		CHECK_OK(tl_pool_release(tensor, 12, TL_DTYPE_F32, 0));
		if (i == 0) CHECK_PTR(tl_pool_acquire(12, TL_DTYPE_F32, 0), tensor);
	}
}

static int run_case(const char* name)
{
	if (strcmp(name, "unused") == 0) return 0;
	if (strcmp(name, "log") == 0) log_memory();
	if (strcmp(name, "init") == 0) {
		tl_status status = tl_init();
		CHECK_STATUS(tl_mem_manager_init(), status);
		if (status != TL_OK) fprintf(stderr, "init: %s\n", tl_status_string(status));
	}
	CHECK_OK(tl_ptr_release(tl_mem_alloc(100)));
	if (strcmp(name, "fork") == 0 && fork() == 0) exit(0);
	if (strcmp(name, "pools") == 0) use_pools();
	while (wait(NULL) > 0);
	return check_failures != 0;
}

int main(int argc, char** argv)
{
	program = argv[0];
	if (argc > 1) return run_case(argv[1]);
	return check_tests();
}
