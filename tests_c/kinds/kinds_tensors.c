/* Drivers of tensors, views, sparse matrices and DLPack. */
#include "../dl.h"
#include "kinds.h"

static void let_tensor_go(kinds_world* w, tl_tensor* tensor)
{
	CHECK(tensor != NULL);
	kinds_drop(w, tensor);
}

/* ---- making */

#define MAKES(name, type, bytes_each)                                                              \
	DRIVE(name)                                                                                    \
	{                                                                                              \
		kinds_shape(w, 0, KINDS_RANK);                                                             \
		while (kinds_shape_elements(w) * (bytes_each) > w->largest) kinds_shape(w, 0, KINDS_RANK); \
		tl_tensor* tensor;                                                                         \
		CALL(tensor = name((const type*)(void*)kinds_source, w->rank, w->shape));                  \
		let_tensor_go(w, tensor);                                                                  \
		w->touched += kinds_shape_elements(w) * (bytes_each);                                      \
	}
MAKES(tl_tensor_new, float, 4)
MAKES(tl_tensor_new_i64, int64_t, 8)

DRIVE(tl_tensor_empty)
{
	tl_tensor* tensor;
	kinds_shape(w, 0, KINDS_RANK);
	CALL(tensor = tl_tensor_empty(w->dtype, TL_DEVICE_CPU, w->rank, w->shape));
	let_tensor_go(w, tensor);
}

DRIVE(tl_tensor_new_zeroed)
{
	tl_tensor* tensor;
	kinds_shape(w, 0, KINDS_RANK);
	CALL(tensor = tl_tensor_new_zeroed(w->dtype, TL_DEVICE_CPU, w->rank, w->shape));
	let_tensor_go(w, tensor);
	w->touched += kinds_shape_bytes(w);
}

DRIVE(tl_tensor_from_buffer)
{
	tl_tensor* tensor;
	tl_deleter deleter = one_in(w, 2) ? kinds_deleter : NULL;
	kinds_shape(w, 0, KINDS_RANK);
	CALL(tensor = tl_tensor_from_buffer(w->dtype, TL_DEVICE_CPU, w->rank, w->shape, kinds_source, NULL, deleter, NULL));
	let_tensor_go(w, tensor);
}

DRIVE(tl_tensor_wrap)
{
	tl_tensor* tensor;
	tl_deleter deleter = one_in(w, 2) ? kinds_deleter : NULL;
	kinds_shape(w, 0, KINDS_RANK);
	tl_tensor_info info;
	memset(&info, 0, sizeof info);
	info.struct_size = sizeof info;
	info.data = kinds_source;
	info.shape = w->shape;
	info.rank = (int32_t)w->rank;
	info.dtype = w->dtype;
	CALL(tensor = tl_tensor_wrap(&info, deleter, NULL));
	let_tensor_go(w, tensor);
}

DRIVE(tl_tensor_in_slot)
{
	CHECK_OK(tl_mem_function_enter(2));
	for (int i = 0; i < 40; i++) {
		kinds_shape(w, 0, KINDS_RANK);
		CALL(CHECK(tl_tensor_in_slot(i & 1, w->dtype, w->rank, w->shape) != NULL));
	}
	CHECK_OK(tl_mem_function_exit());
}

/* Rows that come and go, of a tensor with room or without. */
static void resize(kinds_world* w, tl_status (*resize)(tl_tensor*, int64_t))
{
	const int64_t shape[2] = {0, 1 + (int64_t)below(w, 5000)};
	tl_tensor* tensor = tl_tensor_empty(w->dtype, TL_DEVICE_CPU, 2, shape);
	if (one_in(w, 2)) CHECK_OK(tl_tensor_reserve(tensor, 1 + (int64_t)below(w, 2000)));
	for (int64_t n = 1; n <= 100; n++) CALL(CHECK_OK(resize(tensor, n)));
	for (int64_t n = 1; n <= 100; n++) CALL(CHECK_OK(resize(tensor, (int64_t)below(w, 101))));
	CHECK_OK(tl_tensor_free(tensor));
}

DRIVE(tl_tensor_resize) { resize(w, tl_tensor_resize); }
DRIVE(tl_tensor_resize_zeros) { resize(w, tl_tensor_resize_zeros); }

/* Also of one with gaps. */
DRIVE(tl_tensor_clone)
{
	tl_tensor *tensor = kinds_tensor(w, 0, KINDS_RANK), *clone, *view = tensor;
	if (w->rank > 0 && one_in(w, 2)) view = tl_view_slice(tensor, 0, 0, w->shape[0], 1 + (int64_t)below(w, 3));
	CALL(clone = tl_tensor_clone(view));
	w->touched += kinds_shape_bytes(w);
	let_tensor_go(w, clone);
	if (view != tensor) kinds_drop(w, view);
	kinds_drop(w, tensor);
}

/* Also of one with gaps. */
DRIVE(tl_tensor_to)
{
	tl_tensor *tensor = kinds_tensor(w, 0, KINDS_RANK), *copy, *view = tensor;
	if (w->rank > 1 && one_in(w, 2)) view = tl_view_transpose(tensor, 0, w->rank - 1);
	CALL(copy = tl_tensor_to(view, TL_DEVICE_CPU));
	w->touched += kinds_shape_bytes(w);
	let_tensor_go(w, copy);
	if (view != tensor) kinds_drop(w, view);
	kinds_drop(w, tensor);
}

DRIVE(tl_tensor_copy)
{
	tl_tensor *from = kinds_tensor(w, 0, KINDS_RANK), *to = tl_tensor_empty(w->dtype, TL_DEVICE_CPU, w->rank, w->shape);
	CALL(CHECK_OK(tl_tensor_copy(to, from)));
	w->touched += 2 * kinds_shape_bytes(w);
	let_tensor_go(w, to);
	kinds_drop(w, from);
}

/* ---- counts and scopes */

DRIVE(tl_tensor_acquire)
{
	tl_tensor* tensor = kinds_tensor(w, 0, KINDS_RANK);
	CALL(CHECK(tl_tensor_acquire(tensor) == tensor));
	CHECK_OK(tl_tensor_release(tensor));
	kinds_drop(w, tensor);
}

#define ENDS(name)                                            \
	DRIVE(name)                                               \
	{                                                         \
		tl_tensor* tensor = kinds_loose(w, kinds_one_tensor); \
		CALL(CHECK_OK(name(tensor)));                         \
	}
ENDS(tl_tensor_release)
ENDS(tl_tensor_release_safe)

DRIVE(tl_tensor_register)
{
	tl_tensor* tensor = kinds_loose(w, kinds_one_tensor);
	CALL(CHECK_OK(tl_tensor_register(tensor)));
	kinds_drop(w, tensor);
}

DRIVE(tl_tensor_prepare_return)
{
	tl_tensor* tensor = kinds_tensor(w, 0, KINDS_RANK);
	CALL(CHECK(tl_tensor_prepare_return(tensor) == tensor));
	kinds_let_go(w, tensor);
}

DRIVE(tl_tensor_free)
{
	tl_tensor* tensor = kinds_tensor(w, 0, KINDS_RANK);
	CALL(CHECK_OK(tl_tensor_free(tensor)));
}

/* ---- properties */

DRIVE(tl_tensor_info_get)
{
	tl_tensor* tensor = kinds_tensor(w, 0, KINDS_RANK);
	tl_tensor_info info;
	memset(&info, 0, sizeof info);
	info.struct_size = sizeof info;
	CALL(CHECK_OK(tl_tensor_info_get(tensor, &info)));
	kinds_drop(w, tensor);
}

#define TELLS(name, call)                                   \
	DRIVE(name)                                             \
	{                                                       \
		tl_tensor* tensor = kinds_tensor(w, 1, KINDS_RANK); \
		CALL(call);                                         \
		kinds_drop(w, tensor);                              \
	}
TELLS(tl_tensor_data, (void)tl_tensor_data(tensor))
TELLS(tl_tensor_nbytes, CHECK_INT(tl_tensor_nbytes(tensor), kinds_shape_bytes(w)))
TELLS(tl_tensor_numel, CHECK_INT(tl_tensor_numel(tensor), kinds_shape_elements(w)))
TELLS(tl_tensor_len, CHECK_INT(tl_tensor_len(tensor), kinds_shape_elements(w)))
TELLS(tl_tensor_rank, CHECK_INT(tl_tensor_rank(tensor), w->rank))
TELLS(tl_tensor_shape, CHECK_INT(tl_tensor_shape(tensor)[0], w->shape[0]))
TELLS(tl_tensor_strides, CHECK_INT(tl_tensor_strides(tensor)[w->rank - 1], 1))
TELLS(tl_tensor_dtype, CHECK_INT(tl_tensor_dtype(tensor), w->dtype))
TELLS(tl_tensor_device, CHECK_INT(tl_tensor_device(tensor), TL_DEVICE_CPU))
TELLS(tl_tensor_is_contiguous, CHECK(tl_tensor_is_contiguous(tensor)))
TELLS(tl_tensor_dim, CHECK_INT(tl_tensor_dim(tensor, w->rank - 1), w->shape[w->rank - 1]))

/* ---- views: of a tensor, and of a view of it */

#define VIEWS(name, at_least, at_most, prepare, call)                                                       \
	DRIVE(name)                                                                                             \
	{                                                                                                       \
		tl_tensor *tensor = kinds_tensor(w, at_least, at_most), *view;                                      \
		int64_t axis = w->rank == 0 ? 0 : (int64_t)below(w, (uint64_t)w->rank), other = w->rank - 1 - axis; \
		int64_t extent = w->rank == 0 ? 0 : w->shape[axis], array[KINDS_RANK + 1] = {0};                    \
		prepare;                                                                                            \
		CALL(view = call);                                                                                  \
		(void)axis;                                                                                         \
		(void)other;                                                                                        \
		(void)extent;                                                                                       \
		(void)array;                                                                                        \
		let_tensor_go(w, view);                                                                             \
		kinds_drop(w, tensor);                                                                              \
	}

/* Axes in the opposite order. */
static void reverse(const kinds_world* w, int64_t* axes)
{
	for (int64_t i = 0; i < w->rank; i++) axes[i] = w->rank - 1 - i;
}

static void wider(const kinds_world* w, int64_t* shape)
{
	shape[0] = 3;
	memcpy(shape + 1, w->shape, sizeof *shape * (size_t)w->rank);
}

VIEWS(tl_view_reshape, 0, KINDS_RANK, array[0] = (int64_t)kinds_shape_elements(w), tl_view_reshape(tensor, 1, array))
VIEWS(tl_view_slice, 1, KINDS_RANK, , tl_view_slice(tensor, axis, extent / 3, extent, 1 + axis % 3))
VIEWS(tl_view_transpose, 1, KINDS_RANK, , tl_view_transpose(tensor, axis, other))
VIEWS(tl_view_permute, 0, KINDS_RANK, reverse(w, array), tl_view_permute(tensor, w->rank, array))
VIEWS(tl_view_broadcast_to, 0, KINDS_RANK - 1, wider(w, array), tl_view_broadcast_to(tensor, w->rank + 1, array))
VIEWS(tl_view_expand_dims, 0, KINDS_RANK - 1, , tl_view_expand_dims(tensor, axis))

DRIVE(tl_view_slice_axes)
{
	tl_tensor *tensor = kinds_tensor(w, 1, KINDS_RANK), *view;
	int64_t starts[KINDS_RANK], steps[KINDS_RANK];
	for (int64_t i = 0; i < w->rank; i++) {
		starts[i] = w->shape[i] / 3;
		steps[i] = 1 + (int64_t)below(w, 3);
	}
	CALL(view = tl_view_slice_axes(tensor, w->rank, starts, w->shape, steps));
	let_tensor_go(w, view);
	kinds_drop(w, tensor);
}

DRIVE(tl_view_squeeze)
{
	tl_tensor *tensor = kinds_tensor(w, 0, KINDS_RANK - 1), *wide, *view;
	int64_t axis = (int64_t)below(w, (uint64_t)w->rank + 1);
	wide = tl_view_expand_dims(tensor, axis);
	CALL(view = tl_view_squeeze(wide, axis));
	let_tensor_go(w, view);
	kinds_drop(w, wide);
	kinds_drop(w, tensor);
}

/* ---- sparse matrices */

static tl_sparse* matrix(kinds_world* w)
{
	if (w->sparse != NULL) return w->sparse;
	int64_t* lengths = calloc(KINDS_LENGTH, sizeof *lengths);
	w->rows = 1 + kinds_length(w) % KINDS_LENGTH;
	for (int64_t i = 0; i < w->rows; i++) lengths[i] = (int64_t)below(w, 10);
	w->sparse = tl_sparse_create(TL_SPARSE_CSR, w->rows, 1000, TL_DTYPE_F32, TL_DTYPE_I32, lengths, NULL);
	CHECK(w->sparse != NULL);
	free(lengths);
	return w->sparse;
}

DRIVE(tl_sparse_row)
{
	const tl_sparse* m = matrix(w);
	void *values, *indices;
	int64_t length, row = (int64_t)below(w, (uint64_t)w->rows);
	CALL(CHECK_OK(tl_sparse_row(m, row, &values, &indices, &length)));
}

DRIVE(tl_sparse_info_get)
{
	const tl_sparse* m = matrix(w);
	tl_sparse_info info;
	memset(&info, 0, sizeof info);
	info.struct_size = sizeof info;
	CALL(CHECK_OK(tl_sparse_info_get(m, &info)));
}

/* ---- DLPack */

#define GIVES(name, type)                                   \
	DRIVE(name)                                             \
	{                                                       \
		tl_tensor* tensor = kinds_tensor(w, 0, KINDS_RANK); \
		bool copies = one_in(w, 8);                         \
		type* managed;                                      \
		CALL(managed = name(tensor, copies));               \
		CHECK(managed != NULL);                             \
		if (copies) w->touched += kinds_shape_bytes(w);     \
		managed->deleter(managed);                          \
		kinds_drop(w, tensor);                              \
	}
GIVES(tl_tensor_to_dlpack, DLManagedTensorVersioned)
GIVES(tl_tensor_to_dlpack_legacy, DLManagedTensor)

#define ENDS_MANAGED(type)                                                \
	static void end_##type(type* managed)                                 \
	{                                                                     \
		atomic_fetch_add_explicit(&kinds_ended, 1, memory_order_relaxed); \
		free(managed);                                                    \
	}
ENDS_MANAGED(DLManagedTensorVersioned)
ENDS_MANAGED(DLManagedTensor)

/* What another library gives. */
static void describe(kinds_world* w, DLTensor* t, int64_t* shape)
{
	kinds_shape(w, 1, KINDS_RANK);
	memcpy(shape, w->shape, sizeof w->shape);
	t->data = kinds_source;
	t->device.device_type = kDLCPU;
	t->ndim = (int32_t)w->rank;
	t->dtype.code = 1;
	t->dtype.bits = 8;
	t->dtype.lanes = 1;
	t->shape = shape;
}

#define TAKES_MANAGED(name, type, give, complete)                             \
	DRIVE(name)                                                               \
	{                                                                         \
		type* managed;                                                        \
		tl_tensor *own = NULL, *tensor;                                       \
		if (one_in(w, 2)) {                                                   \
			own = kinds_tensor(w, 0, KINDS_RANK);                             \
			managed = give(own, false);                                       \
		} else {                                                              \
			managed = calloc(1, sizeof *managed + sizeof w->shape);           \
			describe(w, &managed->dl_tensor, (int64_t*)(void*)(managed + 1)); \
			managed->deleter = end_##type;                                    \
			complete;                                                         \
		}                                                                     \
		CALL(tensor = name(managed));                                         \
		let_tensor_go(w, tensor);                                             \
		kinds_drop(w, own);                                                   \
	}
TAKES_MANAGED(tl_tensor_from_dlpack, DLManagedTensorVersioned, tl_tensor_to_dlpack, managed->version.major = 1)
TAKES_MANAGED(tl_tensor_from_dlpack_legacy, DLManagedTensor, tl_tensor_to_dlpack_legacy, (void)0)
