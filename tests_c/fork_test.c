/* fork: the child's fast path works, its slow path says TL_E_FORKED, nothing hangs.
 *
 *     fork_test [children]
 */
#include <stdatomic.h>

#include "check.h"
#include "thread.h"

enum { PATIENCE = 30 }; /* seconds a child may take before it counts as hung */

/* Runs body in a child; true when it ends by itself with status 0. */
static bool in_child(void (*body)(void))
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		alarm(PATIENCE);
		check_failures = 0;
		body();
		fflush(NULL);
		_exit(check_failures != 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void* inherited; /* held by a counted reference */
static int runs_fast;

static void* new_held(void)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_ptr_acquire(tl_mem_new(64));
	CHECK_OK(tl_mem_exit_scope());
	return object;
}

static tl_status fine_or_forked(tl_status status)
{
	return status == TL_OK ? TL_OK : status == TL_E_FORKED && !runs_fast ? TL_OK : status;
}

static void use_the_fast_path(void)
{
	int* object;
	if (runs_fast) {
		CHECK_OK(tl_ptr_inc_ref(inherited));
		CHECK_COUNT(inherited, 2);
		CHECK_OK(tl_ptr_release(inherited));
		CHECK_OK(tl_mem_enter_scope());
		object = tl_mem_new(64);
		CHECK(object != NULL);
		*object = 5;
		CHECK_COUNT(object, 1);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_OK(tl_mem_function_enter(1));
		CHECK(tl_mem_get_buffer(0, 100) != NULL);
		for (int i = 0; i < 40; i++) /* in pages that nobody has seen */
			CHECK_OK(tl_mem_register_struct(malloc(600)));
		CHECK_OK(tl_mem_function_exit());
		return;
	}
	CHECK_OK(fine_or_forked(tl_ptr_inc_ref(inherited)));
	CHECK_OK(fine_or_forked(tl_ref_check(tl_ref_of(inherited))));
	CHECK_OK(fine_or_forked(tl_mem_enter_scope()));
}

static void use_the_slow_path(void)
{
	tl_type type = 0;
	tl_type_desc desc = {.name = "late", .size = 32};
	tl_stats stats = {.struct_size = sizeof stats};
	CHECK_FAILS(tl_type_define(&desc, &type), TL_E_FORKED);
	CHECK_REFUSED(tl_mem_collect_cycles(), -1, TL_E_FORKED);
	CHECK_FAILS(tl_stats_get(&stats), TL_E_FORKED);
	CHECK_FAILS(tl_mem_purge(), TL_E_FORKED);
	CHECK_REFUSED(tl_mem_alloc(64 << 20), 0, TL_E_FORKED);
	CHECK_REFUSED(tl_vec_new(4), 0, TL_E_FORKED);
	CHECK_REFUSED(tl_plan_add_buffer(NULL, 64, 64, 0, 1), -1, TL_E_FORKED);
	CHECK_REFUSED(tl_plan_add_buffers(NULL, NULL, 0), -1, TL_E_FORKED);
	CHECK_REFUSED(tl_plan_add_space(NULL, 64), -1, TL_E_FORKED);
	CHECK_REFUSED(tl_plan_num_buffers(NULL), -1, TL_E_FORKED);
	CHECK_REFUSED(tl_plan_space_of(NULL, 0), -1, TL_E_FORKED);
	CHECK_REFUSED(tl_plan_offset(NULL, 0), SIZE_MAX, TL_E_FORKED);
	CHECK(strstr(tl_last_error(), tl_status_string(TL_E_FORKED)) != NULL);
	CHECK(strchr(tl_version(), '.') != NULL);
	CHECK_INT(tl_abi_version(), TL_ABI_VERSION);
	CHECK(tl_get_memory_bytes() > 0);
}

/* Everything until the magazine is empty, and on: NULL with a reason, no hang. */
static void exhaust_what_was_inherited(void)
{
	for (int i = 0; i < 100000; i++) {
		void* object = tl_mem_alloc(64);
		if (object == NULL) {
			CHECK_STATUS(tl_last_status(), TL_E_FORKED);
			return;
		}
	}
	CHECK(!"an empty magazine was refilled in the child");
}

static void fork_again(void) { CHECK(in_child(use_the_fast_path)); }

TEST(a_child_works)
{
	inherited = new_held();
	CHECK_OK(tl_mem_free(tl_mem_alloc(128)));
	CHECK(in_child(use_the_fast_path));
	CHECK(in_child(use_the_slow_path));
	CHECK(in_child(exhaust_what_was_inherited));
	CHECK(in_child(fork_again));
	CHECK_COUNT(inherited, 1);
	CHECK_OK(tl_ptr_release(inherited));
}

static void use_the_arena(void)
{
	int64_t inside = tl_arena_get_offset();
	if (!runs_fast) return;
	CHECK_OK(tl_arena_set_offset(inside));
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_arena_alloc(64) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_arena_set_offset(inside));
	CHECK_OK(tl_arena_set_offset(64)); /* older than the scope */
	CHECK(tl_arena_alloc(256) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), 128);
}

TEST(a_child_goes_on_with_the_arena)
{
	CHECK_OK(tl_arena_init(65536));
	CHECK(tl_arena_alloc(128) != NULL);
	CHECK_OK(tl_mem_enter_scope());
	CHECK(in_child(use_the_arena));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_arena_free());
}

static tl_tensor *lent, *part;
static int lent_ended;

static void end_lent(void* data, void* ctx)
{
	(void)data, (void)ctx;
	lent_ended++;
}

static void drop_the_last_view(void)
{
	CHECK(tl_view_slice(part, 0, 0, 1, 1) != NULL); /* views are made here too */
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_last_status());
	CHECK_INT(lent_ended, 0);
	CHECK_COUNT(lent, 1); /* stays as it is: its deleter is not called */
}

TEST(what_a_child_cannot_finish_is_no_error)
{
	static float data[8];
	const int64_t n = 8;
	if (!runs_fast) return; /* where every call of a child is refused */
	CHECK_OK(tl_mem_enter_scope());
	lent = tl_tensor_from_buffer(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &n, data, NULL, end_lent, NULL);
	part = tl_view_slice(lent, 0, 0, 4, 1);
	CHECK_OK(tl_tensor_free(lent));
	CHECK(in_child(drop_the_last_view));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(lent_ended, 1);
}

static void* deferred_list;

/* No function of the program ends memory in a child, but tl_deferred_push is the library's. */
static void borrow_what_the_library_ends(void)
{
	enum { TIMES = 10000 };
	static double data[12];
	const int64_t shape[2] = {3, 4};
	const tl_tensor_info info = {
		.struct_size = sizeof info, .data = data, .shape = shape, .dtype = TL_DTYPE_F64, .rank = 2};
	CHECK_REFUSED(tl_tensor_wrap(&info, end_lent, NULL), 0, TL_E_FORKED);
	if (!runs_fast) {
		CHECK_REFUSED(tl_tensor_wrap(&info, tl_deferred_push, NULL), 0, TL_E_FORKED);
		return;
	}
	for (int i = 0; i < TIMES; i++) {
		tl_deferred node = {NULL, &deferred_list};
		tl_tensor* tensor = tl_tensor_wrap(&info, tl_deferred_push, &node);
		tl_tensor* view = tl_view_transpose(tensor, 0, 1);
		CHECK_PTR(tl_tensor_data(view), data);
		CHECK_OK(tl_tensor_free(i % 2 ? tensor : view));
		CHECK_PTR(deferred_list, NULL);
		CHECK_OK(tl_tensor_free(i % 2 ? view : tensor));
		CHECK_PTR(tl_deferred_take(&deferred_list), &node);
	}
}

TEST_IN_SCOPE(a_child_borrows_memory)
{
	const int64_t two = 2;
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &two);
	CHECK(tl_view_slice(tensor, 0, 0, 1, 1) != NULL); /* the thread has headers now */
	CHECK(in_child(borrow_what_the_library_ends));
}

static void name_what_was_inherited(void)
{
	tl_clear_error();
	CHECK_PTR(tl_track_site(inherited, __FILE__, __LINE__), inherited);
	CHECK_OK(tl_log_alloc(inherited, 64, __FILE__, __LINE__));
	CHECK_OK(tl_last_status());
}

/* A child records nothing, so that there is nothing to refuse. */
TEST(a_child_of_a_tracked_program_names_nothing)
{
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	inherited = new_held();
	CHECK(in_child(name_what_was_inherited));
	CHECK_OK(tl_ptr_release(inherited));
	CHECK_OK(tl_configure("TL_TRACK", "0"));
}

static void end_with_exit(void)
{
	if (runs_fast) CHECK_OK(tl_mem_enter_scope());
	exit(check_failures != 0);
}

TEST(a_child_exits) { CHECK(in_child(end_with_exit)); }

static atomic_bool stop;

THREAD(register_all_the_time, unused)
{
	while (!atomic_load(&stop)) {
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < 50; i++) CHECK_OK(tl_mem_register_struct(malloc(48)));
		CHECK_OK(tl_mem_exit_scope());
	}
}

static void register_in_the_child(void)
{
	void* object = malloc(48);
	tl_status status = tl_mem_enter_scope();
	CHECK_OK(fine_or_forked(status));
	for (int i = 0; i < 100; i++) CHECK_OK(fine_or_forked(tl_ptr_inc_ref(inherited)));
	/* A full shard needs the slow path to grow; that is an answer as well. */
	status = tl_mem_register_struct(object);
	CHECK(status == TL_OK || status == TL_E_FORKED);
	if (status == TL_OK) CHECK_COUNT(object, 1);
	CHECK_OK(fine_or_forked(tl_mem_exit_scope()));
}

static int children = 200;

TEST(every_child_finishes_while_others_register)
{
	enum { BUSY = 4 };
	pthread_t threads[BUSY];
	int finished = 0;
	inherited = new_held();
	atomic_store(&stop, false);
	for (int i = 0; i < BUSY; i++) threads[i] = start_thread(register_all_the_time, NULL);
	for (int i = 0; i < children; i++) finished += in_child(register_in_the_child);
	atomic_store(&stop, true);
	for (int i = 0; i < BUSY; i++) pthread_join(threads[i], NULL);
	CHECK_INT(finished, children);
	CHECK_OK(tl_ptr_release(inherited));
}

int main(int argc, char** argv)
{
	const char* path = getenv("TL_FASTPATH");
	runs_fast = path == NULL || strcmp(path, "0") != 0;
	if (argc > 1) children = atoi(argv[1]);
	CHECK_OK(tl_init());
	return check_tests();
}
