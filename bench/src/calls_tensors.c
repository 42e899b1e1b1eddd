/* Operations on tensors and views. */
#include <tl_runtime.h>

#include "calls.h"

OPERATION(tensor_acquire_release)
{
	const int64_t shape[2] = {64, 64};
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	for (long i = 0; i < n; i++) {
		tl_tensor_acquire(tensor);
		tl_tensor_release(tensor);
	}
	tl_tensor_free(tensor);
}

OPERATION(tensor_empty_free)
{
	const int64_t shape[2] = {64, 64};
	for (long i = 0; i < n; i++) tl_tensor_free(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape));
}

EACH(tensor_empty_free_rank_0, tl_tensor_free(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 0, NULL)))

OPERATION(tensor_empty_free_rank_4)
{
	const int64_t shape[4] = {2, 8, 16, 16};
	for (long i = 0; i < n; i++) tl_tensor_free(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 4, shape));
}

OPERATION(tensor_scalar)
{
	const float one = 1;
	for (long i = 0; i < n; i++) tl_tensor_free(tl_tensor_new(&one, 0, NULL));
}

OPERATION(tensor_clone)
{
	const int64_t shape[2] = {4, 4};
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	for (long i = 0; i < n; i++) tl_tensor_free(tl_tensor_clone(tensor));
	tl_tensor_free(tensor);
}

/* Tensors of scopes of sixteen, freed from one end or the other. */
static void tensors_of_scopes(long n, int first, int step)
{
	enum { TENSORS = 16 };
	const int64_t shape[2] = {64, 64};
	tl_tensor* tensors[TENSORS];
	for (long i = 0; i < n; i += TENSORS) {
		tl_mem_enter_scope();
		for (int k = 0; k < TENSORS; k++) tensors[k] = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
		for (int k = 0; k < TENSORS; k++) tl_tensor_free(tensors[first + step * k]);
		tl_mem_exit_scope();
	}
}

OPERATION(tensor_newest_first) { tensors_of_scopes(n, 15, -1); }
OPERATION(tensor_oldest_first) { tensors_of_scopes(n, 0, 1); }

/* What a scope holds is released at its end. */
OPERATION(tensor_scope_8)
{
	const int64_t shape[2] = {64, 64};
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
		tl_mem_exit_scope();
	}
}

OPERATION(view_scope_8)
{
	const int64_t shape[2] = {64, 64};
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		for (int k = 0; k < 8; k++) tl_view_transpose(tensor, 0, 1);
		tl_mem_exit_scope();
	}
	tl_tensor_free(tensor);
}

OPERATION(tensor_in_slot)
{
	const int64_t shape[2] = {64, 64};
	for (long i = 0; i < n; i++) {
		tl_mem_function_enter(1);
		tl_tensor_in_slot(0, TL_DTYPE_F32, 2, shape);
		tl_mem_function_exit();
	}
}

/* A view of each kind, made and freed. */
#define VIEW_OPERATION(name, call)                                                                    \
	OPERATION(view_##name)                                                                            \
	{                                                                                                 \
		const int64_t shape[2] = {64, 64}, flat[1] = {4096}, wide[3] = {4, 64, 64}, axes[2] = {1, 0}; \
		const int64_t starts[2] = {8, 0}, stops[2] = {16, 64}, steps[2] = {1, 2};                     \
		tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);                   \
		(void)flat, (void)wide, (void)axes, (void)starts, (void)stops, (void)steps;                   \
		for (long i = 0; i < n; i++) tl_tensor_free(call);                                            \
		tl_tensor_free(tensor);                                                                       \
	}

VIEW_OPERATION(reshape, tl_view_reshape(tensor, 1, flat))
VIEW_OPERATION(slice, tl_view_slice(tensor, 0, 8, 16, 1))
VIEW_OPERATION(slice_axes, tl_view_slice_axes(tensor, 2, starts, stops, steps))
VIEW_OPERATION(transpose, tl_view_transpose(tensor, 0, 1))
VIEW_OPERATION(permute, tl_view_permute(tensor, 2, axes))
VIEW_OPERATION(broadcast_to, tl_view_broadcast_to(tensor, 3, wide))
VIEW_OPERATION(expand_dims, tl_view_expand_dims(tensor, 0))

/* A view of a view: rows of a transposed matrix, then one of them. */
OPERATION(view_of_view)
{
	const int64_t shape[2] = {64, 64};
	tl_tensor *tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape), *row;
	tl_tensor* turned = tl_view_transpose(tensor, 0, 1);
	row = tl_view_slice(turned, 0, 8, 9, 1);
	for (long i = 0; i < n; i++) tl_tensor_free(tl_view_squeeze(row, 0));
	tl_tensor_free(row);
	tl_tensor_free(turned);
	tl_tensor_free(tensor);
}
