/* Section Tensor views: sharing, lifetimes, what is refused; and tl_tensor_info_get. */
#include "bad.h"
#include "check.h"
#include "thread.h"

static const int64_t two_by_three[2] = {2, 3};

/* 0, 1, 2, ... in two rows of three. */
static tl_tensor* counting(void)
{
	int64_t numbers[6] = {0, 1, 2, 3, 4, 5};
	return tl_tensor_new_i64(numbers, 2, two_by_three);
}

/* Whether a tensor of i64 holds these numbers in row-major order. */
static bool holds(tl_tensor* tensor, const int64_t* numbers, int64_t count)
{
	const int64_t* data = tl_tensor_data(tl_tensor_clone(tensor));
	return tl_tensor_len(tensor) == count &&
	       (count == 0 || memcmp(data, numbers, (size_t)count * sizeof *numbers) == 0);
}

#define CHECK_HOLDS(tensor, ...)                                \
	do {                                                        \
		const int64_t want[] = {__VA_ARGS__};                   \
		CHECK(holds(tensor, want, sizeof want / sizeof *want)); \
	} while (0)

TEST(views_show_the_same_elements)
{
	const int64_t open[2] = {3, -1}, turned[2] = {1, 0}, wide[3] = {2, -1, -1}, row[2] = {1, 3};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = counting();
	CHECK_HOLDS(tl_view_reshape(tensor, 2, open), 0, 1, 2, 3, 4, 5);
	CHECK_HOLDS(tl_view_permute(tensor, 2, turned), 0, 3, 1, 4, 2, 5);
	CHECK_HOLDS(tl_view_transpose(tensor, -1, 0), 0, 3, 1, 4, 2, 5);
	CHECK_HOLDS(tl_view_slice(tensor, 1, 1, INT64_MAX, 1), 1, 2, 4, 5);
	CHECK_HOLDS(tl_view_slice(tensor, -1, INT64_MAX, INT64_MIN, -2), 2, 0, 5, 3);
	CHECK_HOLDS(tl_view_broadcast_to(tensor, 3, wide), 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5);
	tl_tensor* view = tl_view_slice(tensor, 0, 1, 2, 1);
	CHECK_HOLDS(tl_view_squeeze(view, 0), 3, 4, 5);
	CHECK_HOLDS(tl_view_reshape(view, 2, row), 3, 4, 5);
	view = tl_view_expand_dims(tensor, 1);
	CHECK_INT(tl_tensor_rank(view), 3);
	CHECK_INT(tl_tensor_dim(view, 1), 1);
	CHECK(tl_tensor_is_contiguous(view));
	((int64_t*)tl_tensor_data(view))[4] = 44;
	CHECK_INT(((int64_t*)tl_tensor_data(tensor))[4], 44);
	CHECK_PTR(tl_tensor_base(view), tensor);
	CHECK_REFUSED(tl_tensor_base(tensor), 0, TL_OK);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(tensor);
}

TEST_IN_SCOPE(empty_and_scalar_views)
{
	const int64_t none = 0, one = 1;
	tl_tensor* tensor = tl_view_slice(counting(), 1, 3, 3, 1);
	CHECK_INT(tl_tensor_len(tensor), 0);
	CHECK_REFUSED(tl_tensor_data(tensor), 0, TL_OK);
	CHECK_INT(tl_tensor_len(tl_view_reshape(tensor, 1, &none)), 0);
	tl_tensor* scalar = tl_tensor_empty(TL_DTYPE_I64, TL_DEVICE_CPU, 0, NULL);
	CHECK_PTR(tl_tensor_data(tl_view_reshape(scalar, 1, &one)), tl_tensor_data(scalar));
	CHECK_INT(tl_tensor_rank(tl_view_squeeze(tl_view_expand_dims(scalar, 0), 0)), 0);
	CHECK_INT(tl_tensor_rank(tl_view_reshape(scalar, 0, NULL)), 0);
	CHECK_INT(tl_tensor_rank(tl_view_permute(scalar, 0, NULL)), 0);
}

TEST(slices_of_several_axes)
{
	const int64_t starts[2] = {-1, INT64_MIN}, stops[2] = {INT64_MAX, 3}, steps[2] = {1, 2};
	const int64_t at[2] = {1, -1}, none[2] = {0, 0}, mixed[2] = {0, -2}, from[2] = {-2, INT64_MAX}, to[2] = {9, 0};
	tl_tensor* view;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = counting();
	CHECK_HOLDS(tl_view_slice_axes(tensor, 2, starts, stops, steps), 3, 5);
	CHECK_HOLDS(tl_view_slice_axes(tensor, 1, starts, stops, NULL), 3, 4, 5);
	CHECK_HOLDS(tl_view_slice_axes(tensor, 0, NULL, NULL, NULL), 0, 1, 2, 3, 4, 5);
	view = tl_view_slice_axes(tensor, 2, at, at, none); /* both axes go */
	CHECK_INT(tl_tensor_rank(view), 0);
	CHECK_HOLDS(view, 5);
	view = tl_view_slice_axes(tensor, 2, from, to, mixed); /* the first goes, the second runs backwards */
	CHECK_INT(tl_tensor_rank(view), 1);
	CHECK_HOLDS(view, 2);
	CHECK_PTR(tl_tensor_base(view), tensor);
	CHECK_INT(tl_tensor_len(tl_view_slice_axes(tensor, 1, stops, starts, NULL)), 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(tensor);
}

TEST(null_has_null_views)
{
	const int64_t one = 1, zero = 0;
	CHECK_REFUSED(tl_view_slice_axes(NULL, 1, &zero, &one, NULL), 0, TL_OK);
	CHECK_REFUSED(tl_view_reshape(NULL, 1, &one), 0, TL_OK);
	CHECK_REFUSED(tl_view_slice(NULL, 0, 0, 1, 1), 0, TL_OK);
	CHECK_REFUSED(tl_view_transpose(NULL, 0, 1), 0, TL_OK);
	CHECK_REFUSED(tl_view_permute(NULL, 1, &zero), 0, TL_OK);
	CHECK_REFUSED(tl_view_broadcast_to(NULL, 1, &one), 0, TL_OK);
	CHECK_REFUSED(tl_view_squeeze(NULL, 0), 0, TL_OK);
	CHECK_REFUSED(tl_view_expand_dims(NULL, 0), 0, TL_OK);
	CHECK_REFUSED(tl_tensor_base(NULL), 0, TL_OK);
}

/* The storage ends with the last view, whatever stood between. */
TEST(the_last_view_keeps_the_storage)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = counting();
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* between = tl_view_transpose(tensor, 0, 1);
	tl_tensor* last = tl_view_slice(between, 0, 1, 2, 1);
	CHECK_PTR(tl_tensor_base(last), tensor);
	CHECK_COUNT(tensor, 3);
	CHECK_OK(tl_tensor_promote(last));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(between);
	CHECK_OK(tl_tensor_free(tensor));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(tensor, 1);
	CHECK_INT(((int64_t*)tl_tensor_data(last))[3], 4);
	CHECK_OK(tl_tensor_release(last));
	CHECK_DEAD(tensor);
}

static void note_end(void* ptr, void* ctx)
{
	(void)ptr;
	__atomic_add_fetch((int*)ctx, 1, __ATOMIC_SEQ_CST);
}

THREAD(release_there, tensor) { CHECK_OK(tl_tensor_release(tensor)); }

TEST(a_view_of_lent_memory_ends_it_on_any_thread)
{
	int64_t numbers[6] = {0, 1, 2, 3, 4, 5}, six = 6;
	int ended = 0;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_from_buffer(TL_DTYPE_I64, 0, 1, &six, numbers, NULL, note_end, &ended);
	tl_tensor* view = tl_view_slice(tensor, 0, -1, INT64_MIN, -1);
	CHECK_HOLDS(view, 5, 4, 3, 2, 1, 0);
	CHECK_OK(tl_tensor_promote(view));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(ended, 0);
	run_thread(release_there, view);
	CHECK_INT(ended, 1);
	CHECK_DEAD(tensor);
}

enum { THREADS = 4, ROUNDS = 2000 };

/* Views of views of the shared tensor, and the thread's own reference last. */
THREAD(look_and_let_go, shared)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* view = tl_view_slice(tl_view_transpose(shared, 0, 1), 0, i % 3, i % 3 + 1, 1);
		CHECK_INT(*(int64_t*)tl_tensor_data(view), i % 3);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_tensor_release(shared));
}

TEST(views_from_many_threads)
{
	pthread_t threads[THREADS];
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = counting();
	for (int i = 0; i < THREADS; i++) {
		tl_tensor_acquire(tensor);
		threads[i] = start_thread(look_and_let_go, tensor);
	}
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	CHECK_DEAD(tensor);
}

THREAD(slice_and_let_go, view)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* row = tl_view_squeeze(tl_view_slice(view, 0, 1, 2, 1), 0);
	CHECK_OK(tl_tensor_release(view));
	CHECK_INT(((int64_t*)tl_tensor_data(row))[0], 1);
	CHECK_OK(tl_mem_exit_scope());
}

/* Views hold the storage, however the references of others to it end meanwhile. */
TEST(views_while_the_storage_is_dropped)
{
	for (int i = 0; i < 200; i++) {
		pthread_t threads[2];
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* tensor = counting();
		for (int k = 0; k < 2; k++) {
			tl_tensor* view = tl_view_transpose(tensor, 0, 1);
			CHECK_OK(tl_tensor_promote(view));
			threads[k] = start_thread(slice_and_let_go, view);
		}
		CHECK_OK(tl_tensor_free(tensor));
		CHECK_OK(tl_mem_exit_scope());
		for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
		CHECK_DEAD(tensor);
	}
}

TEST(a_tensor_in_a_slot_has_no_views)
{
	const int64_t shape[2] = {1, 4}, four = 4, order[2] = {1, 0};
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* slot = tl_tensor_in_slot(0, TL_DTYPE_I64, 2, shape);
	CHECK_REFUSED(tl_view_reshape(slot, 1, &four), 0, TL_E_UNSUPPORTED);
	CHECK(strstr(tl_last_error(), "tl_view_reshape: TL_E_UNSUPPORTED: ") == tl_last_error());
	CHECK(strstr(tl_last_error(), "slot") != NULL);
	CHECK_REFUSED(tl_view_slice(slot, 0, 0, 1, 1), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_view_slice_axes(slot, 1, order, shape, NULL), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_view_transpose(slot, 0, 1), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_view_permute(slot, 2, order), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_view_broadcast_to(slot, 2, shape), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_view_squeeze(slot, 0), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_view_expand_dims(slot, 0), 0, TL_E_UNSUPPORTED);
	CHECK(tl_view_squeeze(tl_tensor_clone(slot), 0) != NULL);
	CHECK_REFUSED(tl_tensor_base(slot), 0, TL_OK);
	CHECK_OK(tl_mem_function_exit());
}

TEST_IN_SCOPE(impossible_views)
{
	const int64_t five = 5, open[2] = {-1, -1}, huge[2] = {INT64_MAX, INT64_MAX}, twice[2] = {0, 0}, six = 6;
	tl_tensor* tensor = counting();
	void* plain = tl_mem_new(256);
	CHECK_REFUSED(tl_view_reshape(tensor, 1, &five), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_reshape(tensor, 2, open), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_reshape(tensor, 2, huge), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_reshape(tensor, 9, huge), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_reshape(tensor, INT64_MIN, huge), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_reshape(tensor, 1, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_reshape(tl_view_transpose(tensor, 0, 1), 1, &six), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_view_reshape(plain, 1, &six), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_view_slice(tensor, 2, 0, 1, 1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_slice(tensor, 0, 0, 1, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_slice_axes(tensor, 3, huge, huge, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_slice_axes(tensor, -1, twice, huge, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_slice_axes(tensor, 2, NULL, huge, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_slice_axes(tensor, 2, twice, NULL, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_slice_axes(tensor, 1, &five, &five, twice), 0, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "no element 5 in axis 0") != NULL);
	CHECK_REFUSED(tl_view_transpose(tensor, 0, -3), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_permute(tensor, 2, twice), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_permute(tensor, 1, twice), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_permute(tensor, 2, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_broadcast_to(tensor, 1, &six), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_broadcast_to(tensor, 2, huge), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_squeeze(tensor, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_view_expand_dims(tensor, 3), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_base(plain), 0, TL_E_UNSUPPORTED);
	CHECK_COUNT(tensor, 2);
}

/* Divided by the size of the element, and walked more axes than there are. */
TEST(an_overwritten_header_has_no_views)
{
	enum { DTYPE = 24, RANK = 26 }; /* cshim/shapes/shapes.h */
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = counting();
	unsigned char *header = (unsigned char*)tensor, dtype = header[DTYPE], rank = header[RANK];
	header[DTYPE] = 200;
	CHECK(tl_view_broadcast_to(tensor, 2, two_by_three) == NULL);
	CHECK_INT(tl_last_status(), TL_E_INVALID_ARGUMENT);
	header[DTYPE] = dtype;
	header[RANK] = 9;
	CHECK(tl_view_reshape(tensor, 2, two_by_three) == NULL);
	CHECK_INT(tl_last_status(), TL_E_INVALID_ARGUMENT);
	header[RANK] = rank;
	CHECK(tl_view_reshape(tensor, 2, two_by_three) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(views_of_bad_pointers)
{
	const int64_t one = 1, zero = 0;
	tl_tensor_info info = {.struct_size = sizeof info};
	CHECK_REFUSES_NULL(tl_view_reshape(bad, 1, &one));
	CHECK_REFUSES_NULL(tl_view_slice(bad, 0, 0, 1, 1));
	CHECK_REFUSES_NULL(tl_view_slice_axes(bad, 1, &zero, &one, NULL));
	CHECK_REFUSES_NULL(tl_view_transpose(bad, 0, 0));
	CHECK_REFUSES_NULL(tl_view_permute(bad, 1, &zero));
	CHECK_REFUSES_NULL(tl_view_broadcast_to(bad, 1, &one));
	CHECK_REFUSES_NULL(tl_view_squeeze(bad, 0));
	CHECK_REFUSES_NULL(tl_view_expand_dims(bad, 0));
	CHECK_REFUSES_NULL(tl_tensor_base(bad));
	CHECK_REFUSES_STATUS(tl_tensor_info_get(bad, &info));
}

TEST_IN_SCOPE(info_tells_everything)
{
	tl_tensor_info info = {.struct_size = sizeof info};
	tl_tensor* tensor = counting();
	tl_tensor* view = tl_view_slice(tensor, 1, 1, 3, 1);
	CHECK_OK(tl_tensor_info_get(view, &info));
	CHECK_INT(info.struct_size, sizeof info);
	CHECK_PTR(info.data, (int64_t*)tl_tensor_data(tensor) + 1);
	CHECK_PTR(info.shape, tl_tensor_shape(view));
	CHECK_PTR(info.strides, tl_tensor_strides(view));
	CHECK_INT(info.numel, 4);
	CHECK_INT(info.nbytes, 32);
	CHECK_INT(info.dtype, TL_DTYPE_I64);
	CHECK_INT(info.device, TL_DEVICE_CPU);
	CHECK_INT(info.rank, 2);
	CHECK_INT(info.flags, TL_TENSOR_FLAG_VIEW);
	CHECK_PTR(info.base, tensor);
	CHECK_OK(tl_tensor_info_get(tensor, &info));
	CHECK_INT(info.flags, TL_TENSOR_FLAG_CONTIGUOUS);
	CHECK_PTR(info.base, NULL);
	CHECK_OK(tl_tensor_info_get(tl_view_slice(tensor, 0, 0, 0, 1), &info));
	CHECK_PTR(info.data, NULL);
	CHECK_OK(tl_tensor_info_get(NULL, &info));
	CHECK_INT(info.struct_size, sizeof info);
	CHECK_INT(info.numel, 0);
	CHECK_PTR(info.shape, NULL);
	CHECK_FAILS(tl_tensor_info_get(tensor, NULL), TL_E_INVALID_ARGUMENT);
	info.struct_size = sizeof info - 8;
	CHECK_FAILS(tl_tensor_info_get(tensor, &info), TL_E_INVALID_ARGUMENT);
	info.struct_size = sizeof info + 64; /* of a program that knows more */
	CHECK_OK(tl_tensor_info_get(tensor, &info));
	CHECK_INT(info.struct_size, sizeof info);
	CHECK_FAILS(tl_tensor_info_get(tl_mem_new(512), &info), TL_E_UNSUPPORTED);
}

TEST(wrapped_memory)
{
	int64_t numbers[6] = {0, 1, 2, 3, 4, 5}, strides[2] = {-3, -1};
	int ended = 0;
	tl_tensor_info info = {.struct_size = sizeof info,
	                       .data = numbers + 5,
	                       .shape = two_by_three,
	                       .strides = strides,
	                       .dtype = TL_DTYPE_I64,
	                       .rank = 2,
	                       .flags = TL_TENSOR_FLAG_READ_ONLY};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_wrap(&info, note_end, &ended);
	CHECK_HOLDS(tensor, 5, 4, 3, 2, 1, 0);
	tl_tensor* copy = tl_tensor_clone(tensor);
	CHECK_OK(tl_tensor_info_get(tl_view_transpose(tensor, 0, 1), &info));
	CHECK_INT(info.flags, TL_TENSOR_FLAG_VIEW | TL_TENSOR_FLAG_READ_ONLY);
	CHECK_OK(tl_tensor_info_get(copy, &info));
	CHECK_INT(info.flags, TL_TENSOR_FLAG_CONTIGUOUS);
	CHECK_REFUSED(tl_tensor_wrap(NULL, note_end, &ended), 0, TL_E_INVALID_ARGUMENT);
	info.dtype = 9;
	CHECK_REFUSED(tl_tensor_wrap(&info, note_end, &ended), 0, TL_E_INVALID_ARGUMENT);
	info.dtype = TL_DTYPE_I64;
	info.device = 3;
	CHECK_REFUSED(tl_tensor_wrap(&info, note_end, &ended), 0, TL_E_DEVICE);
	info.device = 0;
	info.struct_size = 16;
	CHECK_REFUSED(tl_tensor_wrap(&info, note_end, &ended), 0, TL_E_INVALID_ARGUMENT);
	CHECK_INT(ended, 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(ended, 1);
}

/* A view needs a slot, a count and an entry of the scope: nothing of the slow path. */
TEST(views_do_not_enter_go)
{
	const int64_t flat = 6, turned[2] = {1, 0}, wide[3] = {2, -1, -1};
	const char* path = getenv("TL_FASTPATH");
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = counting();
	CHECK_OK(tl_tensor_free(tl_view_transpose(tensor, 0, 1))); /* the magazine is not empty from here on */
	const tl_stats before = check_stats();
	for (int i = 0; i < 100; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_view_squeeze(tl_view_expand_dims(tl_view_reshape(tensor, 1, &flat), 0), 0);
		tl_view_slice_axes(tl_view_transpose(tensor, 0, 1), 1, turned, wide, NULL);
		tl_view_broadcast_to(tl_view_permute(tl_view_slice(tensor, 0, 0, 1, 1), 2, turned), 3, wide);
		CHECK_OK(tl_mem_exit_scope());
	}
	const tl_stats after = check_stats();
	if ((path == NULL || strcmp(path, "1") == 0) && getenv("TL_DEBUG") == NULL && getenv("TL_TRACK") == NULL)
		CHECK_INT(after.slow_calls - before.slow_calls, 1);
	CHECK_INT(after.tensor_allocations - before.tensor_allocations, 800);
	CHECK_INT(after.tensors_live, before.tensors_live);
	CHECK_OK(tl_mem_exit_scope());
}

/* A function returns a view of what it made: the storage goes with it. */
TEST(a_view_is_returned)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_function_enter(0));
	tl_tensor* view = tl_tensor_prepare_return(tl_view_transpose(counting(), 0, 1));
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_tensor_register(view));
	CHECK_HOLDS(view, 0, 3, 1, 4, 2, 5);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(view);
}

int main(void) { return check_tests(); }
