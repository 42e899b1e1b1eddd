/* Section Tensors: copies of tensors with gaps are those of the obvious loop, and need no slow call. */
#include "dl.h"

#include "check.h"

enum { TIMES = 400, ALLOWED = TIMES / 20, MOST_RANK = 8, ELEMENTS = 1 << 14 };

static uint64_t seed = 88172645463325252u;

static int64_t below(int64_t n) { return (int64_t)(check_random(&seed) % (uint64_t)n); }

static bool fast(void)
{
	const char *path = getenv("TL_FASTPATH"), *debug = getenv("TL_DEBUG"), *track = getenv("TL_TRACK");
	return (path == NULL || *path != '0') && debug == NULL && track == NULL;
}

static int64_t size_of(const tl_tensor* t)
{
	static const int64_t one = 1;
	return (int64_t)tl_tensor_nbytes(tl_tensor_empty(tl_tensor_dtype(t), 0, 1, &one));
}

/* Whether both have the same elements: by a loop over all indices. */
static bool same(const tl_tensor* a, const tl_tensor* b)
{
	const int64_t rank = tl_tensor_rank(a), bytes = size_of(a);
	const int64_t *shape = tl_tensor_shape(a), *in_a = tl_tensor_strides(a), *in_b = tl_tensor_strides(b);
	const char *from_a = tl_tensor_data(a), *from_b = tl_tensor_data(b);
	int64_t index[MOST_RANK] = {0};
	if (tl_tensor_rank(b) != rank || tl_tensor_numel(a) != tl_tensor_numel(b)) return false;
	for (int64_t left = tl_tensor_numel(a); left > 0; left--) {
		int64_t i = 0, k = 0;
		for (int64_t axis = 0; axis < rank; axis++) {
			i += index[axis] * in_a[axis];
			k += index[axis] * in_b[axis];
		}
		if (memcmp(from_a + i * bytes, from_b + k * bytes, (size_t)bytes) != 0) return false;
		for (int64_t axis = rank; axis-- > 0;) {
			if (++index[axis] < shape[axis]) break;
			index[axis] = 0;
		}
	}
	return true;
}

/* A tensor of random bytes, rank and type. */
static tl_tensor* any_tensor(void)
{
	static const int32_t dtypes[] = {TL_DTYPE_U8,  TL_DTYPE_BF16, TL_DTYPE_F32,
	                                 TL_DTYPE_F64, TL_DTYPE_C128, TL_DTYPE_BOOL};
	int64_t shape[MOST_RANK], rank = below(MOST_RANK + 1), all = 1;
	for (int64_t i = 0; i < rank; i++) {
		shape[i] = 1 + below(below(3) == 0 ? 90 : 4);
		if (shape[i] * all > ELEMENTS) shape[i] = 2;
		all *= shape[i];
	}
	tl_tensor* t = tl_tensor_empty(dtypes[below(6)], TL_DEVICE_CPU, rank, shape);
	uint8_t* data = tl_tensor_data(t);
	for (size_t i = 0, bytes = tl_tensor_nbytes(t); i < bytes; i++) data[i] = (uint8_t)check_random(&seed);
	return t;
}

/* A view of it: axes are swapped, cut, turned round or repeated. */
static tl_tensor* any_view(tl_tensor* t, bool repeats)
{
	const int64_t rank = tl_tensor_rank(t);
	for (int64_t i = 0; i < rank; i++) {
		const int64_t extent = tl_tensor_dim(t, i), step = below(2) == 0 ? 1 : below(7) - 3;
		if (step > 0) t = tl_view_slice(t, i, below(extent), INT64_MAX, step);
		else if (step < 0) t = tl_view_slice(t, i, below(extent), INT64_MIN, step);
		t = tl_view_transpose(t, i, below(rank));
	}
	if (!repeats || rank == 0) return t;
	int64_t shape[MOST_RANK];
	for (int64_t i = 0; i < rank; i++) shape[i] = tl_tensor_dim(t, i) == 1 ? 1 + below(3) : -1;
	return tl_view_broadcast_to(t, rank, shape);
}

TEST(clones_are_those_of_a_loop)
{
	uint64_t entered = 0;
	for (int i = 0; i < TIMES; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* view = any_view(any_tensor(), true);
		tl_tensor* spare = tl_tensor_clone(view); /* of this shape the next ones need no memory */
		CHECK_OK(tl_tensor_free(spare));
		const uint64_t before = check_slow_calls();
		tl_tensor* copy = i % 2 == 0 ? tl_tensor_clone(view) : tl_tensor_to(view, TL_DEVICE_CPU);
		entered += check_slow_calls() - before - 1;
		CHECK(tl_tensor_is_contiguous(copy));
		CHECK(same(copy, view));
		DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(view, true);
		CHECK_INT(managed->flags, DL_COPIED);
		tl_tensor* back = tl_tensor_from_dlpack(managed);
		CHECK(same(back, view));
		CHECK_OK(tl_mem_exit_scope());
	}
	if (fast()) CHECK(entered <= ALLOWED);
}

/* Into any view without repetitions; what lies between its elements stays. */
TEST(copies_into_views)
{
	uint64_t entered = 0;
	for (int i = 0; i < TIMES; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor *whole = any_tensor(), *before_it = tl_tensor_clone(whole), *to = any_view(whole, false);
		tl_tensor* from = tl_tensor_clone(to);
		memset(tl_tensor_data(from), 0x3C, tl_tensor_nbytes(from));
		const int64_t axes = tl_tensor_rank(to);
		if (axes > 1) from = tl_view_transpose(tl_tensor_clone(tl_view_transpose(from, 0, axes - 1)), 0, axes - 1);
		const uint64_t before = check_slow_calls();
		CHECK_OK(tl_tensor_copy(to, from));
		entered += check_slow_calls() - before - 1;
		CHECK(same(to, from));
		const uint8_t *now = tl_tensor_data(whole), *then = tl_tensor_data(before_it);
		int64_t changed = 0, bytes = (int64_t)tl_tensor_nbytes(whole);
		for (int64_t k = 0; k < bytes; k++) changed += now[k] != then[k];
		CHECK(changed <= (int64_t)tl_tensor_nbytes(from));
		CHECK_OK(tl_mem_exit_scope());
	}
	if (fast()) CHECK(entered <= ALLOWED);
}

/* A tensor onto a part of itself, as if by way of another one. */
TEST_IN_SCOPE(copies_onto_themselves)
{
	int64_t data[8] = {0, 1, 2, 3, 4, 5, 6, 7}, eight = 8;
	tl_tensor* t = tl_tensor_from_buffer(TL_DTYPE_I64, 0, 1, &eight, data, NULL, NULL, NULL);
	CHECK_OK(tl_tensor_copy(t, tl_view_slice(t, 0, -1, INT64_MIN, -1)));
	for (int64_t i = 0; i < 8; i++) CHECK_INT(data[i], 7 - i);
	CHECK_OK(tl_tensor_copy(tl_view_slice(t, 0, 1, 8, 1), tl_view_slice(t, 0, 0, 7, 1)));
	for (int64_t i = 0; i < 8; i++) CHECK_INT(data[i], i == 0 ? 7 : 8 - i);
}

TEST(what_is_not_copied)
{
	static const int64_t shape[2] = {3, 4}, turned[2] = {4, 3}, one[2] = {3, 1}, none[2] = {0, 4};
	int32_t data[12] = {0};
	const tl_tensor_info fixed = {.struct_size = sizeof fixed,
	                              .data = data,
	                              .shape = shape,
	                              .dtype = TL_DTYPE_I32,
	                              .rank = 2,
	                              .flags = TL_TENSOR_FLAG_READ_ONLY};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* from = tl_tensor_new_zeroed(TL_DTYPE_I32, 0, 2, shape);
	CHECK_FAILS(tl_tensor_copy(NULL, from), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_copy(from, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_copy(tl_tensor_empty(TL_DTYPE_F32, 0, 2, shape), from), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_copy(tl_tensor_empty(TL_DTYPE_I32, 0, 2, turned), from), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_copy(tl_tensor_empty(TL_DTYPE_I32, 0, 1, shape), from), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_copy(tl_tensor_wrap(&fixed, NULL, NULL), from), TL_E_UNSUPPORTED);
	tl_tensor* repeated = tl_view_broadcast_to(tl_tensor_empty(TL_DTYPE_I32, 0, 2, one), 2, shape);
	CHECK_FAILS(tl_tensor_copy(repeated, from), TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_copy(from, repeated));
	tl_tensor* empty = tl_tensor_empty(TL_DTYPE_I32, 0, 2, none);
	tl_tensor* turned_empty = tl_tensor_clone(tl_view_slice(empty, 1, -1, INT64_MIN, -1));
	const uint64_t before = check_slow_calls();
	CHECK_OK(tl_tensor_copy(empty, turned_empty));
	if (fast()) CHECK_INT(check_slow_calls() - before, 1); /* that of stats */
	CHECK_REFUSED(tl_tensor_to(NULL, TL_DEVICE_CPU), 0, TL_OK);
	CHECK_REFUSED(tl_tensor_to(from, 77), 0, TL_E_DEVICE);
	CHECK_OK(tl_mem_exit_scope());
}

int main(void)
{
	CHECK_OK(tl_init());
	return check_tests();
}
