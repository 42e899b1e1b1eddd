/* tl_mpi.h: what is refused and how it is told, windows, and MPI's memory as a device and under a pool. */
#include "ranks.h"

#include <pthread.h>

static tl_tensor* numbers(int64_t n, int from)
{
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_I32, TL_DEVICE_CPU, 1, &n);
	int32_t* values = tl_tensor_data(t);
	for (int64_t i = 0; i < n; i++) values[i] = (int32_t)i + from;
	return t;
}

static void nothing_works_without_mpi(const char* says)
{
	MPI_Datatype type;
	MPI_Op op;
	int32_t device;
	bool done;
	tl_mpi_layout layout;
	tl_mpi_request request = {0};
	tl_mpi_window window = {0};
	tl_tensor* t = numbers(3, 0);
	CHECK_MPI_FAILS(tl_mpi_dtype(TL_DTYPE_F32, &type), TL_E_DEVICE, "tl_mpi_dtype", says);
	CHECK_MPI_FAILS(tl_mpi_op(TL_DTYPE_F16, MPI_SUM, &op), TL_E_DEVICE, "tl_mpi_op", says);
	CHECK_MPI_FAILS(tl_mpi_layout_get(t, TL_MPI_READ, &layout), TL_E_DEVICE, "tl_mpi_layout_get", says);
	CHECK_MPI_FAILS(tl_mpi_send(t, 0, 0, MPI_COMM_WORLD), TL_E_DEVICE, "tl_mpi_send", says);
	CHECK_MPI_FAILS(tl_mpi_recv(t, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), TL_E_DEVICE, "tl_mpi_recv", says);
	CHECK_MPI_FAILS(tl_mpi_bcast(t, 0, MPI_COMM_WORLD), TL_E_DEVICE, "tl_mpi_bcast", says);
	CHECK_MPI_FAILS(tl_mpi_allreduce(t, MPI_SUM, MPI_COMM_WORLD), TL_E_DEVICE, "tl_mpi_allreduce", says);
	CHECK_MPI_FAILS(tl_mpi_iallreduce(t, MPI_SUM, MPI_COMM_WORLD, &request), TL_E_DEVICE, "tl_mpi_iallreduce", says);
	CHECK_MPI_FAILS(tl_mpi_isend(t, 0, 0, MPI_COMM_WORLD, &request), TL_E_DEVICE, "tl_mpi_isend", says);
	CHECK_MPI_FAILS(tl_mpi_irecv(t, 0, 0, MPI_COMM_WORLD, &request), TL_E_DEVICE, "tl_mpi_irecv", says);
	CHECK_MPI_FAILS(tl_mpi_wait(&request, MPI_STATUS_IGNORE), TL_E_DEVICE, "tl_mpi_wait", says);
	CHECK_MPI_FAILS(tl_mpi_test(&request, &done, MPI_STATUS_IGNORE), TL_E_DEVICE, "tl_mpi_test", says);
	CHECK_MPI_FAILS(tl_mpi_waitall(1, &request), TL_E_DEVICE, "tl_mpi_waitall", says);
	CHECK_MPI_FAILS(tl_mpi_window_create(t, MPI_INFO_NULL, MPI_COMM_WORLD, &window), TL_E_DEVICE,
	                "tl_mpi_window_create", says);
	CHECK_MPI_FAILS(tl_mpi_window_free(&window), TL_E_DEVICE, "tl_mpi_window_free", says);
	CHECK_MPI_FAILS(tl_mpi_device_register(&device), TL_E_DEVICE, "tl_mpi_device_register", says);
	const tl_device_allocator allocator = tl_mpi_allocator();
	CHECK(allocator.allocate(allocator.ctx, 100) == NULL);
	CHECK_COUNT(t, 1);
}

static void missing_arguments_are_told(void)
{
	tl_tensor* t = numbers(3, 0);
	tl_mpi_request request;
	tl_mpi_layout layout;
	tl_mpi_window window;
	MPI_Datatype type;
	const tl_status invalid = TL_E_INVALID_ARGUMENT;
	CHECK_MPI_FAILS(tl_mpi_dtype(9, &type), invalid, "tl_mpi_dtype", "TL_E_INVALID_ARGUMENT: no such element type");
	CHECK_MPI_FAILS(tl_mpi_dtype(TL_DTYPE_F32, NULL), invalid, "tl_mpi_dtype", "NULL");
	CHECK_MPI_FAILS(tl_mpi_op(TL_DTYPE_F32, MPI_SUM, NULL), invalid, "tl_mpi_op", "NULL");
	CHECK_MPI_FAILS(tl_mpi_layout_get(t, TL_MPI_READ, NULL), invalid, "tl_mpi_layout_get", "NULL");
	CHECK_MPI_FAILS(tl_mpi_layout_get(NULL, TL_MPI_READ, &layout), invalid, "tl_mpi_layout_get", "tensor is NULL");
	CHECK_MPI_FAILS(tl_mpi_send(NULL, 0, 0, MPI_COMM_SELF), invalid, "tl_mpi_send", "tensor is NULL");
	CHECK_MPI_FAILS(tl_mpi_recv(NULL, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE), invalid, "tl_mpi_recv", "NULL");
	CHECK_MPI_FAILS(tl_mpi_bcast(NULL, 0, MPI_COMM_SELF), invalid, "tl_mpi_bcast", "tensor is NULL");
	CHECK_MPI_FAILS(tl_mpi_allreduce(NULL, MPI_SUM, MPI_COMM_SELF), invalid, "tl_mpi_allreduce", "NULL");
	CHECK_MPI_FAILS(tl_mpi_isend(t, 0, 0, MPI_COMM_SELF, NULL), invalid, "tl_mpi_isend", "out_request is NULL");
	CHECK_MPI_FAILS(tl_mpi_irecv(t, 0, 0, MPI_COMM_SELF, NULL), invalid, "tl_mpi_irecv", "out_request is NULL");
	CHECK_MPI_FAILS(tl_mpi_iallreduce(t, MPI_SUM, MPI_COMM_SELF, NULL), invalid, "tl_mpi_iallreduce", "NULL");
	CHECK_MPI_FAILS(tl_mpi_hold(t, NULL, MPI_REQUEST_NULL, NULL), invalid, "tl_mpi_hold", "NULL");
	CHECK_MPI_FAILS(tl_mpi_hold(NULL, t, MPI_REQUEST_NULL, &request), invalid, "tl_mpi_hold", "tensor is NULL");
	CHECK_MPI_FAILS(tl_mpi_wait(NULL, MPI_STATUS_IGNORE), invalid, "tl_mpi_wait", "NULL");
	CHECK_MPI_FAILS(tl_mpi_test(&request, NULL, MPI_STATUS_IGNORE), invalid, "tl_mpi_test", "NULL");
	CHECK_MPI_FAILS(tl_mpi_waitall(1, NULL), invalid, "tl_mpi_waitall", "NULL");
	CHECK_MPI_FAILS(tl_mpi_waitall(-1, &request), invalid, "tl_mpi_waitall", "negative");
	CHECK_MPI_FAILS(tl_mpi_window_create(t, MPI_INFO_NULL, MPI_COMM_SELF, NULL), invalid, "tl_mpi_window_create",
	                "NULL");
	CHECK_MPI_FAILS(tl_mpi_window_create(NULL, MPI_INFO_NULL, MPI_COMM_SELF, &window), invalid, "tl_mpi_window_create",
	                "tensor is NULL");
	CHECK_MPI_FAILS(tl_mpi_window_free(NULL), invalid, "tl_mpi_window_free", "NULL");
	CHECK_MPI_FAILS(tl_mpi_device_register(NULL), invalid, "tl_mpi_device_register", "NULL");
	CHECK_INT(tl_mpi_last_code(), MPI_SUCCESS);
	CHECK_COUNT(t, 1);
}

static void bad_tensors_are_told(void)
{
	static int foreign;
	tl_mpi_request request;
	tl_mpi_layout layout;
	void* plain = tl_mem_new(64);
	tl_tensor* gone = numbers(2, 0);
	tl_tensor_free(gone);
	CHECK_MPI_FAILS(tl_mpi_send((tl_tensor*)(void*)&foreign, 0, 0, MPI_COMM_SELF), TL_E_UNKNOWN_POINTER, "tl_mpi_send",
	                "TL_E_UNKNOWN_POINTER: 0x");
	CHECK_MPI_FAILS(tl_mpi_bcast((tl_tensor*)plain, 0, MPI_COMM_SELF), TL_E_UNSUPPORTED, "tl_mpi_bcast", "tensor");
	CHECK_STATUS(tl_mpi_isend(gone, 0, 0, MPI_COMM_SELF, &request), tl_ptr_check(gone));
	CHECK_INT(request.count, 0);

	int32_t element[6] = {0};
	const int64_t shape[2] = {2, 3}, repeated[2] = {0, 1}, close[2] = {1, 1};
	tl_tensor_info info = {
		.struct_size = sizeof info, .data = element, .shape = shape, .dtype = TL_DTYPE_I32, .rank = 2};
	info.flags = TL_TENSOR_FLAG_READ_ONLY;
	tl_tensor* read_only = tl_tensor_wrap(&info, NULL, NULL);
	info.flags = 0;
	info.strides = repeated;
	tl_tensor* broadcast = tl_tensor_wrap(&info, NULL, NULL);
	info.strides = close;
	tl_tensor* overlapping = tl_tensor_wrap(&info, NULL, NULL);
	const char* const says[3] = {"read-only", "several indices", "several indices"};
	tl_tensor* const bad[3] = {read_only, broadcast, overlapping};
	for (int i = 0; i < 3; i++) {
		CHECK_MPI(tl_mpi_layout_get(bad[i], TL_MPI_READ, &layout));
		tl_mpi_layout_free(&layout);
		CHECK_MPI_FAILS(tl_mpi_layout_get(bad[i], TL_MPI_WRITE, &layout), TL_E_UNSUPPORTED, "tl_mpi_layout_get",
		                says[i]);
		CHECK_MPI_FAILS(tl_mpi_recv(bad[i], 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE), TL_E_UNSUPPORTED, "tl_mpi_recv",
		                says[i]);
		CHECK_MPI_FAILS(tl_mpi_irecv(bad[i], 0, 0, MPI_COMM_SELF, &request), TL_E_UNSUPPORTED, "tl_mpi_irecv", says[i]);
		CHECK_MPI(tl_mpi_bcast(bad[i], 0, MPI_COMM_SELF)); /* the root reads */
	}
	CHECK_MPI_FAILS(tl_mpi_allreduce(read_only, MPI_SUM, MPI_COMM_SELF), TL_E_UNSUPPORTED, "tl_mpi_allreduce",
	                "read-only");
	tl_tensor* strided = tl_view_slice(numbers(10, 0), 0, 0, 10, 2);
	CHECK_MPI_FAILS(tl_mpi_iallreduce(strided, MPI_SUM, MPI_COMM_SELF, &request), TL_E_UNSUPPORTED, "tl_mpi_iallreduce",
	                "clone");
	tl_mpi_window window;
	CHECK_MPI_FAILS(tl_mpi_window_create(strided, MPI_INFO_NULL, MPI_COMM_SELF, &window), TL_E_UNSUPPORTED,
	                "tl_mpi_window_create", "clone");
	tl_mem_function_enter(1);
	tl_tensor* in_slot = tl_tensor_in_slot(0, TL_DTYPE_I32, 2, shape);
	CHECK_MPI(tl_mpi_bcast(in_slot, 0, MPI_COMM_SELF));
	CHECK_MPI_FAILS(tl_mpi_isend(in_slot, 0, 0, MPI_COMM_SELF, &request), TL_E_UNSUPPORTED, "tl_mpi_isend", "slot");
	CHECK_MPI_FAILS(tl_mpi_hold(strided, in_slot, MPI_REQUEST_NULL, &request), TL_E_UNSUPPORTED, "tl_mpi_hold", "slot");
	tl_mem_function_exit();
}

/* Nothing lies under several indices where nothing lies, whatever the strides. */
static void empty_tensors_are_written(void)
{
	const int64_t none[2] = {0, 1}, wide[2] = {0, 5};
	tl_tensor* empty = tl_view_broadcast_to(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, none), 2, wide);
	tl_mpi_request both[2];
	CHECK_MPI(tl_mpi_irecv(empty, 0, 1, MPI_COMM_SELF, &both[0]));
	CHECK_MPI(tl_mpi_isend(empty, 0, 1, MPI_COMM_SELF, &both[1]));
	CHECK_MPI(tl_mpi_waitall(2, both));
}

/* A layout that was refused has nothing to free. */
static void refused_layouts_are_empty(void)
{
	tl_mpi_layout layout;
	memset(&layout, 0xFF, sizeof layout);
	CHECK_MPI_FAILS(tl_mpi_layout_get(NULL, TL_MPI_READ, &layout), TL_E_INVALID_ARGUMENT, "tl_mpi_layout_get", "NULL");
	CHECK_INT(layout.count, 0);
	tl_mpi_layout_free(&layout);
	tl_mpi_layout_free(NULL);
}

/* Errors of MPI become statuses where MPI returns them. */
static void answers_of_mpi_are_told(void)
{
	tl_mpi_request request;
	tl_tensor *t = numbers(10, 0), *few = numbers(4, 0);
	CHECK_MPI_FAILS(tl_mpi_send(t, ranks, 0, MPI_COMM_WORLD), TL_E_INVALID_ARGUMENT, "tl_mpi_send",
	                "TL_E_INVALID_ARGUMENT: MPI answered");
	int error_class;
	MPI_Error_class(tl_mpi_last_code(), &error_class);
	CHECK_INT(error_class, MPI_ERR_RANK);
	CHECK_MPI_FAILS(tl_mpi_isend(t, ranks, 0, MPI_COMM_WORLD, &request), TL_E_INVALID_ARGUMENT, "tl_mpi_isend", "MPI");
	CHECK_COUNT(t, 1);
	CHECK_MPI(tl_mpi_wait(&request, MPI_STATUS_IGNORE));
	CHECK_MPI_FAILS(tl_mpi_bcast(t, 5, MPI_COMM_SELF), TL_E_INVALID_ARGUMENT, "tl_mpi_bcast", "MPI");

	/* Too long for its receiver: the request is complete nevertheless. (Open MPI 4 does not tell a process that receives
	 * from itself and began with the receive.) */
	tl_mpi_request both[2];
	CHECK_MPI(tl_mpi_isend(t, 0, 1, MPI_COMM_SELF, &both[1]));
	CHECK_MPI(tl_mpi_irecv(few, 0, 1, MPI_COMM_SELF, &both[0]));
	CHECK_MPI_FAILS(tl_mpi_waitall(2, both), TL_E_INVALID_ARGUMENT, "tl_mpi_wait", "MPI");
	MPI_Error_class(tl_mpi_last_code(), &error_class);
	CHECK_INT(error_class, MPI_ERR_TRUNCATE);
	CHECK_COUNT(few, 1);
	CHECK_COUNT(t, 1);
	CHECK_INT(both[0].count + both[1].count, 0);
}

static void windows_hold(void)
{
	tl_mpi_window window;
	tl_tensor* t = tl_tensor_prepare_return(numbers(ranks + 1, 1000 * rank));
	int32_t* values = tl_tensor_data(t);
	const int32_t mine = 7 + rank;
	CHECK_MPI(tl_mpi_window_create(t, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
	CHECK_COUNT(t, 2);
	CHECK_OK(tl_tensor_release(t));
	int32_t got = -1;
	const int next = (rank + 1) % ranks;
	MPI_Win_fence(0, window.window);
	for (int to = 0; to < ranks; to++) MPI_Put(&mine, 1, MPI_INT32_T, to, rank, 1, MPI_INT32_T, window.window);
	MPI_Get(&got, 1, MPI_INT32_T, next, ranks, 1, MPI_INT32_T, window.window);
	MPI_Win_fence(0, window.window);
	for (int from = 0; from < ranks; from++) CHECK_INT(values[from], 7 + from);
	CHECK_INT(got, 1000 * next + ranks);
	CHECK_COUNT(t, 1);
	CHECK_MPI(tl_mpi_window_free(&window));
	CHECK_DEAD(t);
	CHECK_MPI(tl_mpi_window_free(&window));
	CHECK_MPI(tl_mpi_window_create(numbers(rank == 0 ? 5 : 0, 0), MPI_INFO_NULL, MPI_COMM_WORLD, &window));
	CHECK_MPI(tl_mpi_window_free(&window));
}

static void a_pool_stands_on_mpi(void)
{
	tl_memory_pool* pool;
	const tl_device_allocator allocator = tl_mpi_allocator();
	CHECK_OK(tl_memory_pool_create(&allocator, 1 << 20, &pool));
	CHECK_INT(mpi_blocks, 1);
	char* blocks[100];
	for (int i = 0; i < 100; i++) {
		blocks[i] = tl_memory_pool_allocate(pool, 20000);
		CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % 64 == 0);
		memset(blocks[i], i, 20000);
	}
	CHECK_INT(mpi_blocks, 2);
	for (int i = 0; i < 100; i++) CHECK_OK(tl_memory_pool_deallocate(pool, blocks[i]));
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_INT(mpi_blocks, 0);
}

/* MPI_THREAD_FUNNELED: another thread must not call MPI. */
static void* elsewhere(void* pool)
{
	CHECK_REFUSED(tl_memory_pool_allocate(pool, 4 << 20), NULL, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_memory_pool_destroy(pool));
	return NULL;
}

static void threads_that_must_not_call_mpi(void)
{
	tl_memory_pool* pool;
	pthread_t thread;
	const tl_device_allocator allocator = tl_mpi_allocator();
	CHECK_OK(tl_memory_pool_create(&allocator, 1 << 20, &pool));
	pthread_create(&thread, NULL, elsewhere, pool);
	pthread_join(thread, NULL);
	CHECK_INT(mpi_blocks, 1); /* waits for this thread */
	allocator.deallocate(NULL, allocator.allocate(NULL, 1), 1);
	CHECK_INT(mpi_blocks, 0);
}

static void a_device_stands_on_mpi(void)
{
	int32_t device, again;
	const int64_t shape[2] = {64, 32};
	CHECK_MPI(tl_mpi_device_register(&device));
	CHECK_MPI_FAILS(tl_mpi_device_register(&again), TL_E_ALREADY_REGISTERED, "tl_mpi_device_register", "mpi:0");
	CHECK_OK(tl_device_by_name("mpi:0", &again));
	CHECK_INT(again, device);
	tl_mpi_request request;
	tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_F64, device, 2, shape);
	CHECK(mpi_blocks > 0);
	((double*)tl_tensor_data(t))[100] = rank + 1;
	CHECK_MPI(tl_mpi_iallreduce(t, MPI_SUM, MPI_COMM_WORLD, &request));
	CHECK_MPI(tl_mpi_wait(&request, MPI_STATUS_IGNORE));
	CHECK(((double*)tl_tensor_data(t))[100] == ranks * (ranks + 1) / 2.0);
	tl_tensor* here = tl_tensor_to(tl_view_transpose(t, 0, 1), TL_DEVICE_CPU);
	CHECK(here != NULL && tl_tensor_dim(here, 0) == 32);
	CHECK_MPI(tl_mpi_bcast(tl_view_transpose(t, 0, 1), 0, MPI_COMM_WORLD));
}

int main(int argc, char** argv)
{
	tl_mem_enter_scope();
	nothing_works_without_mpi("call MPI_Init first");
	tl_mem_exit_scope();
	mpi_begin(&argc, &argv, MPI_THREAD_FUNNELED);
	void (*const tests[])(void) = {
		missing_arguments_are_told, bad_tensors_are_told,           empty_tensors_are_written,
		refused_layouts_are_empty,  answers_of_mpi_are_told,        windows_hold,
		a_pool_stands_on_mpi,       threads_that_must_not_call_mpi, a_device_stands_on_mpi};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
		const check_balance before = check_take_balance();
		tl_mem_enter_scope();
		tests[i]();
		tl_mem_exit_scope();
		check_same_balance(before, "a test");
	}
	CHECK(mpi_blocks > 0); /* chunks of the device, idle */
	MPI_Finalize();
	CHECK_INT(mpi_blocks, 0);
	CHECK_INT(mpi_types, 0);
	tl_mem_enter_scope();
	nothing_works_without_mpi("MPI_Finalize was called");
	tl_mem_exit_scope();
	return check_finish();
}
