/* Section Limits: the program's last resort. It runs outside of Go, on the thread that
 * needs the memory, may call everything, jump away, and never recurses. */
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "memory.h"
#include "thread.h"

/* What the callback has seen, and what it is to do. */
static struct {
	int calls;
	int32_t device;
	size_t requested;
	uint32_t attempt;
	void* victims[8]; /* one is released at each call */
	int count;
	jmp_buf* away;
	bool nested;
} seen;

static bool resort(int32_t device, size_t requested, uint32_t attempt, void* ctx)
{
	seen.calls++;
	seen.device = device;
	seen.requested = requested;
	seen.attempt = attempt;
	CHECK_PTR(ctx, &seen);
	if (seen.nested) {
		int calls = seen.calls;
		CHECK_REFUSED(tl_mem_alloc(requested), 0, TL_E_LIMIT);
		CHECK_INT(seen.calls, calls);
		CHECK_FAILS(tl_thread_detach(), TL_E_BUSY);
	}
	if (seen.away != NULL) longjmp(*seen.away, 1);
	if (seen.count == 0) return false;
	CHECK_OK(tl_ptr_release(seen.victims[--seen.count]));
	return true;
}

/* A limit of 10 MiB above what is held, and victims that take all of it. */
static void begin(int victims)
{
	memset(&seen, 0, sizeof seen);
	no_limits();
	leave_room(TL_MEM_TOTAL, 10 * MIB);
	for (; seen.count < victims; seen.count++)
		seen.victims[seen.count] = tl_mem_alloc((size_t)(10 * MIB / victims) & ~(size_t)0xFFFF);
	CHECK_OK(tl_mem_set_out_of_memory_callback(resort, &seen));
}

static void end(void)
{
	while (seen.count > 0) CHECK_OK(tl_ptr_release(seen.victims[--seen.count]));
	no_limits();
}

TEST(released_memory_makes_the_call_succeed)
{
	begin(5);
	CHECK_REFUSED(tl_ptr_release((void*)0x1230), TL_E_UNKNOWN_POINTER, TL_E_UNKNOWN_POINTER);
	void* object = tl_mem_alloc(5 * MIB);
	CHECK(object != NULL);
	CHECK_INT(seen.calls, 3); /* of five victims three had to go */
	CHECK_INT(seen.count, 2);
	CHECK_INT(seen.attempt, 3);
	CHECK_INT(seen.device, 0);
	CHECK_INT(seen.requested, 5 * MIB);
	CHECK_STATUS(tl_last_status(), TL_OK);
	CHECK_INT(strlen(tl_last_error()), 0);
	CHECK_OK(tl_ptr_release(object));
	end();
}

/* What is put back for the call that is made again are its error and its shortage, and no counters. */
TEST(what_the_callback_ends_is_counted)
{
	int64_t shape = 6 * MIB;
	tl_stats before = {.struct_size = sizeof before}, after = before;
	begin(0);
	CHECK_OK(tl_stats_get(&before));
	seen.victims[seen.count++] = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &shape);
	void* object = tl_mem_alloc(8 * MIB);
	CHECK(object != NULL && seen.calls == 1);
	CHECK_OK(tl_stats_get(&after));
	CHECK_INT(after.tensors_live, before.tensors_live);
	CHECK_OK(tl_ptr_release(object));
	end();
}

TEST(a_callback_that_says_no_ends_it)
{
	begin(1);
	CHECK_REFUSED(tl_mem_alloc(11 * MIB), 0, TL_E_LIMIT);
	CHECK_INT(seen.calls, 2); /* released its only victim, and had no more */
	CHECK_INT(seen.attempt, 2);
	CHECK(says("tl_mem_alloc: TL_E_LIMIT: 11 MiB requested of cpu"));
	end();
}

/* The callback's own failures are not told to it, and the message stays the call's. */
TEST(the_callback_may_call_everything)
{
	begin(0);
	seen.nested = true;
	CHECK_REFUSED(tl_mem_new(12 * MIB), 0, TL_E_LIMIT);
	CHECK_INT(seen.calls, 1);
	CHECK(says("tl_mem_new: TL_E_LIMIT: 12 MiB requested"));
	CHECK_INT(tl_get_scope_depth(), 0);
	end();
}

TEST(tensors_pools_and_vecs_ask_as_well)
{
	int64_t shape = 6 * MIB;
	device d = {0};
	begin(1);
	CHECK_OK(tl_mem_enter_scope());
	void* tensor = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &shape);
	CHECK(tensor != NULL && seen.calls == 1);
	CHECK_OK(tl_mem_exit_scope());
	end();
	begin(1);
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(0);
	CHECK_OK(tl_vec_reserve(vec, MIB));
	CHECK_INT(seen.calls, 1);
	CHECK_OK(tl_mem_exit_scope());
	end();
	begin(1);
	tl_memory_pool* pool = device_pool(&d, 6 * MIB);
	CHECK(pool != NULL && seen.calls == 1 && seen.device == TL_MEM_OWN_ALLOCATORS);
	CHECK_INT(seen.requested, 6 * MIB);
	void* block = tl_memory_pool_allocate(pool, 6 * MIB);
	CHECK_REFUSED(tl_memory_pool_allocate(pool, 6 * MIB), 0, TL_E_LIMIT);
	CHECK_INT(seen.calls, 2);
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	device_end(&d, pool);
	end();
}

TEST(other_failures_ask_nobody)
{
	begin(2);
	CHECK_FAILS(tl_ptr_release((void*)0x1230), TL_E_UNKNOWN_POINTER);
	CHECK_REFUSED(tl_vec_new(SIZE_MAX), 0, TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_pool_set_limits(9999, 0), TL_E_INVALID_ARGUMENT);
	CHECK_INT(seen.calls, 0);
	end();
}

TEST(a_jump_out_of_the_callback_is_fine)
{
	for (int turn = 0; turn < 3; turn++) {
		jmp_buf away;
		begin(1);
		seen.away = &away;
		CHECK_OK(tl_mem_enter_scope());
		if (setjmp(away) == 0) {
			tl_mem_new(9 * MIB);
			CHECK(false);
		}
		CHECK_OK(tl_mem_exit_scopes_to(0));
		CHECK_INT(seen.calls, 1);
		seen.away = NULL;
		CHECK_OK(tl_ptr_release(tl_mem_alloc(9 * MIB))); /* asks again, and gets it */
		CHECK_INT(seen.calls, 2);
		end();
	}
}

THREAD(fail_in_a_thread, unused) { CHECK_REFUSED(tl_mem_alloc(64 * MIB), 0, TL_E_LIMIT); }

static bool count_only(int32_t device, size_t requested, uint32_t attempt, void* ctx)
{
	CHECK(device == 0 && requested == 64 * MIB && attempt == 1);
	__atomic_add_fetch((int*)ctx, 1, __ATOMIC_RELAXED);
	return false;
}

TEST(threads_ask_each_for_itself)
{
	pthread_t threads[8];
	int calls = 0;
	begin(0);
	CHECK_OK(tl_mem_set_out_of_memory_callback(count_only, &calls));
	for (int i = 0; i < 8; i++) threads[i] = start_thread(fail_in_a_thread, NULL);
	for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
	CHECK_INT(calls, 8);
	end();
}

/* After its context was parked a thread uses the one that such threads share, under a
 * lock, which must not be held while the callback runs. */
static pthread_key_t late;

static bool call_from_late(int32_t device, size_t requested, uint32_t attempt, void* ctx)
{
	(void)device;
	__atomic_add_fetch((int*)ctx, 1, __ATOMIC_RELAXED);
	if (requested != 32 * MIB) return false;
	run_thread(fail_in_a_thread, NULL);
	CHECK_PTR(tl_mem_alloc(requested), NULL);
	return attempt < 2;
}

static void after_the_end(void* rounds)
{
	/* Destructors of thread-local storage run in rounds; the last ones come after the library's. */
	if (--*(int*)rounds > 0) {
		pthread_setspecific(late, rounds);
		return;
	}
	CHECK_PTR(tl_mem_alloc(32 * MIB), NULL); /* the error is in the context, which others use too */
}

THREAD(end_late, rounds)
{
	CHECK(tl_get_scope_depth() == 0);
	pthread_setspecific(late, rounds);
}

TEST(the_shared_context_asks_without_its_lock)
{
	int rounds = 3, calls = 0;
	begin(0);
	CHECK_INT(pthread_key_create(&late, after_the_end), 0);
	CHECK_OK(tl_mem_set_out_of_memory_callback(call_from_late, &calls));
	run_thread(end_late, &rounds);
	CHECK_INT(rounds, 0);
	CHECK_INT(calls, 4); /* two attempts, and a thread in each that asks as well */
	pthread_key_delete(late);
	end();
}

static int told;
static void count_errors(tl_status status, const char* message, void* ctx)
{
	(void)ctx;
	told++;
	CHECK_STATUS(status, TL_E_LIMIT);
	CHECK(strstr(message, "requested of cpu") != NULL);
}

TEST(errors_are_told_once_and_only_when_they_stay)
{
	begin(2);
	CHECK_OK(tl_set_error_callback(count_errors, NULL));
	void* object = tl_mem_alloc(5 * MIB);
	CHECK(object != NULL);
	CHECK_INT(told, 0);
	CHECK_REFUSED(tl_mem_alloc(50 * MIB), 0, TL_E_LIMIT);
	CHECK_INT(told, 1);
	CHECK_OK(tl_set_error_callback(NULL, NULL));
	CHECK_OK(tl_ptr_release(object));
	end();
}

/* The child is in the callback, too, and comes back out of it without Go. */
static pid_t forked = -1;
static bool fork_once(int32_t device, size_t requested, uint32_t attempt, void* ctx)
{
	(void)device, (void)requested, (void)attempt, (void)ctx;
	forked = fork();
	return forked == 0;
}

TEST(a_callback_that_forks)
{
	int status = -1;
	begin(0);
	CHECK_OK(tl_mem_set_out_of_memory_callback(fork_once, NULL));
	void* object = tl_mem_alloc(64 * MIB);
	tl_status last = tl_last_status();
	if (forked == 0) _exit(object == NULL && last == TL_E_LIMIT && tl_mem_exit_scope() != TL_OK ? 0 : 1);
	CHECK(object == NULL && last == TL_E_LIMIT);
	CHECK(waitpid(forked, &status, 0) == forked && status == 0);
	end();
}

TEST(a_forked_child_has_no_callback)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) _exit(tl_mem_set_out_of_memory_callback(resort, NULL) == TL_E_FORKED ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* covers: tl_mem_set_out_of_memory_callback TL_E_OUT_OF_MEMORY */
static void without_a_runtime_there_is_none(const char* program)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		setenv("TL_FAIL_MEMORY", "0", 1);
		execl(program, program, "no memory", (char*)NULL);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char** argv)
{
	if (argc > 1) return tl_mem_set_out_of_memory_callback(resort, NULL) == TL_E_OUT_OF_MEMORY ? 0 : 1;
	without_a_runtime_there_is_none(argv[0]);
	CHECK_OK(tl_init());
	return check_tests();
}
