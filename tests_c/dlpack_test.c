/* Section DLPack: both versions, both directions, and who ends what when. dl.h comes
 * first, as a program's own dlpack.h may. */
#include "dl.h"

#include "bad.h"
#include "check.h"
#include "thread.h"

/* ---- exporting ------------------------------------------------------------------------ */

static const struct {
	int32_t dtype;
	DLDataType as;
} types[] = {
	{TL_DTYPE_F32, {2, 32, 1}}, {TL_DTYPE_F64, {2, 64, 1}}, {TL_DTYPE_I32, {0, 32, 1}},   {TL_DTYPE_I64, {0, 64, 1}},
	{TL_DTYPE_U8, {1, 8, 1}},   {TL_DTYPE_F16, {2, 16, 1}}, {TL_DTYPE_BF16, {4, 16, 1}},  {TL_DTYPE_BOOL, {6, 8, 1}},
	{TL_DTYPE_I8, {0, 8, 1}},   {TL_DTYPE_I16, {0, 16, 1}}, {TL_DTYPE_U16, {1, 16, 1}},   {TL_DTYPE_U32, {1, 32, 1}},
	{TL_DTYPE_U64, {1, 64, 1}}, {TL_DTYPE_C64, {5, 64, 1}}, {TL_DTYPE_C128, {5, 128, 1}},
};
enum { TYPES = sizeof types / sizeof types[0] };

static bool same_type(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

static void check_described(const DLTensor* got, tl_tensor* tensor, DLDataType type)
{
	CHECK_PTR(got->data, tl_tensor_data(tensor));
	CHECK_INT(got->device.device_type, 1);
	CHECK_INT(got->device.device_id, 0);
	CHECK_INT(got->ndim, tl_tensor_rank(tensor));
	CHECK(same_type(got->dtype, type));
	CHECK_INT(got->byte_offset, 0);
	for (int i = 0; i < got->ndim; i++) {
		CHECK_INT(got->shape[i], tl_tensor_shape(tensor)[i]);
		CHECK_INT(got->strides[i], tl_tensor_strides(tensor)[i]);
	}
}

TEST(every_dtype_both_ways)
{
	const int64_t shape[2] = {2, 3};
	for (int i = 0; i < TYPES; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* tensor = tl_view_transpose(tl_tensor_new_zeroed(types[i].dtype, 0, 2, shape), 0, 1);
		DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(tensor, false);
		DLManagedTensor* legacy = tl_tensor_to_dlpack_legacy(tensor, false);
		CHECK_INT(managed->version.major, 1);
		CHECK_INT(managed->version.minor, 3);
		CHECK_INT(managed->flags, 0);
		CHECK_COUNT(tensor, 3);
		check_described(&managed->dl_tensor, tensor, types[i].as);
		check_described(&legacy->dl_tensor, tensor, types[i].as);
		tl_tensor* again = tl_tensor_from_dlpack(managed);
		CHECK_INT(tl_tensor_dtype(again), types[i].dtype);
		CHECK_PTR(tl_tensor_data(again), tl_tensor_data(tensor));
		CHECK_INT(tl_tensor_strides(again)[0], 1);
		again = tl_tensor_from_dlpack_legacy(legacy);
		CHECK_INT(tl_tensor_dtype(again), types[i].dtype);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_DEAD(tensor);
	}
}

TEST_IN_SCOPE(scalars_and_empty_tensors)
{
	const int64_t shape[2] = {3, 0};
	DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, shape), false);
	CHECK_PTR(managed->dl_tensor.data, NULL);
	CHECK(managed->dl_tensor.strides != NULL);
	CHECK_INT(tl_tensor_len(tl_tensor_from_dlpack(managed)), 0);
	managed = tl_tensor_to_dlpack(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 0, NULL), false);
	CHECK_INT(managed->dl_tensor.ndim, 0);
	CHECK_INT(tl_tensor_len(tl_tensor_from_dlpack(managed)), 1);
	CHECK_REFUSED(tl_tensor_to_dlpack(NULL, false), 0, TL_OK);
	CHECK_REFUSED(tl_tensor_to_dlpack_legacy(NULL, true), 0, TL_OK);
}

THREAD(delete_there, managed)
{
	DLManagedTensorVersioned* m = managed;
	m->deleter(m);
}

TEST(an_exported_tensor_lives_until_the_deleter)
{
	const int64_t four = 4;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four);
	tl_tensor* view = tl_view_slice(tensor, 0, 3, INT64_MIN, -1);
	DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(view, false);
	DLManagedTensor* legacy = tl_tensor_to_dlpack_legacy(view, false);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(managed->dl_tensor.strides[0], -1);
	CHECK_PTR(managed->dl_tensor.data, (float*)tl_tensor_data(tensor) + 3);
	legacy->deleter(legacy);
	CHECK_COUNT(view, 1);
	CHECK_COUNT(tensor, 1);
	run_thread(delete_there, managed); /* one that the runtime has never seen */
	CHECK_DEAD(view);
	CHECK_DEAD(tensor);
}

TEST(copies_are_the_consumers)
{
	const int64_t shape[2] = {2, 2};
	const float numbers[4] = {1, 2, 3, 4};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_view_transpose(tl_tensor_new(numbers, 2, shape), 0, 1);
	DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(tensor, true);
	DLManagedTensor* legacy = tl_tensor_to_dlpack_legacy(tensor, true);
	CHECK_COUNT(tensor, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(managed->flags, DL_COPIED);
	CHECK_INT(managed->dl_tensor.strides[0], 2);
	CHECK(((float*)managed->dl_tensor.data)[1] == 3);
	CHECK(((float*)legacy->dl_tensor.data)[2] == 2);
	managed->deleter(managed);
	legacy->deleter(legacy);
}

TEST(a_slot_is_exported_as_a_copy)
{
	const int64_t four = 4;
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* slot = tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &four);
	((float*)tl_tensor_data(slot))[2] = 7;
	CHECK_REFUSED(tl_tensor_to_dlpack(slot, false), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_to_dlpack_legacy(slot, false), 0, TL_E_UNSUPPORTED);
	DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(slot, true);
	CHECK_OK(tl_mem_function_exit());
	CHECK(((float*)managed->dl_tensor.data)[2] == 7);
	managed->deleter(managed);
}

TEST(bad_pointers_are_not_exported)
{
	CHECK_REFUSES_NULL(tl_tensor_to_dlpack(bad, false));
	CHECK_REFUSES_NULL(tl_tensor_to_dlpack(bad, true));
	CHECK_REFUSES_NULL(tl_tensor_to_dlpack_legacy(bad, false));
}

/* A consumer that deletes twice harms nobody. */
TEST_IN_SCOPE(a_deleter_that_is_called_twice)
{
	const int64_t four = 4;
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four);
	DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(tensor, false);
	managed->deleter(managed);
	CHECK_COUNT(tensor, 1);
	tl_clear_error();
	managed->deleter(managed);
	CHECK_STATUS(tl_last_status(), TL_E_NOT_LIVE);
	CHECK_COUNT(tensor, 1);
}

TEST(a_deleter_in_a_forked_child)
{
	const int64_t four = 4;
	CHECK_OK(tl_mem_enter_scope());
	DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four), false);
	CHECK_OK(tl_mem_exit_scope());
	pid_t child = fork();
	if (child == 0) {
		managed->deleter(managed);
		_exit(42);
	}
	CHECK_INT(check_exit_of(child), 42);
	managed->deleter(managed);
}

/* ---- importing ------------------------------------------------------------------------- */

static int deleted;

static void count_versioned(DLManagedTensorVersioned* self)
{
	(void)self;
	__atomic_add_fetch(&deleted, 1, __ATOMIC_SEQ_CST);
}

static void count_legacy(DLManagedTensor* self)
{
	(void)self;
	__atomic_add_fetch(&deleted, 1, __ATOMIC_SEQ_CST);
}

static double numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static int64_t extents[2] = {2, 2}, steps[2] = {4, 1};

/* Somebody else's tensor: 2 4 in numbers, from byte_offset on. */
static DLManagedTensorVersioned foreign(void)
{
	DLManagedTensorVersioned m = {
		{1, 0}, NULL, count_versioned, 0, {numbers, {1, 0}, 2, {2, 64, 1}, extents, steps, 2 * sizeof(double)}};
	deleted = 0;
	return m;
}

TEST(an_imported_tensor_ends_with_its_last_view)
{
	DLManagedTensorVersioned managed = foreign();
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_from_dlpack(&managed);
	CHECK_PTR(tl_tensor_data(tensor), numbers + 2);
	CHECK_INT(tl_tensor_dtype(tensor), TL_DTYPE_F64);
	CHECK(!tl_tensor_is_contiguous(tensor));
	CHECK(((double*)tl_tensor_data(tl_tensor_clone(tensor)))[3] == 7);
	tl_tensor* view = tl_view_slice(tensor, 0, 1, 2, 1);
	CHECK_OK(tl_tensor_promote(view));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(deleted, 0);
	CHECK(*(double*)tl_tensor_data(view) == 6);
	CHECK_OK(tl_tensor_release(view));
	CHECK_INT(deleted, 1);
}

THREAD(drop, tensor) { CHECK_OK(tl_tensor_release(tensor)); }

TEST_IN_SCOPE(legacy_tensors_without_strides)
{
	DLManagedTensor managed = {{numbers, {1, 0}, 2, {2, 64, 1}, extents, NULL, 0}, NULL, count_legacy};
	deleted = 0;
	tl_tensor* tensor = tl_tensor_from_dlpack_legacy(&managed);
	CHECK(tl_tensor_is_contiguous(tensor));
	CHECK_OK(tl_tensor_promote(tensor));
	CHECK_OK(tl_mem_exit_scope());
	run_thread(drop, tensor);
	CHECK_INT(deleted, 1);
	managed.deleter = NULL; /* allowed: nothing has to be done */
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_tensor_from_dlpack_legacy(&managed) != NULL);
}

TEST(read_only_stays_read_only)
{
	DLManagedTensorVersioned managed = foreign(), *again;
	tl_tensor_info info = {.struct_size = sizeof info};
	managed.flags = DL_READ_ONLY;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_view_transpose(tl_tensor_from_dlpack(&managed), 0, 1);
	CHECK_OK(tl_tensor_info_get(tensor, &info));
	CHECK_INT(info.flags, TL_TENSOR_FLAG_VIEW | TL_TENSOR_FLAG_READ_ONLY);
	again = tl_tensor_to_dlpack(tensor, false);
	CHECK_INT(again->flags, DL_READ_ONLY);
	again->deleter(again);
	CHECK_REFUSED(tl_tensor_to_dlpack_legacy(tensor, false), 0, TL_E_UNSUPPORTED);
	CHECK_COUNT(tensor, 1);
	DLManagedTensor* copied = tl_tensor_to_dlpack_legacy(tensor, true);
	copied->deleter(copied);
	again = tl_tensor_to_dlpack(tensor, true);
	CHECK_INT(again->flags, DL_COPIED);
	again->deleter(again);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(deleted, 1);
}

/* A sample is counted where the struct would be made: not for one that is refused. */
TEST(a_refused_export_leaves_recording_alone)
{
	DLManagedTensorVersioned managed = foreign();
	tl_alloc_info info = {.struct_size = sizeof info};
	void* next;
	managed.flags = DL_READ_ONLY;
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_from_dlpack(&managed);
	next = tl_mem_new(sizeof(DLManagedTensor)); /* the class has a free slot */
	CHECK_OK(tl_mem_unregister(next));
	CHECK_OK(tl_mem_free(next));
	CHECK_REFUSED(tl_tensor_to_dlpack_legacy(tensor, false), 0, TL_E_UNSUPPORTED);
	next = tl_mem_new(sizeof(DLManagedTensor));
	CHECK_OK(tl_mem_allocation_info(next, &info));
	CHECK(info.number != 0);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_configure("TL_TRACK", "0"));
}

/* Nothing may be done with another major version but to end it; the fields behind are
 * not looked at. */
TEST(another_major_version)
{
	DLManagedTensorVersioned managed = foreign();
	managed.version.major = 2;
	managed.dl_tensor.shape = (int64_t*)8;
	CHECK_REFUSED(tl_tensor_from_dlpack(&managed), 0, TL_E_UNSUPPORTED);
	CHECK_INT(deleted, 1);
	managed.deleter = NULL;
	CHECK_REFUSED(tl_tensor_from_dlpack(&managed), 0, TL_E_UNSUPPORTED);
	managed = foreign();
	managed.version.minor = 99;
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_tensor_from_dlpack(&managed) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

/* What is refused stays the caller's. */
static void check_import_refused(DLManagedTensorVersioned managed, tl_status want)
{
	DLManagedTensor legacy = {managed.dl_tensor, NULL, count_legacy};
	deleted = 0;
	CHECK_REFUSED(tl_tensor_from_dlpack(&managed), 0, want);
	CHECK_REFUSED(tl_tensor_from_dlpack_legacy(&legacy), 0, want);
	CHECK_INT(deleted, 0);
}

#define REFUSED(want, change)                   \
	do {                                        \
		DLManagedTensorVersioned m = foreign(); \
		DLTensor* t = &m.dl_tensor;             \
		change;                                 \
		check_import_refused(m, want);          \
	} while (0)

TEST(what_is_not_imported)
{
	int64_t negative[2] = {2, -2}, huge[2] = {INT64_MAX / 8, 8}, far[2] = {INT64_C(1) << 60, 1};
	/* covers: tl_tensor_from_dlpack_legacy TL_E_DEVICE, TL_E_UNSUPPORTED */
	CHECK_REFUSED(tl_tensor_from_dlpack(NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_from_dlpack((DLManagedTensorVersioned*)16), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_from_dlpack_legacy(NULL), 0, TL_E_INVALID_ARGUMENT);
	REFUSED(TL_E_DEVICE, t->device.device_type = 2);
	REFUSED(TL_E_DEVICE, t->device.device_type = -1);
	REFUSED(TL_E_UNSUPPORTED, t->dtype.lanes = 4);
	REFUSED(TL_E_UNSUPPORTED, t->dtype.code = 3);
	REFUSED(TL_E_UNSUPPORTED, t->dtype.bits = 0);
	REFUSED(TL_E_UNSUPPORTED, t->dtype.bits = 4);
	REFUSED(TL_E_UNSUPPORTED, t->dtype = (DLDataType){0});
	REFUSED(TL_E_INVALID_ARGUMENT, t->ndim = -1);
	REFUSED(TL_E_INVALID_ARGUMENT, t->ndim = 9);
	REFUSED(TL_E_INVALID_ARGUMENT, t->shape = NULL);
	REFUSED(TL_E_INVALID_ARGUMENT, t->data = NULL);
	REFUSED(TL_E_INVALID_ARGUMENT, t->shape = negative);
	REFUSED(TL_E_INVALID_ARGUMENT, t->shape = huge);
	REFUSED(TL_E_INVALID_ARGUMENT, t->strides = far);
	REFUSED(TL_E_INVALID_ARGUMENT, t->byte_offset = UINT64_MAX);
}

enum { THREADS = 4, ROUNDS = 1000 };

/* Exports, imports, and drops in either order. */
THREAD(hand_to_and_fro, shared)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_OK(tl_mem_enter_scope());
		DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(shared, false);
		if (i % 2 == 0) CHECK(tl_tensor_from_dlpack(managed) != NULL);
		else managed->deleter(managed);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_tensor_release(shared));
}

TEST(many_threads)
{
	const int64_t four = 4;
	pthread_t threads[THREADS];
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four);
	for (int i = 0; i < THREADS; i++) {
		tl_tensor_acquire(tensor);
		threads[i] = start_thread(hand_to_and_fro, tensor);
	}
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	CHECK_DEAD(tensor);
}

int main(void) { return check_tests(); }
