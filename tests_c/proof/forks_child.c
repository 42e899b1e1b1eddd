/* What works in a child of fork(), and what is refused: docs/threads-and-fork.md, line by line. */
#include "forks.h"

#include <sys/syscall.h>

bool runs_fast;

void count_deletion(void* block, void* deletions)
{
	__atomic_add_fetch((int*)deletions, 1, __ATOMIC_RELAXED);
	free(block);
}

void end_child(bool by_exit)
{
	if (by_exit) exit(check_failures != 0);
	_exit(check_failures != 0);
}

/* A call of the fast path. */
static bool served(tl_status status)
{
	CHECK_STATUS(status, runs_fast ? TL_OK : TL_E_FORKED);
	return status == TL_OK;
}

static bool made(const void* result)
{
	if (runs_fast) CHECK(result != NULL);
	else if (check_failed(result == NULL && tl_last_status() == TL_E_FORKED))
		fprintf(stderr, "%p with %s\n", result, tl_status_string(tl_last_status()));
	return result != NULL;
}

static void counts_and_scopes(const stock* s)
{
	served(tl_ptr_inc_ref(s->object));
	served(tl_ptr_release(s->object));
	served(tl_ptr_check(s->object));
	CHECK_INT(tl_ptr_refcount(s->object), runs_fast ? 2 : -1); /* the Vec has the other */
	if (!served(tl_mem_enter_scope())) return;
	for (int i = 0; i < 8; i++) {
		char* object = tl_mem_new(64);
		if (made(object)) object[63] = 1;
	}
	served(tl_mem_function_enter(1));
	CHECK(tl_mem_get_buffer(0, 100) != NULL);
	served(tl_mem_function_exit());
	served(tl_mem_exit_scope());
}

static void families(const stock* s)
{
	CHECK_PTR(tl_vec_get(s->vec, 0), runs_fast ? s->object : NULL);
	if (runs_fast) {
		CHECK_INT(tl_vec_len(s->vec), 1);
		CHECK_PTR(tl_vec_pop(s->vec), s->object);
		CHECK_OK(tl_vec_push(s->vec, s->object)); /* there is room */
		CHECK_OK(tl_vec_set(s->vec, 0, s->object));
		CHECK_INT(tl_tensor_len(s->tensor), s->length);
	}
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &s->length);
	if (made(tensor)) served(tl_ptr_release(tensor));
	void* vec = tl_vec_new(4);
	if (made(vec)) served(tl_ptr_release(vec));
	void* block = tl_memory_pool_allocate(s->pool, 1000);
	if (made(block)) served(tl_memory_pool_deallocate(s->pool, block));
	void* foreign = malloc(600);
	if (served(tl_mem_register_struct(foreign))) CHECK_COUNT(foreign, 1);
	void* array = tl_numpy_malloc(NULL, 5000);
	CHECK(array != NULL);
	tl_numpy_free(NULL, array, 5000);
}

static void refused(const stock* s)
{
	tl_stats stats = {.struct_size = sizeof stats};
	tl_plan* plan = NULL;
	CHECK_FAILS(tl_stats_get(&stats), TL_E_FORKED);
	CHECK_FAILS(tl_mem_purge(), TL_E_FORKED);
	CHECK_FAILS(tl_shutdown(), TL_E_FORKED);
	CHECK_FAILS(tl_plan_create(&plan), TL_E_FORKED);
	CHECK_FAILS(tl_vec_reserve(s->vec, 8 << 20), TL_E_FORKED);
	CHECK_REFUSED(tl_mem_collect_cycles(), -1, TL_E_FORKED);
	CHECK_REFUSED(tl_mem_deep_clone(s->object), 0, TL_E_FORKED);
	CHECK_REFUSED(tl_mem_alloc(64 << 20), 0, TL_E_FORKED);
	CHECK(strstr(tl_last_error(), tl_status_string(TL_E_FORKED)) != NULL);
	CHECK(strchr(tl_version(), '.') != NULL);
	CHECK(tl_get_memory_bytes() > 0);
}

/* Until the magazine is empty, and again. */
static void all_that_is_left(const stock* s)
{
	int got = 0;
	(void)s;
	while (got < 1 << 20 && tl_mem_alloc(64) != NULL) got++;
	CHECK_STATUS(tl_last_status(), TL_E_FORKED);
	CHECK_REFUSED(tl_mem_alloc(64), 0, TL_E_FORKED);
	CHECK(runs_fast ? got >= 8 : got == 0);
}

/* What a deleter would end stays; the rest goes. */
static void no_deleter(const stock* s)
{
	CHECK_FAILS(tl_ptr_release(s->watched), TL_E_FORKED);
	CHECK_FAILS(tl_registry_unregister(s->watched), TL_E_FORKED);
	CHECK_INT(*s->deletions, s->deletions_before);
	served(tl_ptr_release(s->tensor));
}

static void* of_another_thread(void* s)
{
	tl_status status = tl_mem_enter_scope();
	CHECK(status == TL_E_FORKED || (status == TL_OK && runs_fast));
	void* object = tl_mem_alloc(64);
	CHECK(object != NULL || tl_last_status() == TL_E_FORKED);
	refused(s);
	return NULL;
}

static void threads_of_the_child(const stock* s)
{
	pthread_t thread;
	CHECK_INT(pthread_create(&thread, NULL, of_another_thread, (void*)s), 0);
	pthread_join(thread, NULL);
	counts_and_scopes(s);
}

static void expect_good_end(pid_t child)
{
	int status = -1;
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

static void children_of_the_child(const stock* s)
{
	pid_t child = fork();
	if (child == 0) {
		alarm(LIMITED_PATIENCE);
		counts_and_scopes(s);
		refused(s);
		end_child(true);
	}
	expect_good_end(child);
	families(s);
}

/* Without the handlers of pthread_atfork: what a page that the kernel wipes tells. */
static void children_by_clone(const stock* s)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0) {
		alarm(LIMITED_PATIENCE);
		counts_and_scopes(s);
		refused(s);
		end_child(false);
	}
	expect_good_end(child);
}

const struct child_kind child_kinds[] = {
	{"counts and scopes", counts_and_scopes},
	{"families", families},
	{"what is refused", refused},
	{"all that is left", all_that_is_left},
	{"no deleter", no_deleter},
	{"threads of the child", threads_of_the_child},
	{"children of the child", children_of_the_child},
	{"children by clone", children_by_clone},
};
const int child_kind_count = sizeof child_kinds / sizeof *child_kinds;
