/* Copies of tensors between devices, and DLPack with them. */
#include "dl.h"
#include "fake_cuda.h"

enum { ROWS = 5, COLUMNS = 7, ELEMENTS = ROWS * COLUMNS };
static const int64_t shape[2] = {ROWS, COLUMNS}, turned[2] = {COLUMNS, ROWS}, axes[2] = {1, 0};

static tl_tensor* counting_on(int32_t device, int first)
{
	tl_tensor* here = tl_tensor_empty(TL_DTYPE_I32, CPU, 2, shape);
	for (int i = 0; i < ELEMENTS; i++) ((int32_t*)tl_tensor_data(here))[i] = first + i;
	return tl_tensor_to(here, device);
}

static void check_counting(const tl_tensor* t, int first, bool is_turned)
{
	tl_tensor* here = tl_tensor_to(t, CPU);
	const int32_t* values = tl_tensor_data(here);
	CHECK(values != NULL);
	for (int i = 0; values != NULL && i < ELEMENTS; i++)
		CHECK_INT(values[i], first + (is_turned ? i % ROWS * COLUMNS + i / ROWS : i));
}

TEST(between_all_devices)
{
	for (int32_t from = 0; from < DEVICES; from++) {
		for (int32_t to = 0; to < DEVICES; to++) {
			CHECK_OK(tl_mem_enter_scope());
			tl_tensor* source = counting_on(from, 100 * from + to);
			CHECK_INT(tl_tensor_device(source), from);
			tl_tensor* copy = tl_tensor_to(source, to);
			CHECK_INT(tl_tensor_device(copy), to);
			CHECK(copy != source && tl_tensor_data(copy) != tl_tensor_data(source));
			check_counting(copy, 100 * from + to, false);

			tl_tensor* spread = tl_view_permute(source, 2, axes);
			check_counting(tl_tensor_to(spread, to), 100 * from + to, true);
			CHECK(tl_tensor_is_contiguous(tl_tensor_to(spread, to)));
			check_counting(tl_tensor_clone(source), 100 * from + to, false);

			tl_tensor* target = counting_on(to, -1);
			CHECK_OK(tl_tensor_copy(target, source));
			check_counting(target, 100 * from + to, false);
			tl_tensor* other = tl_tensor_new_zeroed(TL_DTYPE_I32, to, 2, turned);
			CHECK_OK(tl_tensor_copy(other, spread));
			check_counting(other, 100 * from + to, true);
			CHECK_OK(tl_mem_exit_scope());
		}
	}
}

/* Into gaps where the CPU reaches them, and nowhere else. */
TEST(into_gaps)
{
	for (int32_t from = 0; from < DEVICES; from++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* source = counting_on(from, 7);
		tl_tensor* here = tl_tensor_new_zeroed(TL_DTYPE_I32, CPU, 2, turned);
		CHECK_OK(tl_tensor_copy(tl_view_permute(here, 2, axes), source));
		CHECK_INT(((int32_t*)tl_tensor_data(here))[1], 7 + COLUMNS);
		CHECK_INT(((int32_t*)tl_tensor_data(here))[ROWS], 7 + 1);
		if (from != CPU && from != SHARED) {
			tl_tensor* there = tl_tensor_new_zeroed(TL_DTYPE_I32, from, 2, turned);
			CHECK_FAILS(tl_tensor_copy(tl_view_permute(there, 2, axes), source), TL_E_UNSUPPORTED);
			CHECK(strstr(tl_last_error(), "whose memory the CPU cannot reach") != NULL);
		}
		CHECK_OK(tl_mem_exit_scope());
	}
}

/* A tensor and views of it: what is read is read before it is written. */
TEST(over_each_other)
{
	const int64_t nine[1] = {9};
	for (int32_t d = 0; d < DEVICES; d++) {
		for (int up = 0; up < 2; up++) {
			CHECK_OK(tl_mem_enter_scope());
			tl_tensor* here = tl_tensor_empty(TL_DTYPE_I32, CPU, 1, nine);
			for (int i = 0; i < 9; i++) ((int32_t*)tl_tensor_data(here))[i] = i;
			tl_tensor* t = tl_tensor_to(here, d);
			CHECK_OK(tl_tensor_copy(tl_view_slice(t, 0, up, 8 + up, 1), tl_view_slice(t, 0, 1 - up, 9 - up, 1)));
			CHECK_OK(tl_tensor_copy(t, t));
			const int32_t* values = tl_tensor_data(tl_tensor_to(t, CPU));
			for (int i = 0; i < 9; i++) CHECK_INT(values[i], up ? (i == 0 ? 0 : i - 1) : (i == 8 ? 8 : i + 1));
			if (d == CPU) {
				CHECK_OK(tl_tensor_copy(t, tl_view_slice(t, 0, INT64_MAX, INT64_MIN, -1)));
				CHECK_INT(((int32_t*)tl_tensor_data(t))[0], 8 - up);
			}
			CHECK_OK(tl_mem_exit_scope());
		}
	}
}

TEST_IN_SCOPE(copies_are_refused)
{
	tl_tensor* there = counting_on(CUDA, 0);
	tl_tensor* here = counting_on(CPU, 0);
	void* plain = tl_mem_new(64);
	int32_t constant[ELEMENTS] = {0};
	tl_tensor_info info = {.struct_size = sizeof info,
	                       .data = constant,
	                       .shape = shape,
	                       .dtype = TL_DTYPE_I32,
	                       .rank = 2,
	                       .flags = TL_TENSOR_FLAG_READ_ONLY};
	tl_tensor* fixed = tl_tensor_wrap(&info, NULL, NULL);
	tl_tensor* dead = counting_on(CUDA, 0);
	CHECK_OK(tl_tensor_free(dead));
	CHECK_FAILS(tl_tensor_copy(NULL, here), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_copy(here, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_copy((tl_tensor*)0x1234560, here), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_tensor_copy(here, (tl_tensor*)((char*)there + 8)), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_tensor_copy(here, dead), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_tensor_copy(here, plain), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_copy(here, tl_tensor_new_zeroed(TL_DTYPE_I32, CPU, 2, turned)), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_copy(here, tl_tensor_new_zeroed(TL_DTYPE_F32, CPU, 2, shape)), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_copy(fixed, there), TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_copy(there, fixed));
	CHECK_FAILS(tl_tensor_copy(tl_view_broadcast_to(tl_view_slice(here, 0, 0, 1, 1), 2, shape), there),
	            TL_E_UNSUPPORTED);
	const int64_t none[2] = {0, 3}, column[2] = {0, 1}; /* nothing stands under several indices */
	tl_tensor* empty = tl_tensor_new_zeroed(TL_DTYPE_I32, CPU, 2, column);
	CHECK_OK(tl_tensor_copy(tl_view_broadcast_to(empty, 2, none), tl_tensor_new_zeroed(TL_DTYPE_I32, CPU, 2, none)));
	fake_fail("cuMemcpyDtoH_v2", 1, 700);
	CHECK_FAILS(tl_tensor_copy(here, there), TL_E_DEVICE);
	fake_fail("cuMemcpyDtoH_v2", 1, 2);
	CHECK_FAILS(tl_tensor_copy(here, there), TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_tensor_copy(here, there));
}

TEST(destinations_are_checked)
{
	const int64_t huge[1] = {(int64_t)1 << 31};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* there = counting_on(CUDA, 0);
	tl_tensor* dead = counting_on(CUDA, 0);
	CHECK_OK(tl_tensor_free(dead));
	CHECK_REFUSED(tl_tensor_to(NULL, CUDA), 0, TL_OK);
	CHECK_REFUSED(tl_tensor_to((tl_tensor*)0x1234560, CPU), 0, TL_E_UNKNOWN_POINTER);
	CHECK_REFUSED(tl_tensor_to((tl_tensor*)((char*)there + 8), CPU), 0, TL_E_INTERIOR_POINTER);
	CHECK_REFUSED(tl_tensor_to(dead, CPU), 0, TL_E_NOT_LIVE);
	CHECK_REFUSED(tl_tensor_to(tl_mem_new(64), CPU), 0, TL_E_UNSUPPORTED);
	for (int i = 0; i < 4; i++) {
		static const int32_t wrong[] = {-2, DEVICES, 256, INT32_MAX};
		CHECK_REFUSED(tl_tensor_to(there, wrong[i]), 0, TL_E_DEVICE);
	}
	tl_tensor* wide = tl_view_broadcast_to(tl_tensor_new_zeroed(TL_DTYPE_U8, CPU, 0, NULL), 1, huge);
	CHECK_REFUSED(tl_tensor_to(wide, CUDA), 0, TL_E_OUT_OF_MEMORY);
	fake_fail("cuMemcpyDtoD_v2", 1, 700);
	CHECK_REFUSED(tl_tensor_clone(there), 0, TL_E_DEVICE);
	tl_tensor* lent = tl_tensor_from_buffer(TL_DTYPE_I32, CUDA, 2, shape, (void*)0x7000000000, NULL, NULL, NULL);
	CHECK_REFUSED(tl_tensor_to(lent, CPU), 0, TL_E_INVALID_ARGUMENT); /* says the driver */
	CHECK_REFUSED(tl_tensor_clone(lent), 0, TL_E_INVALID_ARGUMENT);
	tl_mem_enter_scope();
	while (tl_tensor_register(there) == TL_OK) {}
	CHECK_REFUSED(tl_tensor_to(there, CPU), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_I32, CUDA, 2, shape), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_exit_scope());
}

/* A tensor over memory of a device that somebody else has. */
TEST(lent_memory_is_copied)
{
	const tl_device_allocator* a = tl_device_allocator_for(CUDA);
	CHECK_OK(tl_mem_enter_scope());
	void* block = a->allocate(a->ctx, ELEMENTS * 4);
	tl_tensor* lent = tl_tensor_from_buffer(TL_DTYPE_I32, CUDA, 2, shape, block, NULL, NULL, NULL);
	CHECK_OK(tl_tensor_copy(lent, counting_on(CPU, 3)));
	check_counting(lent, 3, false);
	check_counting(tl_tensor_to(lent, OPENCL), 3, false);
	CHECK_FAILS(tl_tensor_record_stream(lent, NULL), TL_E_UNSUPPORTED);
	CHECK_OK(tl_mem_exit_scope());
	a->deallocate(a->ctx, block, ELEMENTS * 4);
}

/* ---- DLPack ------------------------------------------------------------------------- */

TEST_IN_SCOPE(dlpack_numbers_devices)
{
	static const int32_t want[DEVICES][2] = {{1, 0}, {1, 0}, {2, 0}, {2, 1}, {4, 0}};
	int32_t kind, ordinal;
	for (int32_t d = 0; d < DEVICES; d++) {
		CHECK_OK(tl_tensor_dlpack_device(counting_on(d, 0), &kind, &ordinal));
		CHECK_INT(kind, want[d][0]);
		CHECK_INT(ordinal, want[d][1]);
	}
	tl_tensor* t = counting_on(CUDA, 0);
	CHECK_OK(tl_tensor_dlpack_device(NULL, &kind, &ordinal));
	CHECK_INT(kind, 1);
	CHECK_FAILS(tl_tensor_dlpack_device(t, NULL, &ordinal), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_dlpack_device(t, &kind, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_tensor_dlpack_device((tl_tensor*)0x1234560, &kind, &ordinal), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_tensor_dlpack_device((tl_tensor*)((char*)t + 8), &kind, &ordinal), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_tensor_dlpack_device(tl_mem_new(64), &kind, &ordinal), TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_free(t));
	CHECK_FAILS(tl_tensor_dlpack_device(t, &kind, &ordinal), TL_E_NOT_LIVE);
}

/* Out and in again: the same memory, on the same device. */
TEST(dlpack_goes_round)
{
	for (int32_t d = CUDA; d < DEVICES; d++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* t = counting_on(d, 50);
		for (int legacy = 0; legacy < 2; legacy++) {
			tl_tensor* again;
			tl_tensor* inner = tl_view_slice(t, 0, 1, 3, 1);
			if (legacy) {
				again = tl_tensor_from_dlpack_legacy(tl_tensor_to_dlpack_legacy(inner, false));
			} else {
				DLManagedTensorVersioned* m = tl_tensor_to_dlpack(inner, false);
				CHECK_INT(m->dl_tensor.device.device_type, d == OPENCL ? kDLOpenCL : kDLCUDA);
				CHECK_INT(m->dl_tensor.device.device_id, d == OTHER_CUDA);
				CHECK(d == OPENCL || m->dl_tensor.byte_offset == 0);
				again = tl_tensor_from_dlpack(m);
			}
			CHECK_PTR(tl_tensor_data(again), tl_tensor_data(inner));
			CHECK_INT(tl_tensor_device(again), d);
			CHECK_INT(((int32_t*)tl_tensor_data(tl_tensor_to(again, CPU)))[1], 50 + COLUMNS + 1);
		}
		DLManagedTensorVersioned* copied = tl_tensor_to_dlpack(t, true);
		CHECK_INT(copied->flags, DL_COPIED);
		check_counting(tl_tensor_from_dlpack(copied), 50, false);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_DEAD(t);
	}
}

static void no_deleter(DLManagedTensorVersioned* self) { (void)self; }

TEST_IN_SCOPE(dlpack_is_checked)
{
	int32_t values[ELEMENTS];
	int64_t strides[2] = {COLUMNS, 1};
	DLManagedTensorVersioned m = {.version = {1, 3}, .deleter = no_deleter};
	m.dl_tensor.data = values;
	m.dl_tensor.ndim = 2;
	m.dl_tensor.dtype.code = 0;
	m.dl_tensor.dtype.bits = 32;
	m.dl_tensor.dtype.lanes = 1;
	m.dl_tensor.shape = (int64_t*)shape;
	m.dl_tensor.strides = strides;
	m.dl_tensor.device.device_type = kDLCUDAHost;
	m.dl_tensor.device.device_id = 1;
	CHECK_INT(tl_tensor_device(tl_tensor_from_dlpack(&m)), CPU); /* pinned memory is the CPU's */
	m.dl_tensor.device.device_type = kDLCUDA;
	m.dl_tensor.device.device_id = 9;
	CHECK_REFUSED(tl_tensor_from_dlpack(&m), 0, TL_E_DEVICE);
	m.dl_tensor.device.device_id = -1;
	CHECK_REFUSED(tl_tensor_from_dlpack(&m), 0, TL_E_INVALID_ARGUMENT);
	m.dl_tensor.device.device_type = 77;
	CHECK_REFUSED(tl_tensor_from_dlpack(&m), 0, TL_E_DEVICE);
	m.dl_tensor.device.device_type = kDLOpenCL;
	m.dl_tensor.device.device_id = 0;
	CHECK_REFUSED(tl_tensor_from_dlpack(&m), 0, TL_E_UNSUPPORTED); /* no buffer of ours */
	tl_tensor* t = counting_on(CUDA, 0);
	fake_fail("cuMemcpyDtoD_v2", 1, 700);
	CHECK_REFUSED(tl_tensor_to_dlpack(t, true), 0, TL_E_DEVICE);
	fake_fail("cuMemcpyDtoD_v2", 1, 700);
	CHECK_REFUSED(tl_tensor_to_dlpack_legacy(t, true), 0, TL_E_DEVICE);
}

int main(void)
{
	CHECK_OK(tl_configure("TL_ARENA_BYTES", "1MiB"));
	prepare_devices();
	check_run();
	return finish_devices();
}
