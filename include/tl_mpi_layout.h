/* Tensors as MPI's arguments: what a call may do with their memory, and the types of strided views. tl_mpi.h includes
 * this header and tells which failures every function knows.
 */
#ifndef TL_MPI_LAYOUT_H
#define TL_MPI_LAYOUT_H

#include <stdlib.h>

#include "tl_mpi_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Layouts
 * -------
 */

/* tl_mpi_access says what MPI does with a tensor's memory. */
enum tl_mpi_access {
	TL_MPI_READ = 1,
	TL_MPI_WRITE = 2,
	TL_MPI_DENSE_ = 4, /* and wants it contiguous */
	TL_MPI_HOLD_ = 8   /* after the call has returned */
};

/* tl_mpi_layout is a tensor as three arguments of an MPI function. */
typedef struct tl_mpi_layout {
	void* data;        /* of the first element; with negative strides not the lowest address */
	int count;         /* of type */
	int owned;         /* tl_mpi_layout_free frees the type */
	MPI_Datatype type; /* committed */
} tl_mpi_layout;

/* The axes that matter, outermost first: extents above 1, and neighbours that are one run of elements merged. */
typedef struct tl_mpi_axes_ {
	int rank;
	int64_t extents[8], strides[8];
} tl_mpi_axes_;

static inline tl_mpi_axes_ tl_mpi_axes_of_(const tl_tensor_info* info)
{
	tl_mpi_axes_ axes;
	axes.rank = 0;
	for (int i = 0; i < info->rank; i++) {
		const int64_t extent = info->shape[i], stride = info->strides[i];
		const int last = axes.rank - 1;
		if (extent == 1) continue;
		if (last >= 0 && axes.strides[last] == stride * extent) {
			axes.extents[last] *= extent;
			axes.strides[last] = stride;
			continue;
		}
		axes.extents[axes.rank] = extent;
		axes.strides[axes.rank++] = stride;
	}
	return axes;
}

/* Whether two indices may lead to one element: from the shortest stride up, each has to step over all before it. */
static inline bool tl_mpi_overlaps_(const tl_tensor_info* info)
{
	const tl_mpi_axes_ axes = tl_mpi_axes_of_(info);
	int64_t covered = 0;
	bool taken[8] = {false, false, false, false, false, false, false, false};
	if (info->numel == 0) return false;
	for (int n = 0; n < axes.rank; n++) {
		int next = -1;
		for (int i = 0; i < axes.rank; i++)
			if (!taken[i] && (next < 0 || llabs(axes.strides[i]) < llabs(axes.strides[next]))) next = i;
		taken[next] = true;
		if (llabs(axes.strides[next]) <= covered) return true;
		covered += llabs(axes.strides[next]) * (axes.extents[next] - 1);
	}
	return false;
}

static inline bool tl_mpi_reachable_(int32_t device)
{
	tl_device_properties properties;
	if (device == TL_DEVICE_CPU) return true;
	memset(&properties, 0, sizeof properties);
	properties.struct_size = sizeof properties;
	return tl_device_info(device, &properties) == TL_OK && properties.host_access != 0;
}

static inline tl_status tl_mpi_look_(const char* function, const tl_tensor* tensor, int access,
                                     tl_tensor_info* out_info)
{
	const char* why = NULL;
	tl_status status = tl_mpi_running_(function);
	if (status != TL_OK) return status;
	if (tensor == NULL) return tl_mpi_refuse_(function, TL_E_INVALID_ARGUMENT, "the tensor is NULL");
	memset(out_info, 0, sizeof *out_info);
	out_info->struct_size = sizeof *out_info;
	status = tl_tensor_info_get(tensor, out_info);
	if (status != TL_OK) return tl_mpi_runtime_failed_(function, status);
	if (!tl_mpi_reachable_(out_info->device)) {
		why = "the CPU cannot use the tensor's memory; copy it with tl_tensor_to";
	} else if ((access & TL_MPI_WRITE) != 0 && (out_info->flags & TL_TENSOR_FLAG_READ_ONLY) != 0) {
		why = "MPI would write the tensor, which is read-only; give a clone of it";
	} else if ((access & TL_MPI_DENSE_) != 0 && (out_info->flags & TL_TENSOR_FLAG_CONTIGUOUS) == 0) {
		why = "MPI needs the tensor's elements one after another, and they are not; give a clone of it";
	} else if ((access & TL_MPI_WRITE) != 0 && tl_mpi_overlaps_(out_info)) {
		why = "MPI would write the tensor, which has one element under several indices; give a clone of it";
	} else if ((access & TL_MPI_HOLD_) != 0 && (out_info->flags & TL_TENSOR_FLAG_IN_SLOT) != 0) {
		why = "the tensor stands in a slot, and its frame may end first; give a tensor of the heap";
	}
	return why != NULL ? tl_mpi_refuse_(function, TL_E_UNSUPPORTED, why) : TL_OK;
}

/* `count` times `element`, at a distance of `stride` bytes. */
static inline int tl_mpi_vector_(MPI_Datatype element, int64_t count, int64_t stride, MPI_Datatype* out_type)
{
#ifdef OPEN_MPI /* takes a stride of -1 for "the extent of the element" */
	if (stride == -1) {
		MPI_Datatype backwards;
		int code = MPI_Type_create_resized(element, 0, stride, &backwards);
		if (code != MPI_SUCCESS) return code;
		code = MPI_Type_contiguous(TL_MPI_CAST_(int, count), backwards, out_type);
		MPI_Type_free(&backwards);
		return code;
	}
#endif
	return MPI_Type_create_hvector(TL_MPI_CAST_(int, count), 1, stride, element, out_type);
}

/* The same for counts of any size. Frees nothing. */
static inline int tl_mpi_repeat_(MPI_Datatype element, int64_t count, int64_t stride, MPI_Datatype* out_type)
{
	const int64_t most = TL_MPI_COUNT_MAX, whole = count / most, rest = count % most;
	MPI_Datatype block, parts[2];
	const int lengths[2] = {1, 1};
	const MPI_Aint places[2] = {0, whole * most * stride};
	int code;
	if (whole == 0 || count == most) return tl_mpi_vector_(element, count, stride, out_type);
	code = tl_mpi_vector_(element, most, stride, &block);
	if (code != MPI_SUCCESS) return code;
	code = tl_mpi_repeat_(block, whole, most * stride, &parts[0]);
	MPI_Type_free(&block);
	if (code != MPI_SUCCESS) return code;
	if (rest == 0) return *out_type = parts[0], code;
	code = tl_mpi_vector_(element, rest, stride, &parts[1]);
	if (code == MPI_SUCCESS) {
		code = MPI_Type_create_struct(2, lengths, places, parts, out_type);
		MPI_Type_free(&parts[1]);
	}
	MPI_Type_free(&parts[0]);
	return code;
}

/* The type of all elements of a tensor, from the innermost axis out. */
static inline int tl_mpi_type_(const tl_mpi_axes_* axes, int64_t element_bytes, tl_mpi_layout* layout)
{
	MPI_Datatype type = layout->type, made;
	int code = MPI_SUCCESS;
	for (int i = axes->rank - 1; i >= 0 && code == MPI_SUCCESS; i--) {
		code = tl_mpi_repeat_(type, axes->extents[i], axes->strides[i] * element_bytes, &made);
		if (layout->owned) MPI_Type_free(&type);
		layout->owned = code == MPI_SUCCESS;
		type = made;
	}
	if (code == MPI_SUCCESS) code = MPI_Type_commit(&type);
	layout->type = type;
	layout->count = 1;
	return code;
}

static inline tl_status tl_mpi_layout_(const char* function, const tl_tensor_info* info, tl_mpi_layout* out_layout)
{
	const tl_mpi_axes_ axes = tl_mpi_axes_of_(info);
	const bool dense = info->numel == 0 || (info->flags & TL_TENSOR_FLAG_CONTIGUOUS) != 0;
	tl_mpi_layout layout = {info->data, 0, 0, MPI_DATATYPE_NULL};
	tl_status status = tl_mpi_dtype_(function, info->dtype, &layout.type);
	if (status != TL_OK) return status;
	if (dense && info->numel <= TL_MPI_COUNT_MAX) {
		layout.count = TL_MPI_CAST_(int, info->numel);
	} else {
		const int64_t bytes = TL_MPI_CAST_(int64_t, info->nbytes) / info->numel;
		status = tl_mpi_check_(function, tl_mpi_type_(&axes, bytes, &layout));
		if (status != TL_OK) return status;
	}
	*out_layout = layout;
	return TL_OK;
}

/*
 * tl_mpi_layout_get describes a tensor to MPI, whatever its strides and however many its elements are, so that any MPI
 * function can use its memory in place. access is TL_MPI_READ, TL_MPI_WRITE or both. MPI counts a message by its
 * elements: a strided tensor and a contiguous one of as many elements match.
 *
 * Ownership: the caller frees the layout with tl_mpi_layout_free, which may be before a non-blocking operation ends,
 *     and holds the tensor until MPI is done with it. A layout that was refused is empty.
 * Errors: as above. MPI's own operations (MPI_SUM) refuse the types of strided tensors.
 */
static inline tl_status tl_mpi_layout_get(const tl_tensor* tensor, int access, tl_mpi_layout* out_layout)
{
	tl_tensor_info info;
	tl_status status;
	if (out_layout == NULL) return tl_mpi_refuse_("tl_mpi_layout_get", TL_E_INVALID_ARGUMENT, "out_layout is NULL");
	memset(out_layout, 0, sizeof *out_layout);
	status = tl_mpi_look_("tl_mpi_layout_get", tensor, access, &info);
	return status != TL_OK ? status : tl_mpi_layout_("tl_mpi_layout_get", &info, out_layout);
}

/* tl_mpi_layout_free ends a layout. Doing so twice is no error, and neither is NULL. */
static inline void tl_mpi_layout_free(tl_mpi_layout* layout)
{
	if (layout == NULL) return;
	if (layout->owned) MPI_Type_free(&layout->type);
	layout->owned = 0;
}

static inline tl_status tl_mpi_open_(const char* function, tl_tensor* tensor, int access, tl_mpi_layout* out_layout)
{
	tl_tensor_info info;
	const tl_status status = tl_mpi_look_(function, tensor, access, &info);
	return status != TL_OK ? status : tl_mpi_layout_(function, &info, out_layout);
}

static inline tl_status tl_mpi_close_(const char* function, int code, tl_mpi_layout* layout)
{
	const tl_status status = tl_mpi_check_(function, code);
	tl_mpi_layout_free(layout);
	return status;
}

#ifdef __cplusplus
}
#endif

#endif
