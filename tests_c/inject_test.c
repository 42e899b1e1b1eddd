/* Out of memory at each system call: TL_FAIL_MEMORY=n lets n calls about memory
 * succeed and refuses the rest. For every n until nothing fails any more, a new
 * process goes through the whole interface. It must not crash, every failure must
 * be TL_E_OUT_OF_MEMORY, and what was made must be releasable.
 *
 *     inject_test            every n
 *     inject_test work       one of them, as TL_FAIL_MEMORY says
 */
#include "check.h"
#include "thread.h"

static const char* program;
static int refused;

/* Counts refusals; anything but the one documented reason is a failure. */
static void expect(bool worked, const char* what)
{
	if (worked) return;
	refused++;
	check_status(tl_last_status(), TL_E_OUT_OF_MEMORY, what, refused, "reason");
}

#define TRY(call) expect((call) == TL_OK, #call)
#define TRY_POINTER(call) expect((call) != NULL, #call)

static void objects(tl_type type)
{
	TRY(tl_mem_enter_scope());
	if (tl_get_scope_depth() == 0) return;
	for (int i = 0; i < 3000; i++) TRY_POINTER(tl_mem_new((size_t)(32 + i * 7 % 5000)));
	TRY_POINTER(tl_mem_new(8 << 20));
	for (int i = 0; i < 100 && type != 0; i++) {
		void* object = tl_object_new(type);
		expect(object != NULL, "tl_object_new");
		if (object != NULL) TRY_POINTER(tl_mem_deep_clone(object));
	}
	CHECK_OK(tl_mem_exit_scope());
}

static void vecs_and_foreign_memory(void)
{
	TRY(tl_mem_enter_scope());
	if (tl_get_scope_depth() == 0) return;
	void* vec = tl_vec_new(4);
	expect(vec != NULL, "tl_vec_new");
	for (int i = 0; i < 20000; i++) {
		void* block = malloc(24);
		tl_status status = tl_mem_register_struct(block);
		expect(status == TL_OK, "tl_mem_register_struct");
		if (status != TL_OK) free(block);
		else if (vec != NULL) TRY(tl_vec_push(vec, block));
	}
	CHECK_OK(tl_mem_exit_scope());
}

static void tensors(void)
{
	int64_t shape[2] = {40, 50};
	TRY(tl_mem_function_enter(2));
	if (tl_get_scope_depth() == 0) return;
	for (int i = 0; i < 50; i++) TRY_POINTER(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, shape));
	tl_tensor_in_slot(0, TL_DTYPE_F32, 2, shape);
	CHECK_OK(tl_mem_function_exit());
}

THREAD(in_a_thread, object)
{
	objects(0);
	if (object != NULL) TRY(tl_ptr_release(object));
}

/* The other thread's release needs an inbox node; without one nothing changed. */
static void threads(void)
{
	for (int i = 0; i < 20; i++) {
		void* object = tl_mem_alloc(64);
		int before = refused;
		expect(object != NULL, "tl_mem_alloc");
		run_thread(in_a_thread, object);
		if (refused != before && tl_ptr_refcount(object) > 0) CHECK_OK(tl_ptr_release(object));
	}
	TRY(tl_mem_enter_scope());
	if (tl_get_scope_depth() > 0) CHECK_OK(tl_mem_exit_scope());
}

static int work(void)
{
	tl_type type = 0;
	tl_type_desc desc = {.name = "injected", .size = 100};
	tl_status status = tl_init();
	expect(status == TL_OK, "tl_init");
	if (status != TL_OK) return check_failures != 0 ? 1 : 2;
	TRY(tl_type_define(&desc, &type));
	objects(type);
	vecs_and_foreign_memory();
	tensors();
	threads();
	expect(tl_mem_collect_cycles() >= 0, "tl_mem_collect_cycles");
	TRY(tl_arena_init(1 << 20));
	TRY(tl_arena_free());
	CHECK_INT(tl_get_scope_depth(), 0);
	if (check_finish() != 0) return 1;
	return refused > 0 ? 2 : 0;
}

/* Exit status of one child: 0 nothing was refused, 2 something was, 1 wrong. */
static int with_calls(int allowed)
{
	char text[16];
	pid_t child = fork();
	if (child == 0) {
		snprintf(text, sizeof text, "%d", allowed);
		setenv("TL_FAIL_MEMORY", text, 1);
		freopen("/dev/null", "w", stdout);
		execl(program, program, "work", (char*)NULL);
		_exit(127);
	}
	return check_exit_of(child);
}

int main(int argc, char** argv)
{
	enum { MAX = 2000 };
	int allowed = 0, result = 2, refusals = 0;
	program = argv[0];
	if (argc > 1 && strcmp(argv[1], "work") == 0) return work();
	for (; allowed < MAX && result != 0; allowed++) {
		result = with_calls(allowed);
		if (check_failed(result == 0 || result == 2))
			fprintf(stderr, "after %d system calls: exit status %d\n", allowed, result);
		refusals += result == 2;
	}
	CHECK_INT(result, 0);
	CHECK(refusals > 5);
	printf("%d system calls, each refused once\n", refusals);
	return check_finish();
}
