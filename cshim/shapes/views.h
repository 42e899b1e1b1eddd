/* Views: other shapes and strides over elements that exist. Each element of a view is one of the tensor that it starts
 * from. A function answers TL_VIEW_GRANTED, or why there is no such view; then the view has the numbers of the sentence. */
#pragma once

#include "shapes.h"

#pragma GCC visibility push(hidden)

/* An extent that the caller leaves to the runtime. */
#define TLC_OPEN_EXTENT (-1)

/* Up to so many bytes a product of extents is taken as it is. */
#define TLC_PLAIN_BYTES (1ull << 47)

/* Element type, device, rank and flags of a header, which one load reads. */
typedef uint64_t __attribute__((may_alias)) tlc_traits;

typedef struct tlc_view {
	const tl_tensor_header* from;
	tl_tensor_header* to;
	uint64_t size, numel; /* numel: of the tensor that the view starts from */
	uintptr_t data, base; /* base: the tensor that has the memory, never another view */
	uint64_t offset;      /* of the first element, in elements */
	uint32_t flags;
	uint8_t dtype, device;
	int64_t rank;
	int64_t *shape, *strides; /* of to */
	tlc_total total;
	int64_t numbers[3];
} tlc_view;

static inline uint32_t tlc_refuse_view(tlc_view* v, uint32_t why, int64_t a, int64_t b, int64_t c)
{
	v->numbers[0] = a;
	v->numbers[1] = b;
	v->numbers[2] = c;
	return why;
}

/* Begins a view of the tensor whose header is from; its shape and strides are those of to, which may be anything. */
static inline uint32_t tlc_begin_bare_view(tlc_view* v, const tl_tensor_header* from, tl_tensor_header* to)
{
	const uint64_t kind = __atomic_load_n((const tlc_traits*)(const void*)&from->dtype, __ATOMIC_RELAXED);
	v->from = from;
	v->to = to;
	v->dtype = (uint8_t)kind;
	v->device = (uint8_t)(kind >> 8);
	v->rank = (uint16_t)(kind >> 16);
	v->flags = (uint32_t)(kind >> 32);
	v->size = tlc_dtype_bytes[v->dtype];
	v->numel = from->numel;
	v->data = from->data;
	v->base = (v->flags & TL_TENSOR_VIEW) != 0 ? from->base : (uintptr_t)from;
	v->offset = 0;
	v->shape = to->shape;
	v->strides = to->strides;
	if (TLC_LIKELY(v->size != 0 && v->rank <= TL_MAX_RANK)) return TL_VIEW_GRANTED;
	return tlc_refuse_view(v, TL_NO_VIEW_HEADER, (int64_t)from, v->dtype, v->rank);
}

/* Begins a view with the shape and strides of the tensor. */
static inline uint32_t tlc_begin_view(tlc_view* v, const tl_tensor_header* from, tl_tensor_header* to)
{
	__builtin_memcpy(to->shape, from->shape, sizeof from->shape);
	__builtin_memcpy(to->strides, from->strides, sizeof from->strides);
	return tlc_begin_bare_view(v, from, to);
}

/* Completes the header of a view that was granted. */
static inline void tlc_end_view(const tlc_view* v)
{
	uint32_t flags = TL_TENSOR_VIEW | (v->flags & TL_TENSOR_READ_ONLY);
	if (tlc_is_contiguous(v->total)) flags |= TL_TENSOR_CONTIGUOUS;
	v->to->data = v->data + v->offset * v->size;
	v->to->numel = v->total.numel;
	v->to->nbytes = v->total.numel * v->size;
	v->to->dtype = v->dtype;
	v->to->device = v->device;
	v->to->rank = (uint16_t)v->rank;
	v->to->flags = flags;
	v->to->base = v->base;
	v->to->deleter = 0;
}

/* Whether there may be n numbers; lacks: what to answer where the array is missing. */
static inline uint32_t tlc_are_there(tlc_view* v, int64_t n, const int64_t* numbers, uint32_t lacks)
{
	if (TLC_UNLIKELY((uint64_t)n > TL_MAX_RANK)) return tlc_refuse_view(v, TL_NO_VIEW_RANK, n, TL_MAX_RANK, 0);
	return TLC_LIKELY((uintptr_t)numbers >= TL_LOWEST_ADDRESS) || n == 0 ? TL_VIEW_GRANTED : lacks;
}

static inline uint32_t tlc_grant_view(tlc_view* v)
{
	v->total = tlc_count(v->rank, v->shape, v->strides);
	return TL_VIEW_GRANTED;
}

static inline uint64_t tlc_product(int64_t a, int64_t b) { return (uint64_t)a * (uint64_t)b; }

/* Negative axes count from the last one. */
static inline uint32_t tlc_find_axis(tlc_view* v, int64_t a, int64_t* axis)
{
	*axis = tlc_from_start(a, v->rank);
	if (TLC_LIKELY((uint64_t)*axis < (uint64_t)v->rank)) return TL_VIEW_GRANTED;
	return tlc_refuse_view(v, TL_NO_VIEW_AXIS, a, v->rank, 0);
}

static inline uint32_t tlc_transpose(tlc_view* v, int64_t a, int64_t b)
{
	int64_t i, j;
	uint32_t no = tlc_find_axis(v, a, &i);
	if (TLC_LIKELY(no == TL_VIEW_GRANTED)) no = tlc_find_axis(v, b, &j);
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	const int64_t extent = v->shape[i], stride = v->strides[i];
	v->shape[i] = v->shape[j];
	v->strides[i] = v->strides[j];
	v->shape[j] = extent;
	v->strides[j] = stride;
	return tlc_grant_view(v);
}

/* Takes shape and strides from the tensor's header: the view's may be anything. */
static inline uint32_t tlc_permute(tlc_view* v, int64_t rank, const int64_t* axes)
{
	unsigned seen = 0;
	uint32_t no = tlc_are_there(v, rank, axes, TL_NO_VIEW_AXES);
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	if (TLC_UNLIKELY(rank != v->rank)) return tlc_refuse_view(v, TL_NO_VIEW_NUMBER, rank, v->rank, 0);
	for (int64_t i = 0, from; i < rank; i++) {
		const int64_t axis = axes[i];
		no = tlc_find_axis(v, axis, &from);
		if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
		if (TLC_UNLIKELY((seen >> from & 1) != 0)) return tlc_refuse_view(v, TL_NO_VIEW_TWICE, axis, 0, 0);
		seen |= 1u << from;
		v->shape[i] = v->from->shape[from];
		v->strides[i] = v->from->strides[from];
	}
	return tlc_grant_view(v);
}

static inline void tlc_cut(tlc_view* v, int64_t i, int64_t start, int64_t stop, int64_t step)
{
	const tlc_part p = tlc_part_of(v->shape[i], start, stop, step);
	v->shape[i] = p.n;
	if (p.n > 0) v->offset += tlc_product(p.first, v->strides[i]);
	if (p.n > 1) v->strides[i] = (int64_t)tlc_product(v->strides[i], step);
}

static inline uint32_t tlc_slice(tlc_view* v, int64_t axis, int64_t start, int64_t stop, int64_t step)
{
	int64_t i;
	const uint32_t no = tlc_find_axis(v, axis, &i);
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	if (TLC_UNLIKELY(step == 0)) return tlc_refuse_view(v, TL_NO_VIEW_STEP, 0, 0, 0);
	tlc_cut(v, i, start, stop, step);
	return tlc_grant_view(v);
}

/* Parts of the first n axes; without steps each is 1. A step of 0 takes one element and leaves its axis out. */
static inline uint32_t tlc_slice_axes(tlc_view* v, int64_t n, const int64_t* starts, const int64_t* stops,
                                      const int64_t* steps)
{
	int64_t to = 0;
	uint32_t no = tlc_are_there(v, n, starts, TL_NO_VIEW_STARTS);
	if (TLC_LIKELY(no == TL_VIEW_GRANTED)) no = tlc_are_there(v, n, stops, TL_NO_VIEW_STOPS);
	if (TLC_LIKELY(no == TL_VIEW_GRANTED) && steps != NULL) no = tlc_are_there(v, n, steps, TL_NO_VIEW_STEPS);
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	if (TLC_UNLIKELY(n > v->rank)) return tlc_refuse_view(v, TL_NO_VIEW_NUMBER, n, v->rank, 0);
	for (int64_t i = 0; i < n; i++) {
		const int64_t step = steps != NULL ? steps[i] : 1;
		if (step == 0) {
			const int64_t start = starts[i], extent = v->shape[i], at = tlc_from_start(start, extent);
			v->offset += tlc_product(at, v->strides[i]);
			if (TLC_UNLIKELY(at < 0 || at >= extent)) no = tlc_refuse_view(v, TL_NO_VIEW_ELEMENT, start, i, extent);
			continue;
		}
		tlc_cut(v, i, starts[i], stops[i], step);
		v->shape[to] = v->shape[i];
		v->strides[to++] = v->strides[i];
	}
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	if (to == n) return tlc_grant_view(v);
	for (int64_t i = n; i < v->rank; i++) {
		v->shape[to] = v->shape[i];
		v->strides[to++] = v->strides[i];
	}
	v->rank = to;
	return tlc_grant_view(v);
}

/* Axes move one by one: a compiler would call memmove for a loop of copies, which costs more than a view. */
typedef struct tlc_axis {
	int64_t extent, stride;
} tlc_axis;

static inline tlc_axis tlc_put_axis(tlc_view* v, int64_t i, tlc_axis axis)
{
	const tlc_axis had = {v->shape[i], v->strides[i]};
	v->shape[i] = axis.extent;
	v->strides[i] = axis.stride;
	return had;
}

static inline uint32_t tlc_squeeze(tlc_view* v, int64_t axis)
{
	int64_t i;
	const uint32_t no = tlc_find_axis(v, axis, &i);
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	if (TLC_UNLIKELY(v->shape[i] != 1)) return tlc_refuse_view(v, TL_NO_VIEW_LONG, axis, v->shape[i], 0);
	v->rank--;
	tlc_axis moves = {v->shape[v->rank], v->strides[v->rank]};
	for (int64_t k = v->rank; k-- > i;) moves = tlc_put_axis(v, k, moves);
	return tlc_grant_view(v);
}

/* The new axis stands in front of that axis of the result. */
static inline uint32_t tlc_expand(tlc_view* v, int64_t axis)
{
	int64_t i;
	if (TLC_UNLIKELY(v->rank == TL_MAX_RANK)) return tlc_refuse_view(v, TL_NO_VIEW_FULL, v->rank, 0, 0);
	v->rank++;
	const uint32_t no = tlc_find_axis(v, axis, &i);
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	tlc_axis moves = {1, 1};
	for (; i < v->rank; i++) moves = tlc_put_axis(v, i, moves);
	return tlc_grant_view(v);
}

/* Looks at each extent of a view's shape, which the caller has asked for in this form, and counts its elements. */
static inline uint32_t tlc_check_extents(tlc_view* v, const int64_t* asked, uint64_t* numel)
{
	const int64_t axis = tlc_measure_apart(v->size, v->rank, v->shape, numel);
	return axis < 0 ? TL_VIEW_GRANTED : tlc_refuse_view(v, TL_NO_VIEW_EXTENT, asked[axis], axis, 0);
}

/* The first axis, and at the latest the last one, that has another extent than is asked for, and not 1. */
int64_t tlc_first_apart(int64_t last, const int64_t* shape, const int64_t* asked);

/* Repeats axes of one element, and the whole in new axes in front, by strides of 0. An open extent is the array's. */
static inline uint32_t tlc_broadcast(tlc_view* v, int64_t rank, const int64_t* shape)
{
	const int64_t lead = rank - v->rank;
	uint64_t bytes = v->size, numel;
	uint32_t no = tlc_are_there(v, rank, shape, TL_NO_VIEW_SHAPE);
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	if (TLC_UNLIKELY(lead < 0)) return tlc_refuse_view(v, TL_NO_VIEW_FEWER, v->rank, rank, 0);
	for (int64_t i = rank; i-- > lead;) { /* from the back, since each axis moves there */
		int64_t extent = shape[i], has = v->shape[i - lead], stride = v->strides[i - lead];
		if (extent == TLC_OPEN_EXTENT) extent = has;
		if (extent != has) {
			if (TLC_UNLIKELY(has != 1)) {
				const int64_t first = tlc_first_apart(i - lead, v->shape, shape + lead);
				return tlc_refuse_view(v, TL_NO_VIEW_REPEATED, first, v->shape[first], shape[lead + first]);
			}
			stride = 0;
		}
		v->strides[i] = stride;
		v->shape[i] = extent;
		if (TLC_UNLIKELY(__builtin_mul_overflow(bytes, (uint64_t)extent, &bytes))) bytes = 0;
	}
	for (int64_t i = 0; i < lead; i++) {
		v->strides[i] = 0;
		v->shape[i] = shape[i];
		if (TLC_UNLIKELY(__builtin_mul_overflow(bytes, (uint64_t)shape[i], &bytes))) bytes = 0;
	}
	v->rank = rank;
	if (TLC_UNLIKELY(bytes - 1 >= TLC_PLAIN_BYTES)) {
		no = tlc_check_extents(v, shape, &numel);
		if (no != TL_VIEW_GRANTED) return no;
	}
	return tlc_grant_view(v);
}

/* ---- reshape ------------------------------------------------------------------------------ */

/* Gives a view a shape of as many elements. One extent may be open: it is what the others leave. Extents of as many
 * elements as few bytes have are neither negative nor too many. */
static inline uint32_t tlc_set_shape(tlc_view* v, int64_t rank, const int64_t* shape)
{
	const uint64_t numel = v->numel;
	int64_t open = -1, signs = 0;
	uint64_t known = 1, found;
	for (int64_t i = 0; i < rank; i++) {
		const int64_t extent = shape[i];
		v->shape[i] = extent;
		if (TLC_LIKELY(extent >= 0)) {
			if (TLC_UNLIKELY(__builtin_mul_overflow(known, (uint64_t)extent, &known)))
				return tlc_refuse_view(v, TL_NO_VIEW_OVERFLOW, extent, i, 0);
		} else if (extent != TLC_OPEN_EXTENT) {
			signs = extent;
		} else if (open >= 0) {
			return tlc_refuse_view(v, TL_NO_VIEW_OPEN, open, i, 0);
		} else {
			open = i;
		}
	}
	v->rank = rank;
	if (open >= 0) {
		if (TLC_UNLIKELY(known == 0 || numel % known != 0))
			return tlc_refuse_view(v, TL_NO_VIEW_DIVIDED, (int64_t)numel, (int64_t)known, 0);
		v->shape[open] = (int64_t)(numel / known);
		if (TLC_LIKELY(numel - 1 < TLC_PLAIN_BYTES && signs == 0)) return TL_VIEW_GRANTED;
	} else if (TLC_LIKELY(known == numel && numel - 1 < TLC_PLAIN_BYTES && signs == 0)) {
		return TL_VIEW_GRANTED;
	}
	const uint32_t no = tlc_check_extents(v, shape, &found);
	if (no != TL_VIEW_GRANTED || found == numel) return no;
	return tlc_refuse_view(v, TL_NO_VIEW_ELEMENTS, (int64_t)numel, (int64_t)found, 0);
}

/* What a reshape starts from. */
typedef struct tlc_walk {
	int64_t rank;
	int64_t shape[TL_MAX_RANK], strides[TL_MAX_RANK];
} tlc_walk;

void tlc_keep(tlc_walk* w, int64_t rank, const int64_t* shape, const int64_t* strides);

/* Finds strides by which a shape of as many elements, of which there are some, visits those of w in their order; false:
 * there are none. */
bool tlc_follow(const tlc_walk* w, int64_t rank, const int64_t* shape, int64_t* strides);

/* The same elements, in row-major order, in another shape. */
static inline uint32_t tlc_reshape(tlc_view* v, int64_t rank, const int64_t* shape)
{
	tlc_walk from;
	uint32_t no = tlc_are_there(v, rank, shape, TL_NO_VIEW_SHAPE);
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	const uint64_t gaps = tlc_count(v->rank, v->shape, v->strides).gaps;
	if (TLC_UNLIKELY(gaps != 0)) tlc_keep(&from, v->rank, v->shape, v->strides);
	no = tlc_set_shape(v, rank, shape);
	if (TLC_UNLIKELY(no != TL_VIEW_GRANTED)) return no;
	if (TLC_LIKELY(gaps == 0) || v->numel == 0) {
		tlc_lay_out(v->shape, v->strides, rank, v->shape);
		v->total = (tlc_total){.numel = v->numel};
		return TL_VIEW_GRANTED;
	}
	if (!tlc_follow(&from, rank, v->shape, v->strides)) return tlc_refuse_view(v, TL_NO_VIEW_SCATTERED, 0, 0, 0);
	return tlc_grant_view(v);
}

/* ---- for Go (shapes.c) --------------------------------------------------------------------- */

/* Writes the header of a view of a tensor. The numbers are what the operation's public function takes, arrays by their
 * address; of a view that is refused they become those of the sentence. */
uint32_t tlc_make_view(tl_tensor_header* to, const tl_tensor_header* from, uint32_t operation, int64_t* numbers);

/* Counts the elements of a shape and writes the strides of elements without gaps. Returns what tlc_measure returns. */
int64_t tlc_compact(uint64_t size, int64_t rank, int64_t* shape, int64_t* strides, uint64_t* numel);

#pragma GCC visibility pop
