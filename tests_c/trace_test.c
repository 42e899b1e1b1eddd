/* Traces: what is in the file, also when the process ends without a stop, and that
 * tracing leaves everything else as it was. python/tests/test_profiles.py reads them as
 * JSON. */
#include <pthread.h>
#include <sys/syscall.h>

#include "check.h"
#include "no_file.h"

static char path[] = "/tmp/tl_trace_XXXXXX";
static char* text;

static void read_file(const char* name)
{
	FILE* f = fopen(name, "r");
	CHECK(f != NULL);
	fseek(f, 0, SEEK_END);
	size_t n = (size_t)ftell(f);
	rewind(f);
	free(text);
	text = calloc(n + 1, 1);
	CHECK_INT(fread(text, 1, n, f), n);
	fclose(f);
}

static void read_trace(void) { read_file(path); }

static int count(const char* what)
{
	int n = 0;
	for (const char* at = text; (at = strstr(at, what)) != NULL; at++) n++;
	return n;
}

static bool ends_well(void)
{
	size_t n = strlen(text);
	return n > 2 && strcmp(text + n - 2, "}\n") == 0 && count("\"otherData\"") == 1;
}

TEST(what_happens_is_told)
{
	void* before = tl_mem_alloc(48);
	CHECK_OK(tl_trace_start(path));
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_tag_push("epoch"));
	CHECK_OK(tl_mem_function_enter(2));
	void* p = tl_mem_new(100);
	CHECK(p != NULL);
	CHECK(tl_mem_frame_enter(64) != NULL);
	CHECK_OK(tl_mem_frame_exit());
	CHECK_OK(tl_mem_function_exit()); /* p dies */
	CHECK_OK(tl_tag_pop());
	CHECK_OK(tl_trace_mark("half"));
	CHECK_OK(tl_mem_free(before));
	CHECK_OK(tl_registry_unregister(tl_registry_new_array(5, 8)));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_trace_stop());
	read_trace();
	CHECK(ends_well());
	CHECK_INT(count("\"complete\":true"), 1);
	CHECK_INT(count("{\"name\":\"scope\",\"ph\":\"B\""), 1);
	CHECK_INT(count("{\"name\":\"function\",\"ph\":\"B\""), 1);
	CHECK_INT(count("{\"name\":\"planned frame\",\"ph\":\"B\""), 1);
	CHECK_INT(count("\"ph\":\"E\""), 3);
	CHECK_INT(count("{\"name\":\"epoch\",\"ph\":\"b\""), 1);
	CHECK_INT(count("{\"name\":\"epoch\",\"ph\":\"e\""), 1);
	CHECK_INT(count("\"before\":1"), 1);
	CHECK_INT(count("{\"name\":\"alloc\""), 3);
	CHECK_INT(count("{\"name\":\"free\""), 3);
	CHECK_INT(count("\"bytes\":100,\"kind\":\"object\",\"tag\":\"epoch\""), 1);
	CHECK_INT(count("{\"name\":\"half\",\"ph\":\"i\""), 1);
	CHECK(strstr(text, "what_happens_is_told") != NULL);
}

TEST(the_end_tells_who_holds_what_lives)
{
	CHECK_OK(tl_trace_start(path));
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	tl_memory_pool* pool;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &pool));
	void* block = tl_memory_pool_allocate(pool, 5000);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_vec_push(vec, tl_mem_new(70)));
	CHECK(tl_mem_new(80) != NULL); /* ends before the trace does */
	const int64_t length = 10;
	CHECK(tl_tensor_empty(TL_DTYPE_F64, TL_DEVICE_CPU, 1, &length) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_trace_stop());
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_OK(tl_mem_exit_scope());
	read_trace();
	CHECK_INT(count("{\"name\":\"held\""), 4); /* the Vec, its table, its element, the block */
	CHECK_INT(count("\"bytes\":80,\"kind\":\"object\",\"type\":\"tensor\""), 1); /* its elements, not its slot */
	char element[64];
	snprintf(element, sizeof element, "\"by\":\"element 0\",\"from\":\"%p\"", vec);
	CHECK_INT(count(element), 1);
	CHECK_INT(count("\"by\":\"scope, thread "), 1);
}

/* Cells of both places that a trace finds, and one that it sees made: the end of each is told, and no leak is. */
TEST(cells_that_lived_before)
{
	void *small = tl_cell_new(24), *large = tl_cell_new(3000), *left = tl_cell_new(24);
	CHECK_OK(tl_trace_start(path));
	void* made = tl_cell_new(24);
	CHECK_OK(tl_cell_free(small));
	CHECK_OK(tl_cell_free(large));
	CHECK_OK(tl_cell_free(made));
	CHECK_OK(tl_trace_stop());
	CHECK_OK(tl_cell_free(left));
	read_trace();
	CHECK_INT(count("{\"name\":\"free\""), 3);
	CHECK_INT(count("\"by\":\"a reference of compiled code\""), 1);
	CHECK_INT(count("tl_cell_free is missing"), 0);
	CHECK_INT(count("\"bytes\":24,"), 2); /* made and freed: what was asked for */
}

/* A trace ends with what began in it. */
TEST(what_was_open_before)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_trace_start(path));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_tag_push("open"));
	CHECK_OK(tl_trace_stop());
	CHECK_OK(tl_mem_exit_scope());
	read_trace();
	CHECK(ends_well());
	CHECK_INT(count("\"ph\":\"B\""), 1);
	CHECK_INT(count("\"ph\":\"E\""), 1);
	CHECK_INT(count("\"ph\":\"b\""), 1);
	CHECK_INT(count("\"ph\":\"e\""), 1);
}

static void* others_work(void* nothing)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 50; i++) CHECK(tl_mem_new(32) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	return nothing;
}

static void* own_work(void* number)
{
	*(int*)number = (int)syscall(SYS_gettid);
	void* object = tl_mem_alloc(32);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_ptr_release(object));
	return NULL;
}

/* The number is kept in the context, which the second thread takes over from the first. */
TEST(events_have_the_number_of_their_thread)
{
	CHECK_OK(tl_trace_start(path));
	int numbers[3];
	own_work(&numbers[0]);
	for (int i = 1; i < 3; i++) {
		pthread_t thread;
		CHECK_INT(pthread_create(&thread, NULL, own_work, &numbers[i]), 0);
		CHECK_INT(pthread_join(thread, NULL), 0);
	}
	CHECK_OK(tl_trace_stop());
	read_trace();
	static const char* const events[] = {"alloc\",\"ph\":\"i", "free\",\"ph\":\"i", "scope\",\"ph\":\"B",
	                                     "scope\",\"ph\":\"E"};
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 4; k++) {
			char event[120];
			snprintf(event, sizeof event, "{\"name\":\"%s\",\"pid\":%d,\"tid\":%d,", events[k], (int)getpid(),
			         numbers[i]);
			CHECK_INT(count(event), 1);
		}
}

TEST(threads_and_pools)
{
	CHECK_OK(tl_trace_start(path));
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, others_work, NULL), 0);
	for (int i = 0; i < 4; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
	tl_memory_pool* pool;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 1 << 20, &pool));
	void* block = tl_memory_pool_allocate(pool, 5000);
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, 4096));
	CHECK(tl_memory_pool_allocate(pool, 2 << 20) == NULL);
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, 0));
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_OK(tl_trace_stop());
	read_trace();
	CHECK_INT(count("{\"name\":\"alloc\""), 201);
	CHECK_INT(count("{\"name\":\"free\""), 201);
	CHECK(count("{\"name\":\"thread_name\"") >= 2);
	CHECK_INT(count("{\"name\":\"chunk obtained\""), 1);
	CHECK_INT(count("{\"name\":\"chunk returned\""), 1);
	CHECK(count("{\"name\":\"limit refuses\"") >= 1);
	CHECK(count("{\"name\":\"nothing left to give\"") >= 1);
	CHECK_INT(count("\"bytes\":5000,\"kind\":\"pool block\""), 2);
}

/* A tensor that rests in the pool is not live, and its slot is released once. */
TEST(kept_tensors)
{
	int64_t shape[] = {7, 9};
	CHECK_OK(tl_mem_purge());
	CHECK_OK(tl_trace_start(path));
	for (int i = 0; i < 3; i++) {
		tl_tensor* tensor = tl_pool_acquire(63, 0, 0);
		CHECK_OK(tl_mem_enter_scope());
		if (i == 0) CHECK_OK(tl_tensor_promote(tensor = tl_tensor_empty(0, 0, 2, shape)));
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_pool_release(tensor, 63, 0, 0));
	}
	CHECK_OK(tl_mem_purge());
	CHECK_OK(tl_trace_stop());
	read_trace();
	CHECK_INT(count("\"type\":\"tensor\""), 3);
	CHECK_INT(count("{\"name\":\"free\""), 3);
}

/* A block that goes back to the host is no longer live, whether the host keeps it, brings
 * it again, or has the runtime free it. */
TEST(blocks_that_go_back_to_the_host)
{
	char* kept = malloc(70);
	CHECK_OK(tl_trace_start(path));
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 3; i++) {
		CHECK_OK(tl_mem_register(kept));
		CHECK_OK(tl_mem_unregister(kept));
	}
	char* freed = malloc(90);
	CHECK_OK(tl_mem_register(freed));
	CHECK_OK(tl_mem_unregister(freed));
	CHECK_OK(tl_mem_free(freed));
	char* shared = malloc(110);
	CHECK_OK(tl_mem_register(shared));
	CHECK_OK(tl_mem_register(shared));
	CHECK_OK(tl_mem_unregister(shared)); /* the scope's other reference is the last, and gives it back */
	CHECK_OK(tl_trace_mark("shared"));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_trace_stop());
	free(kept);
	free(shared);
	read_trace();
	CHECK_INT(count("{\"name\":\"alloc\""), 5);
	CHECK_INT(count("{\"name\":\"free\""), 5);
	const char* mark = strstr(text, "{\"name\":\"shared\"");
	CHECK(mark != NULL && strstr(mark, "{\"name\":\"free\"") != NULL);
}

/* A size that changes in place is an end and an allocation, and is known afterwards. */
TEST(an_object_that_grows_in_place)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	void* p = tl_mem_alloc(100);
	CHECK_OK(tl_trace_start(path));
	CHECK(tl_mem_realloc(p, 105) == p);
	CHECK_OK(tl_mem_allocation_info(p, &info));
	CHECK_INT(info.bytes, 105);
	CHECK_OK(tl_mem_free(p));
	CHECK_OK(tl_trace_stop());
	read_trace();
	CHECK_INT(count("{\"name\":\"alloc\""), 2);
	CHECK_INT(count("{\"name\":\"free\""), 2);
	CHECK_INT(count("\"bytes\":105"), 2);
}

TEST(afterwards_the_fast_path_answers)
{
	CHECK_OK(tl_mem_free(tl_mem_alloc(64)));
	const tl_stats before = check_stats();
	for (int i = 0; i < 100; i++) CHECK_OK(tl_mem_free(tl_mem_alloc(64)));
	const tl_stats after = check_stats();
	const char* fast = getenv("TL_FASTPATH");
	if (fast == NULL || strcmp(fast, "0") != 0) CHECK_INT(after.slow_calls - before.slow_calls, 1);
	CHECK_INT(after.allocations - before.allocations, 100);
	CHECK_INT(after.frees - before.frees, 100);
}

TEST(the_file_has_a_limit)
{
	CHECK_OK(tl_configure("TL_TRACE_BYTES", "20KiB"));
	CHECK_OK(tl_trace_start(path));
	for (int i = 0; i < 2000; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_mem_new(32) != NULL);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_trace_stop());
	CHECK_OK(tl_configure("TL_TRACE_BYTES", "1GiB"));
	read_trace();
	CHECK(ends_well());
	CHECK(strlen(text) < 30000);
	CHECK_INT(count("\"ph\":\"B\""), count("\"ph\":\"E\""));
	const char* dropped = strstr(text, "\"dropped\":");
	int written = count("{\"name\":\"alloc\"") + count("{\"name\":\"free\"") + count("\"ph\":\"B\"");
	CHECK(dropped != NULL);
	CHECK_INT(dropped != NULL ? atoi(dropped + strlen("\"dropped\":")) : 0, 6000 - written);
}

/* How a process ends: with exit, without it, and as a forked child. */
TEST(the_end_of_the_process)
{
	for (int how = 0; how < 2; how++) {
		CHECK_INT(fflush(NULL), 0);
		pid_t child = fork();
		if (child == 0) {
			/* A new process image: a forked child has no slow path. */
			execl("/proc/self/exe", "trace_test", how == 0 ? "exit" : "kill", path, (char*)NULL);
			_exit(9);
		}
		int status;
		CHECK_INT(waitpid(child, &status, 0), child);
		read_trace();
		CHECK(ends_well());
		CHECK_INT(count("\"complete\":true"), how == 0);
		CHECK_INT(count("\"ph\":\"B\""), count("\"ph\":\"E\""));
		CHECK(count("{\"name\":\"alloc\"") > 1000);
	}
}

static int end_as_told(const char* how)
{
	bool told = getenv("TL_TRACE") != NULL; /* then the first call is traced */
	if (told && tl_mem_free(tl_mem_alloc(16)) != TL_OK) return 2;
	if (strcmp(how, "whole") == 0 && tl_trace_start(path) != TL_E_BUSY) return 3;
	if (!told && tl_trace_start(path) != TL_OK) return 4;
	if (tl_mem_enter_scope() != TL_OK) return 1;
	for (int i = 0; i < 4000; i++) tl_mem_new(32);
	if (strcmp(how, "kill") == 0) _exit(0);
	return 0; /* without a stop, the scope open */
}

/* TL_TRACE, which the process only has in its environment; its number is in the file's name. */
TEST(a_trace_of_the_whole_process)
{
	char own[64];
	CHECK_INT(fflush(NULL), 0);
	pid_t child = fork();
	if (child == 0) {
		snprintf(own, sizeof own, "%s.%%p", path);
		setenv("TL_TRACE", own, 1);
		execl("/proc/self/exe", "trace_test", "whole", path, (char*)NULL);
		_exit(9);
	}
	CHECK_INT(check_exit_of(child), 0);
	snprintf(own, sizeof own, "%s.%d", path, (int)child);
	read_file(own);
	CHECK(ends_well());
	CHECK_INT(count("\"complete\":true"), 1);
	CHECK_INT(count("{\"name\":\"alloc\""), 4001);
	CHECK_INT(count("\"ph\":\"B\""), 1);
	unlink(own);
}

/* A file that cannot be written is told, and the program runs as it is. */
TEST(a_trace_that_cannot_be_written)
{
	CHECK_INT(fflush(NULL), 0);
	pid_t child = fork();
	if (child == 0) {
		setenv("TL_TRACE", no_file(), 1);
		CHECK(freopen(path, "w", stderr) != NULL);
		execl("/proc/self/exe", "trace_test", "untraced", path, (char*)NULL);
		_exit(9);
	}
	CHECK_INT(check_exit_of(child), 0);
	read_trace();
	CHECK(strncmp(text, "tl_runtime: TL_TRACE: the trace could not be written: ", 54) == 0);
	CHECK_INT(count("tl_runtime: "), 1);
}

TEST(a_forked_child_writes_nothing)
{
	CHECK_OK(tl_trace_start(path));
	void* p = tl_mem_alloc(32);
	CHECK_INT(fflush(NULL), 0);
	pid_t child = fork();
	if (child == 0) {
		bool served = tl_mem_free(p) == TL_OK && tl_ptr_check(p) != TL_OK; /* by the fast path */
		exit(served || getenv("TL_FASTPATH") != NULL ? 0 : 1);
	}
	CHECK_INT(check_exit_of(child), 0);
	CHECK_OK(tl_mem_free(p));
	CHECK_OK(tl_trace_stop());
	read_trace();
	CHECK(ends_well());
	CHECK_INT(count("{\"name\":\"free\""), 1);
}

TEST(refusals)
{
	CHECK_FAILS(tl_trace_stop(), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_trace_start(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_trace_start(no_file()), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_trace_mark("nobody listens"));
	CHECK_FAILS(tl_trace_mark(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_trace_mark(""), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_trace_start(path));
	CHECK_FAILS(tl_trace_start(path), TL_E_BUSY);
	CHECK_OK(tl_trace_stop());
	CHECK_FAILS(tl_trace_stop(), TL_E_INVALID_ARGUMENT);
}

/* The end of a trace is the first to learn that the disk is full. */
TEST(a_full_disk)
{
	if (access("/dev/full", W_OK) != 0) {
		printf("skip: no /dev/full\n");
		return;
	}
	CHECK_FAILS(tl_trace_start("/dev/full"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_trace_stop(), TL_E_INVALID_ARGUMENT);
}

TEST(no_memory_to_look)
{
	void* one = tl_mem_alloc(64);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	CHECK_FAILS(tl_trace_start(path), TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_FAILS(tl_trace_stop(), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_trace_start(path));
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	CHECK_FAILS(tl_trace_stop(), TL_E_OUT_OF_MEMORY); /* to tell who holds what */
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_FAILS(tl_trace_stop(), TL_E_INVALID_ARGUMENT);
	read_trace();
	CHECK(ends_well());
	CHECK_OK(tl_mem_free(one));
}

int main(int argc, char** argv)
{
	if (argc == 3) {
		strcpy(path, argv[2]);
		return end_as_told(argv[1]);
	}
	int file = mkstemp(path);
	CHECK(file >= 0);
	close(file);
	check_run();
	unlink(path);
	free(text);
	return check_finish();
}
