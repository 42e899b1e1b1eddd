/* Section Tensors: tensors end in the slots of the heap, whatever they are and whoever frees them. */
#include "check.h"
#include "memory.h"
#include "thread.h"

static bool fast(void)
{
	const char* setting = getenv("TL_FASTPATH");
	return setting == NULL || *setting != '0';
}

static const int64_t square[2] = {12, 11};
enum { ELEMENTS = 12 * 11 };

static tl_tensor* new_square(void) { return tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, square); }

static void churn(int count)
{
	enum { MOST = 32 };
	tl_tensor* tensors[MOST];
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < count; i++) CHECK((tensors[i] = new_square()) != NULL);
		for (int i = count; i-- > 0;) CHECK_OK(tl_tensor_free(tensors[i]));
	}
}

static tl_stats stats(void)
{
	const tl_stats now = check_stats();
	return now;
}

/* The same memory serves tensors of all shapes that need as much, and objects. */
TEST(a_slot_is_for_all)
{
	const int64_t shapes[3][3] = {{12, 11, 1}, {4, 33, 1}, {130, 1, 1}};
	void* object;
	if (!fast()) return;
	churn(1);
	tl_stats before = stats();
	for (int i = 0; i < 300; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_tensor_empty(i % 2 ? TL_DTYPE_F32 : TL_DTYPE_I32, 0, 1 + i % 3, shapes[i % 3]) != NULL);
		CHECK_OK(tl_mem_exit_scope());
		CHECK((object = tl_mem_alloc(700)) != NULL);
		CHECK_OK(tl_mem_free(object));
	}
	CHECK(stats().slow_calls - before.slow_calls <= 8); /* the first of each class */
	CHECK_INT(stats().live_objects, before.live_objects);
	CHECK_INT(stats().tensor_allocations - before.tensor_allocations, 300);
	CHECK_INT(stats().tensors_live, before.tensors_live);
	CHECK_INT(tl_get_pool_count(), 0);
}

/* Tensors of data, and clones, need no slow call. */
TEST(copies_are_made_without_a_slow_call)
{
	const float value = 2.5f;
	const int64_t count = 7, whole[6] = {1, 2, 3, 4, 5, 6}, shape[2] = {2, 3}, none[2] = {0, 3};
	tl_stats before = {.struct_size = sizeof before};
	float borrowed[6] = {1, 2, 3, 4, 5, 6};
	tl_tensor* copy;
	CHECK_OK(tl_mem_purge());
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* source = tl_tensor_new(borrowed, 2, shape);
	tl_tensor* turned = tl_view_transpose(source, 0, 1);
	tl_tensor* outside = tl_tensor_from_buffer(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape, borrowed, NULL, NULL, NULL);
	CHECK(source != NULL && turned != NULL && outside != NULL);
	for (int round = 0; round < 8; round++) {
		if (round == 4) before = stats();
		CHECK_OK(tl_mem_enter_scope());
		CHECK(*(float*)tl_tensor_data(tl_tensor_new(&value, 0, NULL)) == value);
		CHECK_INT(*(int64_t*)tl_tensor_data(tl_tensor_new_i64(&count, 0, NULL)), count);
		copy = tl_tensor_new_i64(whole, 2, shape);
		CHECK(memcmp(tl_tensor_data(copy), whole, sizeof whole) == 0 && tl_tensor_nbytes(copy) == sizeof whole);
		copy = tl_tensor_clone(copy);
		CHECK(memcmp(tl_tensor_data(copy), whole, sizeof whole) == 0 && tl_tensor_dtype(copy) == TL_DTYPE_I64);
		copy = tl_tensor_clone(outside);
		CHECK(memcmp(tl_tensor_data(copy), borrowed, sizeof borrowed) == 0 && tl_tensor_data(copy) != borrowed);
		copy = tl_tensor_new(borrowed, 2, none);
		CHECK_INT(tl_tensor_numel(tl_tensor_clone(copy)), 0);
		CHECK_OK(tl_mem_exit_scope());
	}
	if (fast()) CHECK_INT(stats().slow_calls - before.slow_calls, 1); /* that of stats */
	copy = tl_tensor_clone(turned);
	CHECK(((float*)tl_tensor_data(copy))[1] == 4 && tl_tensor_dim(copy, 0) == 3);
	CHECK_REFUSED(tl_tensor_new(NULL, 2, shape), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_new_i64((const int64_t*)8, 0, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK(tl_tensor_new(NULL, 2, none) != NULL);
	CHECK_REFUSED(tl_tensor_clone(NULL), 0, TL_OK);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_purge());
}

TEST(shapes_that_are_no_shapes_are_refused)
{
	/* Their products, mod 2^64, are those of tensors that there is a slot for. */
	const int64_t wrong[3][2] = {{-12, -11}, {INT64_MIN, 2}, {(int64_t)1 << 62, 4}};
	const int64_t none[2] = {0, 5};
	churn(2);
	for (int i = 0; i < 3; i++) {
		CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 0, 2, wrong[i]), 0, TL_E_INVALID_ARGUMENT);
		CHECK_OK(tl_tensor_free(tl_tensor_empty(TL_DTYPE_F32, 0, 2, none)));
		CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 0, 2, wrong[i]), 0, TL_E_INVALID_ARGUMENT);
	}
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 0, -1, square), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 0, 2, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_empty(256, 0, 2, square), 0, TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_mem_purge());
}

/* ---- mistakes ------------------------------------------------------------------------ */

TEST(a_tensor_is_freed_once)
{
	CHECK_OK(tl_mem_purge());
	churn(2);
	tl_tensor* tensor = new_square();
	CHECK_OK(tl_tensor_free(tensor));
	CHECK_FAILS(tl_tensor_free(tensor), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_tensor_release(tensor), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_pool_release(tensor, ELEMENTS, TL_DTYPE_F32, 0), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_mem_free(tensor), TL_E_NOT_LIVE);
	CHECK_DEAD(tensor);
	CHECK_OK(tl_mem_purge());
}

/* Tensors of a scope, freed in any order, with other objects between them and scopes within. */
TEST(freed_in_any_order)
{
	enum { MOST = 100 };
	tl_tensor* open[MOST];
	uint64_t random = 3;
	for (int round = 0; round < 400; round++) {
		int count = 1 + (int)(check_random(&random) % MOST), order = (int)(check_random(&random) % 4);
		int others = 0, twice = -1;
		CHECK_OK(tl_mem_enter_scope());
		if (round % 3 == 0) CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < count; i++) {
			CHECK((open[i] = new_square()) != NULL);
			if (round % 5 == 0 && i % 3 == 0 && tl_mem_new(64) != NULL) others++;
			if (round % 7 == 0 && i == count / 2) CHECK_OK(tl_mem_enter_scope());
		}
		if (round % 11 == 0) CHECK_OK(tl_tensor_register(open[twice = count / 2]));
		for (int i = 0; i < count; i++) {
			int at = order == 0 ? i : order == 1 ? count - 1 - i : order == 2 ? (i * 7 + 3) % count : -1;
			if (order == 2 && count % 7 == 0) at = i;
			if (order == 3) at = i % 2 ? i - 1 : i + 1 < count ? i + 1 : i;
			CHECK_COUNT(open[at], at == twice ? 2 : 1);
			CHECK_OK(tl_tensor_free(open[at]));
			if (at == twice) CHECK_COUNT(open[at], 1);
			else CHECK_DEAD(open[at]);
		}
		CHECK_INT(stats().live_objects, (uint64_t)others + (twice >= 0));
		CHECK_OK(tl_mem_exit_scopes_to(0));
	}
	CHECK_OK(tl_mem_purge());
}

/* Whatever a program writes over a header, the next tensor is whole and nobody else's. The header is
 * 192 bytes before the data. */
TEST(headers_that_were_overwritten)
{
	enum { HEADER = 192 };
	uint64_t random = 7;
	CHECK_OK(tl_mem_purge());
	for (int round = 0; round < 3000; round++) {
		CHECK_OK(tl_mem_enter_scope());
		churn(2);
		tl_tensor* tensor = new_square();
		unsigned char* data = tl_tensor_data(tensor);
		size_t at = check_random(&random) % HEADER, bytes = 1 + check_random(&random) % 16;
		bool before = check_random(&random) % 2, view = check_random(&random) % 8 == 0;
		if (!before) CHECK_OK(tl_tensor_free(tensor));
		for (size_t i = at; i < at + bytes && i < HEADER; i++)
			if (i < 28 || i >= 56 || !before) /* not the flags and what they are about: the program's own memory */
				data[i - HEADER] = view ? 0xFF : (unsigned char)check_random(&random);
		if (before) tl_tensor_free(tensor);
		tl_tensor* first = new_square();
		tl_tensor* second = new_square();
		CHECK(first != NULL && second != NULL && first != second);
		for (int i = 0; i < 2; i++) {
			tl_tensor* t = i ? second : first;
			CHECK(tl_tensor_nbytes(t) == 528 && tl_tensor_rank(t) == 2 && tl_tensor_dim(t, 0) == 12);
			CHECK(tl_tensor_strides(t)[0] == 11 && (char*)tl_tensor_data(t) == (char*)t + HEADER);
			memset(tl_tensor_data(t), 0x55, 528);
		}
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_mem_purge());
}

/* ---- threads ------------------------------------------------------------------------- */

THREAD(frees, tensor) { CHECK_OK(tl_tensor_release(tensor)); }

/* The thread that drops the last reference has the slot, and gives it to the others when it ends. */
TEST(a_tensor_is_freed_by_another_thread)
{
	const uint64_t live = stats().live_objects;
	for (int i = 0; i < 100; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* tensor = new_square();
		CHECK_OK(tl_tensor_promote(tensor));
		run_thread(frees, tensor);
		CHECK_DEAD(tensor);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_INT(stats().live_objects, live);
}

TEST(a_forked_child_makes_tensors)
{
	if (!fast()) return; /* it has no slow path */
	CHECK_OK(tl_mem_purge());
	churn(4);
	pid_t child = fork();
	if (child == 0) {
		long failures = check_failures;
		tl_tensor* kept[4];
		for (int i = 0; i < 4; i++) CHECK((kept[i] = new_square()) != NULL);
		for (int i = 4; i-- > 0;) CHECK_OK(tl_tensor_free(kept[i]));
		churn(4);
		CHECK_OK(tl_thread_detach());
		_exit(check_failures != failures);
	}
	CHECK_INT(check_exit_of(child), 0);
	churn(4);
	CHECK_OK(tl_mem_purge());
}

/* Very many shapes, at several depths, some of large objects. */
THREAD(many_shapes, seed)
{
	uint64_t random = (uint64_t)(uintptr_t)seed;
	tl_tensor* open[4];
	for (int i = 0; i < 20000; i++) {
		int64_t shape[4] = {1, 1, 1, 1};
		for (int k = 0; k < 4; k++) shape[k] = 1 + (int64_t)(check_random(&random) % (k == 3 ? 40 : 4));
		if (i % 97 == 0) shape[0] = 300 + i % 5;
		int count = 1 + (int)(check_random(&random) % 4);
		CHECK_OK(tl_mem_enter_scope());
		for (int k = 0; k < count; k++) {
			open[k] = tl_tensor_empty(k % 2 ? TL_DTYPE_F64 : TL_DTYPE_U8, 0, 1 + (int64_t)(i % 4), shape);
			memset(tl_tensor_data(open[k]), i, tl_tensor_nbytes(open[k]));
		}
		if (i % 3) CHECK_OK(tl_tensor_free(open[check_random(&random) % (uint64_t)count]));
		CHECK_OK(tl_mem_exit_scope());
		if (i % 1000 == 999 && seed == NULL) CHECK_OK(tl_mem_purge());
	}
}

TEST(threads_with_many_shapes)
{
	pthread_t threads[3];
	const uint64_t live = stats().live_objects;
	for (uintptr_t i = 0; i < 3; i++) threads[i] = start_thread(many_shapes, (void*)(i + 1));
	many_shapes(NULL);
	for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
	CHECK_OK(tl_mem_purge());
	CHECK_INT(stats().live_objects, live);
}

/* ---- what waits for the thread --------------------------------------------------------------------- */

static int destroyed;
static void* waiting[4];

static void destroy(void* object)
{
	(void)object;
	destroyed++;
}

THREAD(release_waiting, unused)
{
	for (int i = 0; i < 4; i++) CHECK_OK(tl_ptr_release(waiting[i]));
}

/* A destructor could fill the scope stack after the caller has looked for room, or detach the thread. A call that enters Go
 * runs those that wait; one that fills an empty magazine does not. */
TEST(no_destructor_runs_while_a_tensor_is_made)
{
	const tl_type_desc description = {.name = "waiting", .size = 64, .destructor = destroy};
	tl_type type;
	int without_go = 0;
	CHECK_OK(tl_type_define(&description, &type));
	for (int64_t bytes = 600; bytes < 60000; bytes += bytes / 8) {
		for (int i = 0; i < 4; i++) {
			waiting[i] = tl_object_new(type);
			CHECK_OK(tl_mem_unregister(waiting[i]));
		}
		const uint64_t before = stats().slow_calls;
		run_thread(release_waiting, NULL);
		destroyed = 0;
		tl_tensor* t = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &bytes);
		const int meanwhile = destroyed;
		if (stats().slow_calls - before <= 2) { /* that of stats, and the other thread's first */
			without_go++;
			CHECK_INT(meanwhile, 0);
		}
		CHECK_INT(destroyed, 4);
		CHECK_OK(tl_tensor_free(t));
	}
	if (fast()) CHECK(without_go > 0);
}

int main(void) { return check_tests(); }
