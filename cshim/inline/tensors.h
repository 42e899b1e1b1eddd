/* Properties of tensors on the heap: what is inlined of tl_tensor_*. See records.h. */
#ifndef TL_INLINE_TENSORS_H
#define TL_INLINE_TENSORS_H

/* The record of the tensor in the slot that starts at p, live or not; NULL: ask Go. */
static inline tl_record* tlc_tensor_record(const tl_context* c, uintptr_t p)
{
	tl_record* r;
	uint32_t size_class;
	if (TLC_UNLIKELY(!tlc_slot_at(c, p, &r, &size_class) || !tlc_is_fast(c))) return NULL;
	return TLC_LIKELY(TLC_PEEK(r->type_flags) == TL_TYPE_TENSOR) ? r : NULL;
}

/* The header of a tensor that is not in a slot of a frame; NULL: not known here. Budget: 6 loads, 5
 * branches. */
static inline const tl_tensor_header* tlc_tensor_on_heap(const tl_context* c, const tl_tensor* tensor)
{
	const tl_record* r = tlc_tensor_record(c, (uintptr_t)tensor);
	return TLC_LIKELY(r != NULL && tlc_is_live_object(r)) ? (const tl_tensor_header*)(const void*)tensor : NULL;
}

/* ---- properties by header; false: ask Go ------------------------------------------------ */

/* A NULL that is correct sets the last status to TL_OK, which Go does. */
static inline bool tlc_data_of(const tl_tensor_header* h, void** result)
{
	if (TLC_UNLIKELY(h == NULL || h->numel == 0)) return false;
	*result = (void*)h->data;
	return true;
}

static inline bool tlc_nbytes_of(const tl_tensor_header* h, size_t* result)
{
	if (TLC_UNLIKELY(h == NULL)) return false;
	*result = h->nbytes;
	return true;
}

static inline bool tlc_numel_of(const tl_tensor_header* h, int64_t* result)
{
	if (TLC_UNLIKELY(h == NULL)) return false;
	*result = (int64_t)h->numel;
	return true;
}

static inline bool tlc_rank_of(const tl_tensor_header* h, int64_t* result)
{
	if (TLC_UNLIKELY(h == NULL)) return false;
	*result = h->rank;
	return true;
}

static inline bool tlc_shape_of(const tl_tensor_header* h, const int64_t** result)
{
	if (TLC_UNLIKELY(h == NULL)) return false;
	*result = h->shape;
	return true;
}

static inline bool tlc_strides_of(const tl_tensor_header* h, const int64_t** result)
{
	if (TLC_UNLIKELY(h == NULL)) return false;
	*result = h->strides;
	return true;
}

static inline bool tlc_dtype_of(const tl_tensor_header* h, int32_t* result)
{
	if (TLC_UNLIKELY(h == NULL)) return false;
	*result = h->dtype;
	return true;
}

static inline bool tlc_device_of(const tl_tensor_header* h, int32_t* result)
{
	if (TLC_UNLIKELY(h == NULL)) return false;
	*result = h->device;
	return true;
}

static inline bool tlc_contiguity_of(const tl_tensor_header* h, bool* result)
{
	if (TLC_UNLIKELY(h == NULL)) return false;
	*result = (h->flags & TL_TENSOR_CONTIGUOUS) != 0;
	return true;
}

static inline bool tlc_dim_of(const tl_tensor_header* h, int64_t axis, int64_t* result)
{
	if (TLC_UNLIKELY(h == NULL)) return false;
	uint64_t i = (uint64_t)axis + (axis < 0 ? h->rank : 0u);
	if (TLC_UNLIKELY(i >= h->rank)) return false;
	*result = h->shape[i];
	return true;
}

/* ---- properties ------------------------------------------------------------------------- */

static inline bool tlc_op_tensor_data(const tl_context* c, const tl_tensor* tensor, void** result)
{
	return tlc_data_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_nbytes(const tl_context* c, const tl_tensor* tensor, size_t* result)
{
	return tlc_nbytes_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_numel(const tl_context* c, const tl_tensor* tensor, int64_t* result)
{
	return tlc_numel_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_len(const tl_context* c, const tl_tensor* tensor, int64_t* result)
{
	return tlc_numel_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_rank(const tl_context* c, const tl_tensor* tensor, int64_t* result)
{
	return tlc_rank_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_shape(const tl_context* c, const tl_tensor* tensor, const int64_t** result)
{
	return tlc_shape_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_strides(const tl_context* c, const tl_tensor* tensor, const int64_t** result)
{
	return tlc_strides_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_dtype(const tl_context* c, const tl_tensor* tensor, int32_t* result)
{
	return tlc_dtype_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_device(const tl_context* c, const tl_tensor* tensor, int32_t* result)
{
	return tlc_device_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_is_contiguous(const tl_context* c, const tl_tensor* tensor, bool* result)
{
	return tlc_contiguity_of(tlc_tensor_on_heap(c, tensor), result);
}

static inline bool tlc_op_tensor_dim(const tl_context* c, const tl_tensor* tensor, int64_t axis, int64_t* result)
{
	return tlc_dim_of(tlc_tensor_on_heap(c, tensor), axis, result);
}

/* ---- properties of a tensor that the caller holds ----------------------------------------- */

/* Nothing is checked: for any other pointer, and for an axis that is not below the rank, the behaviour is undefined. A
 * header does not change while its tensor lives, and tensors of every kind have one (in slots, views, of devices). So
 * these read memory and do nothing else: a compiler may move them out of a loop, and drop those whose result it does
 * not need. */
static inline const tl_tensor_header* tlc_header_of(const tl_tensor* tensor)
{
	return (const tl_tensor_header*)(const void*)tensor;
}

static inline __attribute__((pure)) void* tlc_tensor_data_unchecked(const tl_tensor* tensor)
{
	return (void*)tlc_header_of(tensor)->data;
}

static inline __attribute__((pure)) size_t tlc_tensor_nbytes_unchecked(const tl_tensor* tensor)
{
	return tlc_header_of(tensor)->nbytes;
}

static inline __attribute__((pure)) int64_t tlc_tensor_numel_unchecked(const tl_tensor* tensor)
{
	return (int64_t)tlc_header_of(tensor)->numel;
}

static inline __attribute__((pure)) int64_t tlc_tensor_len_unchecked(const tl_tensor* tensor)
{
	return (int64_t)tlc_header_of(tensor)->numel;
}

static inline __attribute__((pure)) int64_t tlc_tensor_rank_unchecked(const tl_tensor* tensor)
{
	return tlc_header_of(tensor)->rank;
}

static inline __attribute__((pure)) const int64_t* tlc_tensor_shape_unchecked(const tl_tensor* tensor)
{
	return tlc_header_of(tensor)->shape;
}

static inline __attribute__((pure)) const int64_t* tlc_tensor_strides_unchecked(const tl_tensor* tensor)
{
	return tlc_header_of(tensor)->strides;
}

static inline __attribute__((pure)) int64_t tlc_tensor_dim_unchecked(const tl_tensor* tensor, int64_t axis)
{
	return tlc_header_of(tensor)->shape[axis];
}

/* In elements. */
static inline __attribute__((pure)) int64_t tlc_tensor_stride_unchecked(const tl_tensor* tensor, int64_t axis)
{
	return tlc_header_of(tensor)->strides[axis];
}

static inline __attribute__((pure)) int32_t tlc_tensor_dtype_unchecked(const tl_tensor* tensor)
{
	return tlc_header_of(tensor)->dtype;
}

static inline __attribute__((pure)) int32_t tlc_tensor_device_unchecked(const tl_tensor* tensor)
{
	return tlc_header_of(tensor)->device;
}

static inline __attribute__((pure)) bool tlc_tensor_is_contiguous_unchecked(const tl_tensor* tensor)
{
	return (tlc_header_of(tensor)->flags & TL_TENSOR_CONTIGUOUS) != 0;
}

#endif
