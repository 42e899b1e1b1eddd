/* The header of a tensor, and what its shape and strides come to:
 *
 *	element (i, j, ...) = data + (i*strides[0] + j*strides[1] + ...) * size
 *
 * Arithmetic alone: it looks at the numbers that it is given and calls nobody. C has it inlined; shapes.c makes functions
 * of it for Go, which says in words what is refused. Programs can write anything into a header, at any time. So what a loop
 * or a division depends on is read once and checked, and other sums and products may wrap around. A rank is at most
 * TL_MAX_RANK. */
#pragma once

#include "../base/layout.h"

enum { TL_MAX_RANK = 8, TL_TENSOR_ALIGN = 64, TL_DTYPES = 24 };

/* header.flags. A tensor that has no flag but CONTIGUOUS ends with its slot. */
#define TL_TENSOR_CONTIGUOUS 1u
#define TL_TENSOR_IN_SLOT 2u
#define TL_TENSOR_EXTERNAL 4u   /* the data is somebody else's; deleter may end it */
#define TL_TENSOR_VIEW 8u       /* the data is that of base, which it holds a reference to */
#define TL_TENSOR_READ_ONLY 16u /* whoever lent the data does not want it written */
#define TL_TENSOR_ON_DEVICE 32u /* the data is a block of the device or of its pool, which only Go gives back */
#define TL_TENSOR_BLOCK 64u     /* memory of a sparse matrix' block */
/* Grown: deleter_context is its room, base is data ^ room ^ TL_TENSOR_MARK, mark 1 + the clock when it left some of the
 * room. */
#define TL_TENSOR_GROWN 128u /* the data stands apart */

/* header.mark of a tensor at p in a slot is p ^ TL_TENSOR_MARK: what tells it, which has no record, from other bytes of
 * the frame. */
#define TL_TENSOR_MARK 0x7E45094C5E9A3D01ull

/* Written by whoever makes the tensor, before anybody else has it. */
typedef struct tl_tensor_header {
	uintptr_t data;
	uint64_t numel;
	uint64_t nbytes;
	uint8_t dtype;
	uint8_t device;
	uint16_t rank;
	uint32_t flags;
	uintptr_t base;
	uintptr_t deleter;         /* of borrowed memory; on TL_DEVICE_SHARED: a file descriptor + 1 (tensor/shared.c) */
	uintptr_t deleter_context; /* its context; or where data is in that file */
	uint64_t mark;
	int64_t shape[TL_MAX_RANK];
	int64_t strides[TL_MAX_RANK]; /* in elements */
} tl_tensor_header;

/* The operations of views.h: tl_view_reshape and so on. */
enum {
	TL_VIEW_RESHAPE = 0,
	TL_VIEW_BROADCAST_TO = 1,
	TL_VIEW_PERMUTE = 2,
	TL_VIEW_TRANSPOSE = 3,
	TL_VIEW_SLICE = 4,
	TL_VIEW_SLICE_AXES = 5,
	TL_VIEW_SQUEEZE = 6,
	TL_VIEW_EXPAND_DIMS = 7,
};

/* Why there is no such view: runtime/tensor/view.go has the sentences, which these numbers are for. */
enum {
	TL_VIEW_GRANTED = 0,
	TL_NO_VIEW_HEADER = 1,     /* it was overwritten: where it is, dtype, rank */
	TL_NO_VIEW_RANK = 2,       /* rank, most */
	TL_NO_VIEW_SHAPE = 3,      /* the array is not there */
	TL_NO_VIEW_AXES = 4,       /* likewise */
	TL_NO_VIEW_STARTS = 5,     /* likewise */
	TL_NO_VIEW_STOPS = 6,      /* likewise */
	TL_NO_VIEW_STEPS = 7,      /* likewise */
	TL_NO_VIEW_AXIS = 8,       /* axis, rank */
	TL_NO_VIEW_STEP = 9,       /* a slice goes on by no elements */
	TL_NO_VIEW_NUMBER = 10,    /* axes that are given, rank */
	TL_NO_VIEW_ELEMENT = 11,   /* position, axis, extent */
	TL_NO_VIEW_TWICE = 12,     /* axis */
	TL_NO_VIEW_LONG = 13,      /* axis, extent: it is left out only where that is 1 */
	TL_NO_VIEW_FULL = 14,      /* rank */
	TL_NO_VIEW_FEWER = 15,     /* rank, rank that is asked for */
	TL_NO_VIEW_REPEATED = 16,  /* axis, extent, extent that is asked for */
	TL_NO_VIEW_EXTENT = 17,    /* extent, axis */
	TL_NO_VIEW_OPEN = 18,      /* two axes */
	TL_NO_VIEW_OVERFLOW = 19,  /* extent, axis */
	TL_NO_VIEW_SCATTERED = 20, /* no strides visit the elements in this order */
	TL_NO_VIEW_DIVIDED = 21,   /* elements, product of the other extents */
	TL_NO_VIEW_ELEMENTS = 22,  /* elements, elements of the shape */
};

/* Bytes of an element, 0 = no such dtype: for whatever a header may have been overwritten with, too. */
extern const uint8_t tlc_dtype_bytes[UINT8_MAX + 1] __attribute__((visibility("hidden")));

/* More bytes than this no tensor has. */
#define TLC_MOST_BYTES ((uint64_t)INT64_MAX - TL_SPAN_BYTES)

/* The elements of one tensor are spread over no more. */
#define TLC_ADDRESS_SPACE (1ull << 47)

static inline int64_t tlc_at_least_1(int64_t n) { return n > 1 ? n : 1; }

static inline uint64_t tlc_pace(int64_t stride) { return stride < 0 ? -(uint64_t)stride : (uint64_t)stride; }

/* What a position or an axis means that counts from the end where it is negative. */
static inline int64_t tlc_from_start(int64_t at, int64_t extent)
{
	return at < 0 ? (int64_t)((uint64_t)at + (uint64_t)extent) : at;
}

/* Counts the elements of a shape. Returns the axis, looked for from the last one on, whose extent is negative or makes the
 * bytes too many; -1: there is none. An extent of 0 counts as 1 there, so that no other hides behind it. */
static inline int64_t tlc_measure(uint64_t size, int64_t rank, const int64_t* shape, uint64_t* numel)
{
	uint64_t bytes = size, n = 1;
	int64_t i = rank;
	while (i-- > 0) {
		const uint64_t extent = (uint64_t)shape[i]; /* a negative one is larger than any */
		if (TLC_UNLIKELY(__builtin_mul_overflow(bytes, extent + (extent == 0), &bytes) || bytes > TLC_MOST_BYTES))
			break;
		n *= extent;
	}
	*numel = n;
	return i;
}

/* tlc_measure, out of line. */
int64_t tlc_measure_apart(uint64_t size, int64_t rank, const int64_t* shape, uint64_t* numel)
	__attribute__((visibility("hidden")));

/* Writes a shape, which may be there already, and the strides of elements without gaps. */
static inline void tlc_lay_out(int64_t* to, int64_t* strides, int64_t rank, const int64_t* shape)
{
	uint64_t stride = 1;
	for (int64_t i = rank; i-- > 0;) {
		to[i] = shape[i];
		strides[i] = (int64_t)stride;
		stride *= (uint64_t)tlc_at_least_1(shape[i]);
	}
}

/* Returns the axis whose stride leads out of the address space, together with the strides of the axes before it; -1:
 * there is none. They may be negative: then the data's address is not the lowest one. */
static inline int64_t tlc_check_strides(uint64_t size, int64_t rank, const int64_t* shape, const int64_t* strides)
{
	const uint64_t most = TLC_ADDRESS_SPACE / size;
	uint64_t reach = 0, last;
	for (int64_t i = 0; i < rank; i++) {
		const uint64_t steps = (uint64_t)tlc_at_least_1(shape[i]) - 1;
		if (TLC_UNLIKELY(__builtin_mul_overflow(steps, tlc_pace(strides[i]), &last) || last > most)) return i;
		reach += last;
		if (TLC_UNLIKELY(reach > most)) return i;
	}
	return -1;
}

/* The bytes that elements are spread over, and how many of them lie before the first one. No extent is 0. */
static inline uint64_t tlc_span(uint64_t size, int64_t rank, const int64_t* shape, const int64_t* strides,
                                uint64_t* before)
{
	uint64_t span = size;
	*before = 0;
	for (int64_t i = 0; i < rank; i++) {
		const uint64_t way = ((uint64_t)shape[i] - 1) * tlc_pace(strides[i]) * size;
		span += way;
		if (strides[i] < 0) *before += way;
	}
	return span;
}

/* What a shape and strides come to. */
typedef struct tlc_total {
	uint64_t numel;
	uint64_t gaps; /* 0: none, and no other order than row-major; strides of axes of one element say nothing of that */
} tlc_total;

/* Nor do strides of arrays without elements. */
static inline bool tlc_is_contiguous(tlc_total t) { return t.gaps == 0 || t.numel == 0; }

static inline tlc_total tlc_count(int64_t rank, const int64_t* shape, const int64_t* strides)
{
	uint64_t numel = 1, gaps = 0;
	for (int64_t i = rank; i-- > 0;) {
		const int64_t extent = shape[i];
		if (extent != 1) gaps |= (uint64_t)strides[i] ^ numel;
		numel *= (uint64_t)extent;
	}
	return (tlc_total){numel, gaps};
}

/* Whether one element stands under several indices of an axis. Without elements none does. */
static inline bool tlc_repeats(int64_t rank, const int64_t* shape, const int64_t* strides)
{
	bool found = false;
	for (int64_t i = 0; i < rank; i++) {
		if (shape[i] == 0) return false;
		found |= shape[i] > 1 && strides[i] == 0;
	}
	return found;
}

/* What a slice takes of an axis: n elements from first on. */
typedef struct tlc_part {
	int64_t first, n;
} tlc_part;

/* Python's rules: negative positions count from the end, and what lies beyond either end is cut off. A step is not 0. */
tlc_part tlc_any_part(int64_t extent, int64_t start, int64_t stop, int64_t step) __attribute__((visibility("hidden")));

static inline tlc_part tlc_part_of(int64_t extent, int64_t start, int64_t stop, int64_t step)
{
	const bool plain = step == 1 && start >= 0 && start <= stop && stop <= extent;
	return TLC_LIKELY(plain) ? (tlc_part){start, stop - start} : tlc_any_part(extent, start, stop, step);
}
