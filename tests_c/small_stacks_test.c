/* Calls from small stacks: of threads with 16 KiB, and of coroutines, which have no guard. Each sort of call is made in
 * each mode, by a process of its own, while another thread keeps Go's collector at work. */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>

#include "check.h"
#include "device.h"
#include "small_stack.h"

extern char** environ;

enum { ROUNDS = 20, OBJECTS = 1000 };

/* ---- sorts of calls ------------------------------------------------------------------------- */

static void objects(void* unused)
{
	void* made[64];
	(void)unused;
	for (int i = 0; i < 64; i++) made[i] = tl_mem_alloc(200);
	for (int i = 0; i < 64; i++) tl_ptr_release(made[i]);
}

static void many_objects(void* unused)
{
	static void* made[OBJECTS];
	(void)unused;
	for (int i = 0; i < OBJECTS; i++) made[i] = tl_mem_new(32);
	for (int i = 0; i < OBJECTS; i++) tl_ptr_release(made[i]);
}

static void large_objects(void* unused)
{
	(void)unused;
	tl_ptr_release(tl_mem_alloc(1 << 20));
}

static void scopes(void* unused)
{
	(void)unused;
	tl_mem_enter_scope();
	for (int i = 0; i < 100; i++) tl_mem_new(64);
	tl_mem_register_struct(malloc(100));
	tl_mem_exit_scope();
}

static void vecs(void* unused)
{
	(void)unused;
	void* vec = tl_vec_new(2);
	for (int i = 0; i < 40; i++) {
		void* object = tl_mem_new(32);
		tl_vec_push(vec, object);
		tl_ptr_release(object);
	}
	tl_ptr_release(vec);
}

static void tensors(void* unused)
{
	const int64_t shape[] = {3, 5}, order[] = {1, 0};
	(void)unused;
	tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	tl_tensor_release(tl_view_permute(t, 2, order));
	tl_tensor_release(t);
}

/* Turned by way of a buffer, of rank 4, and lines with gaps between them. */
static void copies(void* unused)
{
	static const int64_t square[] = {100, 100}, deep[] = {5, 6, 70, 80}, across[] = {1, 0}, inside_out[] = {3, 1, 2, 0};
	static const int32_t dtypes[] = {TL_DTYPE_U8, TL_DTYPE_F16, TL_DTYPE_F32, TL_DTYPE_F64, TL_DTYPE_C128};
	(void)unused;
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
		tl_tensor* flat = tl_tensor_new_zeroed(dtypes[i], TL_DEVICE_CPU, 2, square);
		tl_tensor* t = tl_tensor_new_zeroed(dtypes[i], TL_DEVICE_CPU, 4, deep);
		tl_tensor* turned[] = {tl_view_permute(flat, 2, across), tl_view_permute(t, 4, inside_out)};
		tl_tensor_release(tl_tensor_clone(turned[0]));
		tl_tensor_release(tl_tensor_clone(turned[1]));
		tl_tensor* halves[] = {tl_view_slice(flat, 0, 0, 100, 2), tl_view_slice(flat, 0, 1, 100, 2)};
		CHECK_OK(tl_tensor_copy(halves[0], halves[1]));
		for (int k = 0; k < 2; k++) tl_tensor_release(turned[k]), tl_tensor_release(halves[k]);
		tl_tensor_release(flat);
		tl_tensor_release(t);
	}
}

static void use_pool(const tl_device_allocator* allocator)
{
	static const size_t sizes[] = {100, 5000, 70000, 4 << 20};
	tl_memory_pool* pool = NULL;
	CHECK_OK(tl_memory_pool_create(allocator, 1 << 16, &pool));
	for (int i = 0; i < 4; i++) tl_memory_pool_deallocate(pool, tl_memory_pool_allocate(pool, sizes[i]));
	tl_memory_pool_destroy(pool);
}

static void pools(void* unused)
{
	(void)unused;
	use_pool(tl_device_allocator_for(TL_DEVICE_CPU));
}

static void arenas(void* unused)
{
	(void)unused;
	tl_arena_init(1 << 20);
	for (int i = 0; i < 100; i++) tl_arena_alloc(5000);
	tl_mem_function_enter(4);
	tl_mem_get_buffer(0, 100000);
	tl_mem_function_exit();
	tl_arena_free();
}

static void destroyed(void* object) { (void)object; }

static void typed_objects(void* unused)
{
	static tl_type type;
	static const size_t offsets[] = {0};
	const tl_type_desc description = {
		.name = "small", .size = 64, .pointer_offsets = offsets, .num_pointers = 1, .destructor = destroyed};
	(void)unused;
	if (type == 0) CHECK_OK(tl_type_define(&description, &type));
	for (int i = 0; i < 20; i++) {
		void** object = tl_object_new(type);
		if (object != NULL) object[0] = tl_object_new(type);
		tl_ptr_release(object);
	}
	tl_mem_collect_cycles();
}

static void failures(void* unused)
{
	int x = 0;
	(void)unused;
	tl_ptr_release(&x);
	tl_ptr_release((void*)0x1001);
	(void)tl_last_error();
	tl_mem_alloc(SIZE_MAX / 2);
	(void)tl_last_error();
	tl_mem_exit_scope();
	tl_clear_error();
}

static void figures(void* unused)
{
	static tl_stats stats = {.struct_size = sizeof stats};
	(void)unused;
	tl_stats_get(&stats);
	tl_mem_purge();
	tl_snapshot_write("/dev/null");
	tl_leak_report("/dev/null");
	tl_mem_check_all();
}

static void plans(void* unused)
{
	tl_plan* plan = NULL;
	(void)unused;
	CHECK_OK(tl_plan_create(&plan));
	for (int i = 0; i < 200; i++) tl_plan_add_buffer(plan, (size_t)(i % 7 + 1) * 64, 64, i, i + 3 + i % 5);
	CHECK_OK(tl_plan_solve(plan, 1));
	tl_plan_destroy(plan);
}

static const struct {
	const char* name;
	void (*calls)(void*);
} sorts[] = {{"objects", objects},
             {"many objects", many_objects},
             {"large objects", large_objects},
             {"scopes", scopes},
             {"vecs", vecs},
             {"typed objects", typed_objects},
             {"tensors", tensors},
             {"copies", copies},
             {"pools", pools},
             {"arenas", arenas},
             {"failures", failures},
             {"figures", figures},
             {"plans", plans}};
enum { SORTS = sizeof sorts / sizeof *sorts };

/* ---- the collector -------------------------------------------------------------------------- */

static atomic_bool ends;

/* Much memory of Go's. */
static void* collect(void* unused)
{
	while (!ends) plans(unused);
	return NULL;
}

/* ---- stacks --------------------------------------------------------------------------------- */

static void judge(const char* where, const char* what, size_t depth)
{
	if (check_failed(depth <= SMALL_STACK_MOST)) fprintf(stderr, "%s: %s: %zu bytes of stack\n", where, what, depth);
}

static void on_a_coroutine(void)
{
	small_stack s;
	small_stack_open(&s);
	for (int i = 0; i < SORTS; i++) {
		size_t deepest = 0;
		for (int round = 0; round < ROUNDS; round++) {
			size_t depth = small_stack_call(&s, sorts[i].calls, NULL);
			if (depth > deepest) deepest = depth;
		}
		judge("a coroutine", sorts[i].name, deepest);
	}
	small_stack_close(&s);
}

typedef struct caller {
	void (*calls)(void*);
	char *low, *top;
} caller;

static pthread_key_t late;

/* In all rounds of destructors: Go may have been left by then. */
static void call_late(void* of)
{
	((caller*)of)->calls(NULL);
	pthread_setspecific(late, of);
}

/* The first call of a thread and its last one, too. */
static void* call(void* of)
{
	caller* c = of;
	c->top = __builtin_frame_address(0);
	c->calls(NULL);
	CHECK_INT(pthread_setspecific(late, of), 0);
	return NULL;
}

static size_t on_a_thread(void (*calls)(void*))
{
	enum { LEAST = 20 << 10 };                          /* the C library's part, and thread-local storage, are above */
	const long minimum = sysconf(_SC_THREAD_STACK_MIN); /* more than 16 KiB on arm64 */
	const size_t bytes = minimum > LEAST ? (size_t)minimum : LEAST;
	pthread_attr_t attributes;
	pthread_t thread;
	char* low = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	caller c = {.calls = calls, .low = low};
	small_stack_paint(low, bytes);
	pthread_attr_init(&attributes);
	CHECK_INT(pthread_attr_setstack(&attributes, low, bytes), 0);
	CHECK_INT(pthread_create(&thread, &attributes, call, &c), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	size_t depth = small_stack_depth(low, c.top);
	munmap(low, bytes);
	return depth;
}

static void on_new_threads(void)
{
	for (int i = 0; i < SORTS; i++) judge("a new thread", sorts[i].name, on_a_thread(sorts[i].calls));
}

/* ---- functions of the program's ------------------------------------------------------------- */

static char *frame, *asked_at;

static void note_frame(void) { asked_at = __builtin_frame_address(0); }

static void own_allocator(void* unused)
{
	static device d = {.access = PROT_READ | PROT_WRITE, .during = note_frame};
	const tl_device_allocator allocator = device_allocator(&d, 4096);
	(void)unused;
	frame = __builtin_frame_address(0);
	use_pool(&allocator);
}

/* They run where the program's call came from. */
static void an_allocator_is_on_the_callers_stack(void)
{
	static small_stack s;
	small_stack_open(&s);
	small_stack_call(&s, own_allocator, NULL);
	CHECK(asked_at >= s.low && asked_at < frame);
	small_stack_close(&s);
}

/* ---- modes ---------------------------------------------------------------------------------- */

static int work(void)
{
	pthread_t collector;
	CHECK_INT(pthread_key_create(&late, call_late), 0);
	on_new_threads();
	CHECK_INT(pthread_create(&collector, NULL, collect, NULL), 0);
	on_a_coroutine();
	on_new_threads();
	an_allocator_is_on_the_callers_stack();
	ends = true;
	pthread_join(collector, NULL);
	tl_mem_exit_scopes_to(0);
	return check_finish();
}

/* Go collects whenever it has four MiB more. */
static void in_mode(const char* program, const char* name, const char* value)
{
	char* const arguments[] = {(char*)(uintptr_t)program, "work", NULL};
	int status = 0;
	pid_t child;
	setenv("GOGC", "1", 1);
	if (name != NULL) setenv(name, value, 1);
	CHECK_INT(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
	CHECK_INT(waitpid(child, &status, 0), child);
	if (name != NULL) unsetenv(name);
	if (check_failed(status == 0)) fprintf(stderr, "%s=%s: status %x\n", name != NULL ? name : "", value, status);
}

int main(int argc, char** argv)
{
	char trace[] = "/tmp/tl_small_stacks_XXXXXX";
	const char* const modes[][2] = {{NULL, ""},
	                                {"TL_DEBUG", "1"},
	                                {"TL_TRACK", "1"},
	                                {"TL_TRACK_SAMPLE", "4K"},
	                                {"TL_TRACE", trace},
	                                {"TL_ON_ERROR", "log"},
	                                {"TL_START", "first-use"},
	                                {"TL_LEAK_CHECK", "1"},
	                                {"TL_MEM_LIMIT", "200MiB"}};
	if (argc > 1) return work();
	close(mkstemp(trace));
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) in_mode(argv[0], modes[i][0], modes[i][1]);
	unlink(trace);
	return check_finish();
}
