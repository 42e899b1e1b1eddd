/* Children of a busy program: by fork from two threads at once, by vfork and by posix_spawn,
 * while other threads use every family.
 *
 *     forks            as many as PROVE_SCALE says
 *     forks spawned    is a program that was started by one
 */
#include <spawn.h>
#include <stdatomic.h>

#include "forks.h"

enum { BUSY = 3, FORKING = 2, CHILDREN = 10000, PROGRAMS = 1000, PATIENCE = 30 };

static const char* program;
static atomic_bool stop;
static atomic_long tried, failed;

/* ---- a busy program --------------------------------------------------------------------- */

static void* is_busy(void* unused)
{
	for (unsigned turn = 0; !stop; turn++) {
		limited_objects();
		limited_tensors();
		limited_pools();
		limited_errors(20);
		if (turn % 8 == 0) limited_plan(30);
		if (turn % 16 == 0) CHECK(tl_mem_collect_cycles() >= 0);
	}
	return unused;
}

/* ---- fork ------------------------------------------------------------------------------- */

static void lay_in(stock* s)
{
	void* kept[16];
	s->deletions_before = *s->deletions;
	CHECK_OK(tl_mem_enter_scope());
	s->vec = tl_ptr_acquire(tl_vec_new(1));
	s->object = tl_ptr_acquire(tl_mem_new(64));
	CHECK_OK(tl_vec_push(s->vec, s->object));
	s->tensor = tl_ptr_acquire(tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &s->length));
	s->watched = malloc(64);
	CHECK_OK(tl_registry_register_custom(s->watched, 64, count_deletion, s->deletions));
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(TL_DEVICE_CPU), LIMITED_MIB, &s->pool));
	CHECK_OK(tl_memory_pool_deallocate(s->pool, tl_memory_pool_allocate(s->pool, 1000)));
	tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &s->length); /* the scope's, then the pool's */
	for (int i = 0; i < 16; i++) kept[i] = tl_mem_alloc(64);
	for (int i = 0; i < 16; i++) CHECK_OK(tl_ptr_release(kept[i]));
	CHECK_OK(tl_mem_exit_scope());
}

static void use_up(const stock* s)
{
	CHECK_COUNT(s->object, 2);
	CHECK_OK(tl_ptr_release(s->vec));
	CHECK_COUNT(s->object, 1);
	CHECK_OK(tl_ptr_release(s->object));
	CHECK_OK(tl_ptr_release(s->tensor));
	CHECK_OK(tl_registry_unregister(s->watched));
	CHECK_INT(*s->deletions, s->deletions_before + 1);
	CHECK_OK(tl_memory_pool_destroy(s->pool));
}

static bool ends_well(pid_t child, const char* what)
{
	int status = -1;
	bool good = child > 0 && waitpid(child, &status, 0) == child && status == 0;
	tried++;
	if (good) return true;
	failed++;
	printf("failed: %s: status %#x, seed %" PRIu64 "\n", what, (unsigned)status, prove_seed());
	return false;
}

static void fork_once(const stock* s, const struct child_kind* kind, bool by_exit)
{
	pid_t child = fork();
	if (child == 0) {
		alarm(PATIENCE);
		check_failures = 0;
		kind->body(s);
		end_child(by_exit);
	}
	ends_well(child, kind->name);
}

static void* forks(void* number)
{
	long count = prove_share(CHILDREN) / FORKING;
	int deletions = 0;
	uint64_t state = prove_seed() + (uint64_t)(uintptr_t)number;
	for (long i = 0; i < count; i++) {
		stock s = {.length = 1000 + (int64_t)(uintptr_t)number, .deletions = &deletions};
		lay_in(&s);
		uint64_t random = check_random(&state);
		fork_once(&s, &child_kinds[i % child_kind_count], random >> 60 == 0);
		use_up(&s);
	}
	return NULL;
}

/* ---- a child that comes back from a deleter ---------------------------------------------- */

static pid_t made_in_a_deleter = -1;

static void fork_in(void* block, void* unused)
{
	(void)unused;
	free(block);
	made_in_a_deleter = fork();
}

static void fork_in_deleters(long count)
{
	for (long i = 0; i < count; i++) {
		void* block = malloc(64);
		CHECK_OK(tl_registry_register_custom(block, 64, fork_in, NULL));
		tl_status status = tl_registry_unregister(block);
		tl_stats stats = {.struct_size = sizeof stats};
		if (made_in_a_deleter == 0) {
			alarm(PATIENCE);
			check_failures = 0;
			CHECK(status == TL_OK || status == TL_E_FORKED);
			CHECK_FAILS(tl_stats_get(&stats), TL_E_FORKED);
			end_child(false);
		}
		CHECK_OK(status);
		ends_well(made_in_a_deleter, "fork in a deleter");
	}
}

/* ---- new programs ------------------------------------------------------------------------- */

static int spawned(void)
{
	alarm(PATIENCE);
	if (freopen("/dev/null", "w", stdout) == NULL) return 1;
	limited_thread(NULL);
	limited_pools();
	return limited_end() == LIMITED_WORKS ? 0 : 1;
}

static pid_t start_by_vfork(char* const arguments[])
{
	pid_t child = vfork();
	if (child == 0) {
		execv(program, arguments);
		_exit(LIMITED_NOT_LOADED);
	}
	return child;
}

static pid_t start_by_spawn(char* const arguments[])
{
	pid_t child = -1;
	return posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0 ? child : -1;
}

static void start_programs(long count)
{
	char* const arguments[] = {(char*)program, "spawned", NULL};
	for (long i = 0; i < count; i += 2) {
		ends_well(start_by_spawn(arguments), "posix_spawn");
		ends_well(start_by_vfork(arguments), "vfork and exec");
	}
}

static int tell(const char* what)
{
	long t = atomic_exchange(&tried, 0), f = atomic_exchange(&failed, 0);
	return prove_told(what, t, f, NULL);
}

int main(int argc, char** argv)
{
	const char *path = getenv("TL_FASTPATH"), *debug = getenv("TL_DEBUG");
	pthread_t busy[BUSY], forking[FORKING];
	int bad = 0;
	program = argv[0];
	runs_fast = (path == NULL || strcmp(path, "0") != 0) && (debug == NULL || strcmp(debug, "1") != 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) return spawned();
	CHECK_OK(tl_init());
	for (int i = 0; i < BUSY; i++) busy[i] = start_thread(is_busy, NULL);
	for (int i = 0; i < FORKING; i++) forking[i] = start_thread(forks, (void*)(uintptr_t)(i + 1));
	for (int i = 0; i < FORKING; i++) pthread_join(forking[i], NULL);
	fork_in_deleters(prove_share(CHILDREN / 20));
	bad |= tell("children by fork");
	start_programs(prove_share(PROGRAMS));
	bad |= tell("programs by posix_spawn and vfork");
	stop = true;
	for (int i = 0; i < BUSY; i++) pthread_join(busy[i], NULL);
	CHECK_INT(limited_short_calls, 0);
	return check_finish() | bad;
}
