/* tl_mpi.h: tensors of every element type and stride between processes. Runs with any number of them. */
#include <math.h>

#include "ranks.h"

static const int32_t dtypes[] = {TL_DTYPE_F32, TL_DTYPE_F64,  TL_DTYPE_I8,   TL_DTYPE_I16, TL_DTYPE_I32,
                                 TL_DTYPE_I64, TL_DTYPE_U8,   TL_DTYPE_U16,  TL_DTYPE_U32, TL_DTYPE_U64,
                                 TL_DTYPE_F16, TL_DTYPE_BF16, TL_DTYPE_BOOL, TL_DTYPE_C64, TL_DTYPE_C128};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static tl_tensor* filled(int32_t dtype, int64_t rank_, const int64_t* shape, int from)
{
	tl_tensor* t = tl_tensor_empty(dtype, TL_DEVICE_CPU, rank_, shape);
	uint8_t* bytes = tl_tensor_data(t);
	for (size_t i = 0; i < tl_tensor_nbytes(t); i++)
		bytes[i] = dtype == TL_DTYPE_BOOL ? (i + (size_t)from) % 3 == 0 : (uint8_t)(31 * i + 7 * (size_t)from);
	return t;
}

static bool same_elements(tl_tensor* a, tl_tensor* b)
{
	tl_tensor *left = tl_tensor_clone(a), *right = tl_tensor_clone(b);
	const size_t bytes = tl_tensor_nbytes(left);
	return left && right && bytes == tl_tensor_nbytes(right) &&
	       (bytes == 0 || memcmp(tl_tensor_data(left), tl_tensor_data(right), bytes) == 0);
}

/* Sends `mine` to the next process and receives into `into`: whichever way the library has. */
static void pass_on(tl_tensor* mine, tl_tensor* into)
{
	tl_mpi_request requests[2];
	CHECK_MPI(tl_mpi_irecv(into, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, &requests[0]));
	CHECK_MPI(tl_mpi_isend(mine, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &requests[1]));
	CHECK_MPI(tl_mpi_waitall(2, requests));
}

static void element_types_travel(void)
{
	const int64_t shape[2] = {5, 4};
	for (int i = 0; i < DTYPES; i++) {
		MPI_Datatype type = MPI_DATATYPE_NULL;
		int bytes = 0;
		tl_mem_enter_scope();
		tl_tensor* mine = filled(dtypes[i], 2, shape, rank);
		tl_tensor* got = tl_tensor_new_zeroed(dtypes[i], TL_DEVICE_CPU, 2, shape);
		CHECK_MPI(tl_mpi_dtype(dtypes[i], &type));
		MPI_Type_size(type, &bytes);
		CHECK_INT(bytes, tl_tensor_nbytes(mine) / 20);
		pass_on(mine, got);
		CHECK(same_elements(got, filled(dtypes[i], 2, shape, (rank + ranks - 1) % ranks)));
		tl_tensor* all = filled(dtypes[i], 2, shape, rank);
		CHECK_MPI(tl_mpi_bcast(all, ranks - 1, MPI_COMM_WORLD));
		CHECK(same_elements(all, filled(dtypes[i], 2, shape, ranks - 1)));
		tl_mem_exit_scope();
	}
}

/* What the processor makes of f16, where the compiler has it. */
static void halves_are_exact(void)
{
	for (uint32_t half = 0; half < 65536; half++) {
		const float f16 = tl_mpi_from_f16_((uint16_t)half), bf16 = tl_mpi_from_bf16_((uint16_t)half);
		if (!isnan(f16)) CHECK_INT(tl_mpi_to_f16_(f16), half);
		if (!isnan(bf16)) CHECK_INT(tl_mpi_to_bf16_(bf16), half);
		CHECK_INT(isnan(tl_mpi_from_f16_(tl_mpi_to_f16_(f16))), isnan(f16));
		CHECK_INT(isnan(tl_mpi_from_bf16_(tl_mpi_to_bf16_(bf16))), isnan(bf16));
	}
	uint64_t state = 17;
	for (int i = 0; i < 300000; i++) {
		const uint32_t bits = (uint32_t)(check_random(&state) >> 32);
		float value;
		memcpy(&value, &bits, sizeof value);
		if (i % 2 == 0) value = (float)ldexp((double)(bits % 8192) / 4096, (int)(bits >> 13) % 48 - 30);
		if (isnan(value)) continue;
#if defined(__FLT16_MANT_DIG__) && defined(__x86_64__)
		__extension__ const _Float16 wanted = (_Float16)value;
		uint16_t half;
		memcpy(&half, &wanted, sizeof half);
		CHECK_INT(tl_mpi_to_f16_(value), half);
		memcpy(&half, &(uint16_t){tl_mpi_to_f16_(value)}, sizeof half);
		__extension__ _Float16 back;
		memcpy(&back, &half, sizeof back);
		CHECK(tl_mpi_from_f16_(half) == (float)back);
#endif
		/* bf16: nothing between the value and what it became is nearer to the value. */
		const float rounded = tl_mpi_from_bf16_(tl_mpi_to_bf16_(value));
		const uint16_t down = (uint16_t)(bits >> 16), up = (uint16_t)(down + 1);
		if (i % 2 == 1 && isfinite(rounded)) {
			CHECK(fabs((double)rounded - value) <= fabs((double)tl_mpi_from_bf16_(down) - value));
			CHECK(fabs((double)rounded - value) <= fabs((double)tl_mpi_from_bf16_(up) - value));
		}
	}
}

static void check_halves(int32_t dtype, MPI_Op op, float wanted)
{
	const int64_t shape = 100;
	tl_tensor* t = tl_tensor_empty(dtype, TL_DEVICE_CPU, 1, &shape);
	uint16_t* values = tl_tensor_data(t);
	for (int i = 0; i < 100; i++) {
		const float value = (float)(rank + 1) / 2;
		values[i] = dtype == TL_DTYPE_F16 ? tl_mpi_to_f16_(value) : tl_mpi_to_bf16_(value);
	}
	CHECK_MPI(tl_mpi_allreduce(t, op, MPI_COMM_WORLD));
	for (int i = 0; i < 100; i++)
		CHECK((dtype == TL_DTYPE_F16 ? tl_mpi_from_f16_(values[i]) : tl_mpi_from_bf16_(values[i])) == wanted);
}

static void reductions_are_in_place(void)
{
	const int64_t shape = 1000;
	float product = 1;
	for (int i = 1; i <= ranks; i++) product *= (float)i / 2;
	for (int i = 0; i < 2; i++) {
		const int32_t dtype = i == 0 ? TL_DTYPE_F16 : TL_DTYPE_BF16;
		check_halves(dtype, MPI_SUM, (float)(ranks * (ranks + 1)) / 4);
		check_halves(dtype, MPI_PROD, product);
		check_halves(dtype, MPI_MAX, (float)ranks / 2);
		check_halves(dtype, MPI_MIN, 0.5f);
		MPI_Op op;
		CHECK_MPI_FAILS(tl_mpi_op(dtype, MPI_BAND, &op), TL_E_UNSUPPORTED, "tl_mpi_op", "convert to f32");
	}
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_I64, TL_DEVICE_CPU, 1, &shape);
	int64_t* values = tl_tensor_data(t);
	for (int64_t i = 0; i < shape; i++) values[i] = i * (rank + 1);
	CHECK_MPI(tl_mpi_allreduce(t, MPI_SUM, MPI_COMM_WORLD));
	CHECK_PTR(tl_tensor_data(t), values);
	for (int64_t i = 0; i < shape; i++) CHECK_INT(values[i], i * ranks * (ranks + 1) / 2);
	const int64_t none = 0;
	CHECK_MPI(tl_mpi_allreduce(tl_tensor_empty(TL_DTYPE_F64, TL_DEVICE_CPU, 1, &none), MPI_SUM, MPI_COMM_WORLD));
	CHECK_MPI(tl_mpi_allreduce(tl_tensor_empty(TL_DTYPE_F64, TL_DEVICE_CPU, 0, NULL), MPI_MAX, MPI_COMM_WORLD));
}

static void a_reduction_goes_on_beside(void)
{
	const int64_t shape = 1000;
	tl_mpi_request request = {0};
	CHECK_MPI(tl_mpi_wait(&request, MPI_STATUS_IGNORE)); /* zeros are complete */
	for (int turn = 0; turn < 2; turn++) {
		tl_mem_enter_scope();
		tl_tensor* t = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &shape);
		float* values = tl_tensor_data(t);
		for (int64_t i = 0; i < shape; i++) values[i] = (float)(i + rank);
		CHECK_MPI(tl_mpi_iallreduce(t, MPI_SUM, MPI_COMM_WORLD, &request));
		CHECK_COUNT(t, 2);
		tl_tensor_acquire(t);
		tl_mem_exit_scope();
		CHECK_COUNT(t, 2);
		bool done = turn == 0;
		if (turn == 0) CHECK_MPI(tl_mpi_wait(&request, MPI_STATUS_IGNORE));
		while (!done) CHECK_MPI(tl_mpi_test(&request, &done, MPI_STATUS_IGNORE));
		CHECK_COUNT(t, 1);
		CHECK_INT(request.count, 0);
		for (int64_t i = 0; i < shape; i++) CHECK(values[i] == (float)(i * ranks) + (float)(ranks * (ranks - 1) / 2));
		tl_tensor_release(t);
	}
}

/* The last reference may be the request's. */
static void requests_hold(void)
{
	const int64_t shape = 300000; /* more than is sent at once */
	tl_mpi_request sends, receives;
	tl_tensor* got = tl_tensor_prepare_return(tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &shape));
	tl_tensor* mine = tl_tensor_prepare_return(filled(TL_DTYPE_U8, 1, &shape, rank));
	CHECK_MPI(tl_mpi_isend(mine, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &sends));
	CHECK_OK(tl_tensor_release(mine));
	CHECK_COUNT(mine, 1);
	CHECK_MPI(tl_mpi_irecv(got, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &receives));
	MPI_Status told;
	int count;
	CHECK_MPI(tl_mpi_wait(&receives, &told));
	MPI_Get_count(&told, MPI_UINT8_T, &count);
	if (TL_MPI_COUNT_MAX > shape) CHECK_INT(count, shape);
	CHECK_MPI(tl_mpi_wait(&sends, MPI_STATUS_IGNORE));
	CHECK_DEAD(mine);
	CHECK_MPI(tl_mpi_wait(&sends, MPI_STATUS_IGNORE));
	CHECK(same_elements(got, filled(TL_DTYPE_U8, 1, &shape, (rank + ranks - 1) % ranks)));
	CHECK_OK(tl_tensor_release(got));
}

/* An operation that the header has no name for: all processes' rows, in order. */
static void own_operations_are_held(void)
{
	const int64_t row = 50, rows[2] = {ranks, 50};
	tl_mpi_layout from, to;
	MPI_Request started;
	tl_mpi_request request;
	tl_tensor* mine = filled(TL_DTYPE_I16, 1, &row, rank);
	tl_tensor* all = tl_tensor_new_zeroed(TL_DTYPE_I16, TL_DEVICE_CPU, 2, rows);
	CHECK_MPI(tl_mpi_layout_get(mine, TL_MPI_READ, &from));
	CHECK_MPI(tl_mpi_layout_get(tl_view_slice(all, 0, 0, 1, 1), TL_MPI_WRITE, &to));
	MPI_Iallgather(from.data, from.count, from.type, to.data, to.count, to.type, MPI_COMM_WORLD, &started);
	tl_mpi_layout_free(&from), tl_mpi_layout_free(&to), tl_mpi_layout_free(&to);
	CHECK_MPI(tl_mpi_hold(mine, all, started, &request));
	CHECK_COUNT(mine, 2);
	CHECK_MPI(tl_mpi_wait(&request, MPI_STATUS_IGNORE));
	CHECK_COUNT(mine, 1);
	for (int i = 0; i < ranks; i++)
		CHECK(same_elements(tl_view_slice(all, 0, i, i + 1, 1),
		                    tl_view_expand_dims(filled(TL_DTYPE_I16, 1, &row, i), 0)));
}

static tl_tensor* view(int which, tl_tensor* base)
{
	const int64_t axes[3] = {2, 0, 1}, wide[4] = {3, 6, 5, 8};
	const int64_t starts[3] = {4, 0, 6}, stops[3] = {INT64_MIN, 5, 1}, steps[3] = {-2, 3, -1};
	switch (which) {
	case 0: return base;
	case 1: return tl_view_transpose(base, 0, 2);
	case 2: return tl_view_permute(base, 3, axes);
	case 3: return tl_view_slice(base, 1, INT64_MAX, INT64_MIN, -1); /* backwards */
	case 4: return tl_view_slice_axes(base, 3, starts, stops, steps);
	case 5: return tl_view_slice(base, 0, 2, 2, 1); /* nothing */
	case 6: return tl_view_slice(tl_view_slice(base, 2, 3, 4, 1), 0, 0, 6, 5);
	default: return tl_view_broadcast_to(base, 4, wide); /* one element three times: only to send */
	}
}

static void views_travel_where_they_lie(void)
{
	const int64_t shape[3] = {6, 5, 8};
	for (int i = 0; i < DTYPES; i++)
		for (int which = 0; which < 8; which++) {
			tl_mem_enter_scope();
			tl_tensor* mine = view(which, filled(dtypes[i], 3, shape, rank));
			tl_tensor* wanted = view(which, filled(dtypes[i], 3, shape, (rank + ranks - 1) % ranks));
			tl_tensor* dense =
				tl_tensor_new_zeroed(dtypes[i], TL_DEVICE_CPU, tl_tensor_rank(mine), tl_tensor_shape(mine));
			pass_on(mine, dense);
			CHECK(same_elements(dense, wanted));
			if (which < 7) {
				tl_tensor *base = filled(dtypes[i], 3, shape, 99), *into = view(which, base);
				pass_on(dense, into);
				CHECK(same_elements(into, view(which, filled(dtypes[i], 3, shape, (rank + 2 * ranks - 2) % ranks))));
				if (which == 4)
					CHECK_INT(((uint8_t*)tl_tensor_data(base))[0], dtypes[i] == TL_DTYPE_BOOL ? 1 : 7 * 99 % 256);
			}
			tl_mem_exit_scope();
		}
	CHECK_INT(mpi_packs, 0);
}

static void a_view_goes_one_way(void)
{
	const int64_t shape[2] = {40, 30};
	tl_tensor* t = filled(TL_DTYPE_C128, 2, shape, rank);
	if (ranks == 1) return;
	if (rank == 0) CHECK_MPI(tl_mpi_send(tl_view_transpose(t, 0, 1), 1, 8, MPI_COMM_WORLD));
	if (rank != 1) return;
	tl_tensor* to = tl_tensor_new_zeroed(TL_DTYPE_C128, TL_DEVICE_CPU, 2, (const int64_t[]){30, 40});
	MPI_Status status;
	CHECK_MPI(tl_mpi_recv(to, 0, 8, MPI_COMM_WORLD, &status));
	CHECK(same_elements(tl_view_transpose(to, 0, 1), filled(TL_DTYPE_C128, 2, shape, 0)));
}

/* More elements than an int counts; with the argument "large", for machines with 8 GiB to spare. */
static void large_tensors_travel(void)
{
	const int64_t shape = ((int64_t)1 << 31) + 5;
	tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &shape);
	uint8_t* values = tl_tensor_data(t);
	values[shape - 1] = values[7] = (uint8_t)(rank + 1);
	CHECK_MPI(tl_mpi_allreduce(t, MPI_MAX, MPI_COMM_WORLD));
	CHECK_INT(values[shape - 1], ranks);
	values[shape - 2] = (uint8_t)(rank + 9);
	if (rank == 0 && ranks > 1) CHECK_MPI(tl_mpi_send(t, 1, 0, MPI_COMM_WORLD));
	if (rank == 1) CHECK_MPI(tl_mpi_recv(t, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	if (rank == 1) CHECK_INT(values[shape - 2], 9);
	CHECK_INT(values[7], ranks);
}

int main(int argc, char** argv)
{
	mpi_begin(&argc, &argv, MPI_THREAD_SINGLE);
	tl_mem_enter_scope();
	const check_balance before = check_take_balance();
	tl_mem_enter_scope();
	void (*const tests[])(void) = {element_types_travel,        halves_are_exact,   reductions_are_in_place,
	                               a_reduction_goes_on_beside,  requests_hold,      own_operations_are_held,
	                               views_travel_where_they_lie, a_view_goes_one_way};
	const bool large = argc > 1 && strcmp(argv[1], "large") == 0;
	for (size_t i = 0; i < (large ? 1 : sizeof tests / sizeof *tests); i++) {
		tl_mem_enter_scope();
		large ? large_tensors_travel() : tests[i]();
		tl_mem_exit_scope();
		check_same_balance((check_balance){before.depth + 1, before.objects, before.bytes, before.foreign}, "a test");
	}
	tl_mem_exit_scope();
	tl_mem_exit_scope();
	CHECK_INT(mpi_types, large ? 0 : 2); /* f16 and bf16 */
	MPI_Finalize();
	CHECK_INT(mpi_types, 0);
	return check_finish();
}
