/* Sections Tensors and DLPack: tensors over memory of others begin and end without a slow call, however they end, and
 * whatever their deleters do. */
#include "dl.h"

#include <setjmp.h>
#include <stddef.h>

#include "check.h"
#include "thread.h"

enum { TIMES = 400, ALLOWED = TIMES / 20, WIDTH = 8 };

static float numbers[1 << WIDTH];
static _Atomic int ended;

static bool fast(void)
{
	const char *path = getenv("TL_FASTPATH"), *debug = getenv("TL_DEBUG"), *track = getenv("TL_TRACK");
	return (path == NULL || *path != '0') && debug == NULL && track == NULL;
}

static void note(void* data, void* ctx)
{
	(void)ctx;
	CHECK(data >= (void*)numbers && data < (void*)(numbers + (1 << WIDTH)));
	ended++;
}

/* One of many kinds: every rank, strides or none, with or without a deleter. */
static tl_tensor* borrow(int i, tl_deleter deleter)
{
	static const int64_t twos[WIDTH] = {2, 2, 2, 2, 2, 2, 2, 2};
	static const int64_t strides[WIDTH] = {1, -2, 4, 0, 16, 32, -8, 64};
	return tl_tensor_from_buffer(TL_DTYPE_F32, i % 7 == 0 ? TL_DEVICE_DEFAULT : TL_DEVICE_CPU, i % (WIDTH + 1), twos,
	                             numbers + 16, i % 2 != 0 ? strides : NULL, deleter, numbers);
}

/* ---- ways to end ------------------------------------------------------------------------- */

static void end_by_free(tl_tensor* tensor) { CHECK_OK(tl_tensor_free(tensor)); }

static void end_by_scope(tl_tensor* tensor)
{
	(void)tensor;
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_enter_scope());
}

static void end_by_release(tl_tensor* tensor)
{
	tl_tensor_acquire(tensor);
	end_by_scope(tl_tensor_acquire(tensor));
	CHECK_OK(tl_tensor_release(tensor));
	CHECK_OK(tl_tensor_release_safe(tensor));
}

static void end_by_pointer(tl_tensor* tensor)
{
	end_by_scope(tl_tensor_acquire(tensor));
	CHECK_OK(tl_ptr_release(tensor));
}

static void end_by_return(tl_tensor* tensor)
{
	CHECK_PTR(tl_tensor_prepare_return(tensor), tensor);
	CHECK_OK(tl_ptr_release(tensor));
}

static void end_by_view(tl_tensor* tensor)
{
	tl_tensor* view = tl_tensor_rank(tensor) == 0 ? tl_view_expand_dims(tensor, 0) : tl_view_slice(tensor, 0, 0, 1, 1);
	CHECK_OK(tl_tensor_free(tensor));
	CHECK_COUNT(tensor, 1);
	CHECK_OK(tl_tensor_free(view));
}

static void end_behind_another(tl_tensor* tensor)
{
	tl_tensor* newer = borrow(3, NULL);
	CHECK_OK(tl_tensor_free(tensor));
	CHECK_OK(tl_tensor_free(newer));
}

static void end_by_dlpack(tl_tensor* tensor)
{
	DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(tensor, false);
	CHECK_PTR(managed->dl_tensor.data, tl_tensor_data(tensor));
	CHECK_OK(tl_tensor_free(tensor));
	managed->deleter(managed);
}

typedef void end(tl_tensor* tensor);
static const struct {
	const char* name;
	end* run;
} ends[] = {
	{"free", end_by_free},     {"scope", end_by_scope}, {"release", end_by_release},    {"pointer", end_by_pointer},
	{"return", end_by_return}, {"view", end_by_view},   {"behind", end_behind_another}, {"dlpack", end_by_dlpack},
};

TEST(every_end_calls_the_deleter_once)
{
	for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
		uint64_t before = 0;
		ended = 0;
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < 2 * TIMES; i++) {
			if (i == TIMES) before = check_slow_calls();
			tl_tensor* tensor = borrow(i, i % 3 != 0 ? note : NULL);
			CHECK_INT(tl_tensor_rank(tensor), i % (WIDTH + 1));
			const int was = ended;
			ends[k].run(tensor);
			CHECK_INT(ended - was, i % 3 != 0);
			if (i < TIMES) CHECK_DEAD(tensor); /* a slow call */
		}
		const uint64_t entered = check_slow_calls() - before;
		if (fast() && check_failed(entered <= ALLOWED))
			fprintf(stderr, "%s: %" PRIu64 " slow calls for %d tensors\n", ends[k].name, entered, TIMES);
		CHECK_OK(tl_mem_exit_scope());
	}
}

/* ---- DLPack -------------------------------------------------------------------------------- */

static tl_tensor* around(tl_tensor* tensor, bool legacy)
{
	return legacy ? tl_tensor_from_dlpack_legacy(tl_tensor_to_dlpack_legacy(tensor, false))
	              : tl_tensor_from_dlpack(tl_tensor_to_dlpack(tensor, false));
}

/* The tensor that comes back has shape, strides and memory of the one that went out, and holds it. */
TEST(around_trips)
{
	static const int64_t extents[WIDTH] = {2, 1, 3, 2, 1, 2, 2, 3};
	for (int legacy = 0; legacy < 2; legacy++) {
		uint64_t before = 0;
		for (int i = 0; i < 2 * TIMES; i++) {
			if (i == TIMES) before = check_slow_calls();
			CHECK_OK(tl_mem_enter_scope());
			tl_tensor *tensor = tl_tensor_empty(TL_DTYPE_F64, TL_DEVICE_CPU, i % (WIDTH + 1), extents), *back;
			if (i % 2 != 0 && i % (WIDTH + 1) > 1) tensor = tl_view_slice(tensor, -1, -1, INT64_MIN, -1);
			back = around(tensor, legacy != 0);
			CHECK_PTR(tl_tensor_data(back), tl_tensor_data(tensor));
			CHECK_INT(tl_tensor_rank(back), tl_tensor_rank(tensor));
			for (int64_t k = 0; k < tl_tensor_rank(back); k++) {
				CHECK_INT(tl_tensor_shape(back)[k], tl_tensor_shape(tensor)[k]);
				CHECK_INT(tl_tensor_strides(back)[k], tl_tensor_strides(tensor)[k]);
			}
			CHECK_COUNT(tensor, 2);
			CHECK_OK(tl_tensor_free(i % 2 != 0 ? back : tensor));
			if (i % 2 != 0) CHECK_COUNT(tensor, 1);
			CHECK_OK(tl_mem_exit_scope());
			if (i < TIMES) CHECK_DEAD(tensor);
		}
		if (fast()) CHECK(check_slow_calls() - before <= ALLOWED);
	}
}

/* Read-only memory stays read-only, and the old struct, which cannot say so, is refused. */
TEST(read_only_memory_goes_around)
{
	const int64_t shape[1] = {4};
	const tl_tensor_info info = {.struct_size = sizeof info,
	                             .data = numbers,
	                             .shape = shape,
	                             .dtype = TL_DTYPE_F32,
	                             .rank = 1,
	                             .flags = TL_TENSOR_FLAG_READ_ONLY};
	tl_tensor_info got = {.struct_size = sizeof got};
	CHECK_OK(tl_mem_enter_scope());
	ended = 0;
	tl_tensor* tensor = tl_tensor_wrap(&info, note, NULL);
	tl_tensor* back = around(tensor, false);
	CHECK_OK(tl_tensor_info_get(back, &got));
	CHECK((got.flags & TL_TENSOR_FLAG_READ_ONLY) != 0);
	CHECK_REFUSED(tl_tensor_to_dlpack_legacy(back, false), 0, TL_E_UNSUPPORTED);
	CHECK_OK(tl_tensor_free(tensor));
	CHECK_INT(ended, 0);
	CHECK_OK(tl_tensor_free(back));
	CHECK_INT(ended, 1);
	CHECK_OK(tl_mem_exit_scope());
}

/* A consumer of another library ends what it got on a thread of its own, which the library has never seen. */
THREAD(delete_it, managed) { ((DLManagedTensorVersioned*)managed)->deleter(managed); }

TEST(deleters_on_other_threads)
{
	for (int i = 0; i < 20; i++) {
		CHECK_OK(tl_mem_enter_scope());
		ended = 0;
		tl_tensor* tensor = borrow(i, note);
		DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(tensor, false);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(ended, 0);
		run_thread(delete_it, managed);
		CHECK_INT(ended, 1);
		CHECK_DEAD(tensor);
	}
}

/* ---- what deleters do ---------------------------------------------------------------------- */

static void end_the_next(void* data, void* next)
{
	(void)data;
	ended++;
	if (next != NULL) CHECK_OK(tl_tensor_release(next));
}

/* A chain of tensors, each of which holds the next one, needs no stack. */
TEST_IN_SCOPE(chains_of_tensors)
{
	enum { LINKS = 20000 };
	tl_tensor* next = NULL;
	ended = 0;
	for (int i = 0; i < LINKS; i++) {
		tl_tensor* tensor = tl_tensor_from_buffer(TL_DTYPE_F32, 0, 0, NULL, numbers, NULL, end_the_next, next);
		next = tl_tensor_acquire(tensor);
		CHECK_OK(tl_tensor_free(tensor));
	}
	CHECK_INT(ended, 0);
	const uint64_t before = check_slow_calls();
	CHECK_OK(tl_tensor_release(next));
	if (fast()) CHECK(check_slow_calls() - before <= LINKS / 20);
	CHECK_INT(ended, LINKS);
}

/* So does one that goes out to DLPack and comes back again and again. */
TEST_IN_SCOPE(chains_of_round_trips)
{
	enum { LINKS = 20000 };
	ended = 0;
	tl_tensor* tensor = borrow(1, note);
	for (int i = 0; i < LINKS; i++) {
		tl_tensor* back = around(tensor, i % 2 != 0);
		CHECK_OK(tl_tensor_free(tensor));
		tensor = back;
	}
	CHECK_INT(ended, 0);
	const uint64_t before = check_slow_calls();
	CHECK_OK(tl_tensor_free(tensor));
	if (fast()) CHECK(check_slow_calls() - before <= LINKS / 20);
	CHECK_INT(ended, 1);
}

/* What an object refers to ends with it: tensors that a field names, and those that its destructor drops. */
typedef struct holder {
	tl_tensor *field, *dropped;
} holder;

static void drop_tensor(void* object) { CHECK_OK(tl_tensor_release(((holder*)object)->dropped)); }

TEST(tensors_of_objects)
{
	static tl_type type;
	const size_t offsets[1] = {offsetof(holder, field)};
	const tl_type_desc holds = {.name = "holder",
	                            .size = sizeof(holder),
	                            .pointer_offsets = offsets,
	                            .num_pointers = 1,
	                            .destructor = drop_tensor};
	uint64_t before = 0;
	if (type == 0) CHECK_OK(tl_type_define(&holds, &type));
	for (int i = 0; i < 2 * TIMES; i++) {
		if (i == TIMES) before = check_slow_calls();
		ended = 0;
		CHECK_OK(tl_mem_enter_scope());
		holder* object = tl_object_new(type);
		object->field = tl_tensor_acquire(borrow(i, note));
		object->dropped = tl_tensor_acquire(borrow(i + 1, i % 2 != 0 ? note : NULL));
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(ended, 1 + i % 2);
	}
	if (fast()) CHECK(check_slow_calls() - before <= ALLOWED);
}

static void use_the_library(void* data, void* other)
{
	const int64_t four = 4;
	(void)data;
	ended++;
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_tensor_from_buffer(TL_DTYPE_F32, 0, 1, &four, numbers, NULL, note, NULL) != NULL);
	CHECK(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	if (other != NULL) CHECK_OK(tl_tensor_free(other)); /* an older one of the same scope */
}

TEST(deleters_use_the_library)
{
	uint64_t before = 0;
	for (int i = 0; i < 2 * TIMES; i++) {
		if (i == TIMES) before = check_slow_calls();
		ended = 0;
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* older = borrow(i, note);
		tl_tensor* tensor = tl_tensor_from_buffer(TL_DTYPE_F32, 0, 0, NULL, numbers, NULL, use_the_library, older);
		if (i % 2 != 0) CHECK_OK(tl_tensor_free(tensor));
		CHECK_OK(tl_mem_exit_scope());
		CHECK_INT(ended, 3);
		if (i < TIMES) CHECK_DEAD(older);
	}
	if (fast()) CHECK(check_slow_calls() - before <= ALLOWED);
}

static jmp_buf back_here;

static void leave(void* data, void* ctx)
{
	(void)data;
	(void)ctx;
	ended++;
	longjmp(back_here, 1);
}

/* The deleter that leaves is not called again, and all others are. */
TEST(a_deleter_that_leaves_by_longjmp)
{
	for (volatile int i = 0; i < TIMES; i++) {
		const int64_t depth = tl_get_scope_depth();
		ended = 0;
		CHECK_OK(tl_mem_enter_scope());
		borrow(i, note);
		tl_tensor* volatile tensor = tl_tensor_from_buffer(TL_DTYPE_F32, 0, 0, NULL, numbers, NULL, leave, NULL);
		borrow(i, note);
		if (setjmp(back_here) == 0) {
			if (i % 2 != 0) tl_tensor_free(tensor);
			else tl_mem_exit_scope();
			CHECK(false);
		}
		CHECK_OK(tl_mem_exit_scopes_to(depth));
		CHECK_INT(ended, 3);
		CHECK_DEAD(tensor);
	}
}

/* A deleter may take its thread out of the library, or end it. */
static void detach(void* data, void* ctx)
{
	(void)data;
	(void)ctx;
	ended++;
	tl_thread_detach();
}

static void end_thread(void* data, void* ctx)
{
	(void)data;
	(void)ctx;
	ended++;
	pthread_exit(NULL);
}

THREAD(end_with, deleter)
{
	for (int i = 0; i < 3; i++) {
		tl_tensor* tensor = tl_tensor_from_buffer(TL_DTYPE_F32, 0, 0, NULL, numbers, NULL, *(tl_deleter*)deleter, NULL);
		CHECK_OK(tl_tensor_free(tensor));
	}
}

TEST(deleters_that_end_their_thread)
{
	tl_deleter leaving[2] = {detach, end_thread};
	ended = 0;
	run_thread(end_with, &leaving[0]);
	CHECK_INT(ended, 3);
	run_thread(end_with, &leaving[1]);
	CHECK_INT(ended, 4);
	CHECK_OK(tl_mem_purge()); /* the slow path left the tensor to whoever comes next */
}

int main(void)
{
	CHECK_OK(tl_init());
	return check_tests();
}
