/* Section Inlining: contexts, and operations with a context between calls that change it. Built with TL_INLINE too, where
 * the ordinary names are inlined. */
#include <errno.h>
#include <fcntl.h>

#include "inlined.h"

enum { ZEROS = 32 << 10 };

/* ---- contexts ----------------------------------------------------------------------------- */

TEST(a_thread_has_a_context)
{
	CHECK(context_now() != NULL);
	CHECK_PTR(*tl_context_address(TL_INLINE_VERSION), context_now());
	CHECK_INT(answers_now(), is_fast());
}

static bool is_zero(const char* bytes)
{
	for (int i = 0; i < ZEROS; i++)
		if (bytes[i] != 0) return false;
	return true;
}

TEST(another_version_gets_zeros)
{
	CHECK(is_zero(tl_context(ANOTHER_VERSION)));
	CHECK_PTR(tl_context(0), tl_context(ANOTHER_VERSION));
	CHECK_PTR(*tl_context_address(ANOTHER_VERSION), tl_context(ANOTHER_VERSION));
	CHECK(!answers(tl_context(ANOTHER_VERSION)));
}

/* An operation that wrote there would have an effect on all others. */
TEST(nobody_writes_to_the_zeros)
{
	if (sysconf(_SC_PAGESIZE) != 4096) return;
	int zero = open("/dev/zero", O_RDONLY);
	CHECK(read(zero, tl_context(ANOTHER_VERSION), 1) == -1 && errno == EFAULT);
	close(zero);
}

TEST(operations_on_zeros_make_the_call)
{
	const int64_t shape[2] = {3, 4};
	void *object = NULL, *other = NULL;
	ON_ZEROS(CHECK_OK(tl_inl_mem_enter_scope(&thread)));
	ON_ZEROS(object = tl_inl_mem_new(&thread, 40));
	CHECK_COUNT(object, 1);
	ON_ZEROS(CHECK_PTR(tl_inl_ptr_acquire(&thread, object), object));
	ON_ZEROS(CHECK_OK(tl_inl_ptr_inc_ref(&thread, object)));
	CHECK_COUNT(object, 3);
	ON_ZEROS(CHECK_INT(tl_inl_ptr_dec_ref(&thread, object), 0));
	ON_ZEROS(CHECK_OK(tl_inl_ptr_release(&thread, object)));
	ON_ZEROS(other = tl_inl_mem_alloc(&thread, 40));
	ON_ZEROS(CHECK_OK(tl_inl_mem_free(&thread, other)));
	ON_ZEROS(other = tl_inl_alloc_tmp(&thread, 40));
	ON_ZEROS(CHECK(tl_inl_ptr_release_bool(&thread, other)));
	ON_ZEROS(CHECK_INT(tl_inl_get_scope_depth(&thread), 1));
	ON_ZEROS(CHECK_OK(tl_inl_mem_function_enter(&thread, 2)));
	ON_ZEROS(CHECK(tl_inl_mem_get_buffer(&thread, 1, 100) != NULL));
	ON_ZEROS(CHECK(tl_inl_mem_frame_enter(&thread, 100) != NULL));
	ON_ZEROS(CHECK_OK(tl_inl_mem_frame_exit(&thread)));
	ON_ZEROS(CHECK_OK(tl_inl_mem_function_exit(&thread)));
	ON_ZEROS(CHECK(!tl_inl_arena_is_active(&thread)));
	const tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F64, TL_DEVICE_CPU, 2, shape);
	ON_ZEROS(CHECK(tl_inl_tensor_data(&thread, tensor) != NULL));
	ON_ZEROS(CHECK_INT(tl_inl_tensor_dim(&thread, tensor, -1), 4));
	ON_ZEROS(CHECK_INT(tl_inl_tensor_nbytes(&thread, tensor), 96));
	ON_ZEROS(CHECK_OK(tl_inl_mem_exit_scope(&thread)));
	CHECK(is_zero(tl_context(ANOTHER_VERSION)));
}

static void* without_a_context(void* unused)
{
	(void)unused;
	tl_inl_thread thread = begin();
	CHECK(thread.context != NULL && !answers(thread.context));
	CHECK_OK(tl_inl_mem_enter_scope(&thread)); /* the call attaches the thread */
	CHECK(thread.context == NULL);
	CHECK(tl_inl_mem_new(&thread, 64) != NULL);
	CHECK_OK(tl_inl_mem_exit_scope(&thread));
	CHECK_INT(answers_now(), is_fast());
	return NULL;
}

TEST(the_first_operation_of_a_thread_attaches_it) { run_thread(without_a_context, NULL); }

/* Where one has made a call, those after it do until the context is taken again. */
TEST(operations_after_a_call_make_calls)
{
	tl_inl_thread thread = begin();
	void* large = tl_inl_mem_alloc(&thread, 1 << 20); /* no magazine has it */
	CHECK(large != NULL && thread.context == NULL);
	CHECK_PTR(tl_inl_ptr_acquire(&thread, large), large);
	CHECK_STATUS(tl_inl_ptr_inc_ref(&thread, (char*)large + 1), TL_E_INTERIOR_POINTER);
	CHECK_INT(tl_last_status(), TL_E_INTERIOR_POINTER);
	CHECK_COUNT(large, 2);
	CHECK(thread.context == NULL);
	tl_inl_retake(&thread);
	CHECK_PTR(thread.context, context_now());
	CHECK_OK(tl_inl_ptr_release(&thread, large));
	CHECK_PTR(thread.context, is_fast() ? context_now() : NULL);
	CHECK_OK(tl_inl_ptr_release(&thread, large));
	CHECK_DEAD(large);
}

/* ---- what changes the context between two operations --------------------------------------- */

/* Another thread adopts the context that this one has given up; neither uses the other's. */
TEST(a_detach_between_operations)
{
	tl_inl_thread thread = begin();
	CHECK_OK(tl_inl_mem_enter_scope(&thread));
	void* kept = tl_inl_ptr_acquire(&thread, tl_inl_mem_new(&thread, 64));
	CHECK_OK(tl_thread_detach());
	CHECK(!answers(context_now()));
	pthread_t other = start_thread(use_the_runtime, NULL);
	tl_inl_retake(&thread);
	CHECK_INT(tl_inl_get_scope_depth(&thread), 0);
	for (int i = 0; i < 1000; i++) {
		CHECK_OK(tl_inl_mem_enter_scope(&thread));
		CHECK(tl_inl_mem_new(&thread, 64) != NULL);
		CHECK_PTR(tl_inl_ptr_acquire(&thread, kept), kept);
		CHECK_OK(tl_inl_ptr_release(&thread, kept));
		CHECK_OK(tl_inl_mem_exit_scope(&thread));
	}
	pthread_join(other, NULL);
	CHECK_OK(tl_ptr_release(kept));
	CHECK_OK(tl_mem_purge()); /* the scope that stayed open is closed where its context is adopted */
}

TEST(a_detach_between_names)
{
	CHECK_OK(tl_mem_enter_scope());
	void* kept = tl_ptr_acquire(tl_mem_new(64));
	CHECK_OK(tl_thread_detach());
	pthread_t other = start_thread(use_the_runtime, NULL);
	CHECK_INT(tl_get_scope_depth(), 0);
	CHECK_PTR(tl_ptr_acquire(kept), kept);
	CHECK_OK(tl_ptr_release(kept));
	use_the_runtime(NULL);
	pthread_join(other, NULL);
	CHECK_OK(tl_ptr_release(kept));
	CHECK_OK(tl_mem_purge());
}

/* A pair of operations in each way. */
static void a_scope_in_both_ways(tl_inl_thread* thread)
{
	CHECK_OK(tl_inl_mem_enter_scope(thread));
	CHECK(tl_inl_mem_new(thread, 64) != NULL);
	CHECK_OK(tl_inl_mem_exit_scope(thread));
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(a_trace_sees_operations)
{
	enum { TIMES = 10, CALLS = 6 };
	char path[] = "/tmp/tl_inlining_XXXXXX";
	int file = mkstemp(path);
	CHECK(file >= 0);
	tl_inl_thread thread = begin();
	a_scope_in_both_ways(&thread);
	CHECK_OK(tl_trace_start(path));
	tl_inl_retake(&thread);
	CHECK(!answers(thread.context));
	uint64_t before = check_slow_calls();
	for (int i = 0; i < TIMES; i++) a_scope_in_both_ways(&thread);
	CHECK_INT(check_slow_calls() - before, TIMES * CALLS + 1);
	CHECK_OK(tl_trace_stop());
	CHECK_INT(answers_now(), is_fast());
	close(file);
	unlink(path);
}

struct forked {
	tl_inl_thread thread;
	void* object;
};

static void operations_in_a_child(void* argument)
{
	struct forked* f = argument;
	CHECK_INT(answers(context_now()), is_fast());
	tl_inl_retake(&f->thread);
	tl_status wanted = is_fast() ? TL_OK : TL_E_FORKED;
	CHECK_PTR(tl_inl_ptr_acquire(&f->thread, f->object), f->object);
	CHECK_STATUS(tl_inl_ptr_release(&f->thread, f->object), wanted);
	CHECK_STATUS(tl_ptr_inc_ref(f->object), wanted);
	CHECK_STATUS(tl_inl_mem_enter_scope(&f->thread), wanted);
	if (is_fast()) CHECK_OK(tl_inl_mem_exit_scope(&f->thread));
}

TEST(a_fork_between_operations)
{
	struct forked f = {begin(), NULL};
	CHECK_OK(tl_inl_mem_enter_scope(&f.thread));
	f.object = tl_inl_mem_new(&f.thread, 64);
	CHECK_OK(tl_mem_free(tl_mem_alloc(64)));
	in_a_child(operations_in_a_child, &f);
	tl_inl_retake(&f.thread);
	CHECK_COUNT(f.object, 1);
	CHECK_OK(tl_inl_mem_exit_scope(&f.thread));
	CHECK_DEAD(f.object);
}

/* ---- the end of a thread -------------------------------------------------------------------- */

static pthread_key_t late; /* its destructor runs after that of the library */
static void* from_a_thread;

static void after_the_end(void* object)
{
	tl_inl_thread thread = begin();
	CHECK(!answers(thread.context));
	CHECK_PTR(tl_inl_ptr_acquire(&thread, object), object);
	CHECK_OK(tl_ptr_release(object));
	void* made = tl_inl_mem_alloc(&thread, 64);
	CHECK_OK(tl_inl_ptr_release(&thread, made));
	CHECK_OK(tl_ptr_release(tl_mem_alloc(64)));
}

static void* end_with_an_object(void* unused)
{
	(void)unused;
	tl_inl_thread thread = begin();
	CHECK_OK(tl_inl_mem_enter_scope(&thread));
	from_a_thread = tl_inl_ptr_acquire(&thread, tl_inl_mem_new(&thread, 64));
	CHECK_OK(tl_inl_mem_exit_scope(&thread));
	pthread_setspecific(late, from_a_thread);
	return NULL;
}

TEST(operations_after_the_end_of_a_thread)
{
	pthread_key_create(&late, after_the_end);
	run_thread(end_with_an_object, NULL);
	pthread_key_delete(late);
	CHECK_COUNT(from_a_thread, 1);
	tl_inl_thread thread = begin();
	CHECK_OK(tl_inl_ptr_release(&thread, from_a_thread));
	CHECK_OK(tl_mem_purge());
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static int destroyed;

static void work_in_a_destructor(void* object)
{
	tl_inl_thread thread = begin();
	CHECK_OK(tl_inl_mem_enter_scope(&thread));
	CHECK(tl_inl_mem_new(&thread, 64) != NULL);
	CHECK_OK(tl_inl_ptr_release(&thread, *(void**)object));
	CHECK_OK(tl_inl_mem_exit_scope(&thread));
	CHECK_STATUS(tl_thread_detach(), TL_E_BUSY);
	destroyed++;
}

TEST(destructors_use_operations)
{
	tl_type type = 0;
	tl_type_desc description = {.name = "holder", .size = 16, .destructor = work_in_a_destructor};
	CHECK_OK(tl_type_define(&description, &type));
	tl_inl_thread thread = begin();
	destroyed = 0;
	CHECK_OK(tl_inl_mem_enter_scope(&thread));
	void* held = tl_inl_ptr_acquire(&thread, tl_inl_mem_new(&thread, 64));
	for (int i = 0; i < 4; i++) *(void**)tl_object_new(type) = tl_ptr_acquire(held);
	tl_inl_retake(&thread);
	CHECK_OK(tl_inl_mem_exit_scope(&thread));
	CHECK(thread.context == NULL);
	CHECK_INT(destroyed, 4);
	CHECK_COUNT(held, 1);
	CHECK_OK(tl_inl_ptr_release(&thread, held));
}

/* ---- tracking --------------------------------------------------------------------------------- */

static bool is_recorded(const void* object)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	return tl_mem_allocation_info(object, &info) == TL_OK && info.number != 0;
}

TEST(each_allocation_is_recorded)
{
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	tl_mem_purge(); /* the thread follows at its next slow call */
	tl_inl_thread thread = begin();
	CHECK_OK(tl_inl_mem_enter_scope(&thread));
	for (int i = 0; i < 20; i++) {
		CHECK(is_recorded(tl_inl_mem_new(&thread, 64)));
		CHECK(is_recorded(tl_mem_new(64)));
		void* floating = tl_inl_mem_alloc(&thread, 64);
		CHECK(is_recorded(floating));
		CHECK_OK(tl_inl_ptr_release(&thread, floating));
	}
	CHECK_OK(tl_inl_mem_exit_scope(&thread));
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	tl_mem_purge();
}

/* ---- both ways at random ------------------------------------------------------------------------ */

enum { OBJECTS = 32, STEPS = 20000 };

/* One step on an object that has `count` references of ours, inlined or called; returns the references left. */
static int step(tl_inl_thread* thread, void* object, int count, uint64_t choice)
{
	bool inlined = (choice & 1) != 0;
	switch (choice >> 1 & 3) {
	case 0:
		CHECK_PTR(inlined ? tl_inl_ptr_acquire(thread, object) : (tl_ptr_acquire)(object), object);
		return count + 1;
	case 1: CHECK_OK(inlined ? tl_inl_ptr_inc_ref(thread, object) : (tl_ptr_inc_ref)(object)); return count + 1;
	case 2:
		if (count < 2) return count;
		CHECK_INT(inlined ? tl_inl_ptr_dec_ref(thread, object) : (tl_ptr_dec_ref)(object), 0);
		return count - 1;
	}
	CHECK_OK(inlined ? tl_inl_ptr_release(thread, object) : (tl_ptr_release)(object));
	return count - 1;
}

TEST(inlined_and_called_in_turns)
{
	void* objects[OBJECTS] = {NULL};
	int counts[OBJECTS] = {0};
	uint64_t random = 88172645463325252u;
	tl_inl_thread thread = begin();
	for (int i = 0; i < STEPS; i++) {
		uint64_t choice = check_random(&random) >> 20;
		int k = (int)(choice % OBJECTS);
		size_t bytes = 1 + (choice >> 8) % 700;
		choice >>= 20;
		if (counts[k] == 0) {
			objects[k] = (choice & 1) != 0 ? tl_inl_mem_alloc(&thread, bytes) : (tl_mem_alloc)(bytes);
			counts[k] = 1;
		} else {
			counts[k] = step(&thread, objects[k], counts[k], choice);
		}
		if (counts[k] == 0) CHECK_DEAD(objects[k]);
		else CHECK_COUNT(objects[k], counts[k]);
		tl_inl_retake(&thread);
	}
	for (int k = 0; k < OBJECTS; k++)
		for (; counts[k] > 0; counts[k]--) CHECK_OK(tl_inl_ptr_release(&thread, objects[k]));
}

/* A model of the arena: its offset, and what it was where each scope began. */
struct arena_model {
	int64_t offset, began[16];
	int depth;
};

static void arena_step(tl_inl_thread* thread, struct arena_model* m, uint64_t choice)
{
	bool inlined = (choice & 1) != 0;
	int64_t n = 64 * (int64_t)(choice >> 8 & 15);
	switch (choice >> 1 & 3) {
	case 0:
		if (m->depth == 16) return;
		CHECK_OK(inlined ? tl_inl_mem_enter_scope(thread) : (tl_mem_enter_scope)());
		m->began[m->depth++] = m->offset;
		return;
	case 1:
		if (m->depth == 0) return;
		CHECK_OK(inlined ? tl_inl_mem_exit_scope(thread) : (tl_mem_exit_scope)());
		if (m->offset > m->began[--m->depth]) m->offset = m->began[m->depth];
		return;
	case 2:
		if (n == 0 || m->offset + n > 65536) return;
		CHECK((inlined ? tl_inl_arena_alloc(thread, n) : (tl_arena_alloc)(n)) != NULL);
		m->offset += n;
		return;
	}
	if (n > m->offset) return;
	m->offset -= n;
	CHECK_OK(inlined ? tl_inl_arena_set_offset(thread, m->offset) : (tl_arena_set_offset)(m->offset));
}

TEST(an_arena_in_scopes_of_both_ways)
{
	struct arena_model m = {.depth = 0};
	uint64_t random = 2463534242u;
	tl_inl_thread thread = begin();
	CHECK_OK(tl_arena_init(65536));
	for (int i = 0; i < STEPS; i++) {
		arena_step(&thread, &m, check_random(&random) >> 20);
		CHECK_INT(tl_inl_arena_get_offset(&thread), m.offset);
		tl_inl_retake(&thread);
	}
	while (m.depth > 0) arena_step(&thread, &m, 2);
	CHECK_OK(tl_arena_free());
}

TEST(a_stale_pointer_is_an_error)
{
	tl_inl_thread thread = begin();
	void* object = tl_inl_mem_alloc(&thread, 64);
	CHECK_OK(tl_inl_ptr_release(&thread, object));
	CHECK_FAILS(tl_inl_ptr_release(&thread, object), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_inl_mem_exit_scope(&thread), TL_E_SCOPE_UNDERFLOW);
	CHECK_FAILS(tl_inl_ptr_release(&thread, (char*)object + 8), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_inl_ptr_release(&thread, &thread), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_inl_ptr_release(&thread, NULL));
}

int main(void)
{
	CHECK(!answers(context_now())); /* before the first call */
	return check_tests();
}
