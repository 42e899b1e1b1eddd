/* DLPack's structs: the ABI of version 1, which every producer and consumer has in common. dlpack.h is not included: the
 * tags are not those of the public header, so that a program may include both. */
#pragma once

#include "shapes.h"

enum { TL_DL_MAJOR = 1, TL_DL_MINOR = 3 };

/* DLPack's kinds of devices, as far as their addresses mean something here. */
enum { TL_DL_CPU = 1, TL_DL_CUDA = 2, TL_DL_CPU_PINNED = 3, TL_DL_OPENCL = 4, TL_DL_METAL = 8 };

#define TL_DL_READ_ONLY 1u
#define TL_DL_COPIED 2u

typedef struct tl_dl_type {
	uint8_t code, bits;
	uint16_t lanes;
} tl_dl_type;

typedef struct tl_dl_tensor {
	void* data;
	int32_t device_type, device_id;
	int32_t ndim;
	tl_dl_type dtype;
	int64_t* shape;
	int64_t* strides; /* in elements; NULL: row-major, from producers before 1.2 */
	uint64_t byte_offset;
} tl_dl_tensor;

/* DLManagedTensorVersioned. An unknown major version may change everything except the fields before the tensor. */
typedef struct tl_dl_versioned {
	uint32_t major, minor;
	void* manager_ctx;
	uintptr_t deleter;
	uint64_t flags;
	tl_dl_tensor tensor;
} tl_dl_versioned;

/* DLManagedTensor, of before DLPack 1.0. */
typedef struct tl_dl_managed {
	tl_dl_tensor tensor;
	void* manager_ctx;
	uintptr_t deleter;
} tl_dl_managed;

_Static_assert(sizeof(tl_dl_tensor) == 48 && sizeof(tl_dl_versioned) == 80 && sizeof(tl_dl_managed) == 64,
               "DLPack's ABI");

/* DLPack's name of an element type; bits 0 = no such dtype. */
extern const tl_dl_type tlc_dl_types[UINT8_MAX + 1] __attribute__((visibility("hidden")));

/* The element type that DLPack calls so; TL_DTYPES: there is none. */
static inline uint32_t tlc_dl_dtype(tl_dl_type type)
{
	uint32_t i = 0;
	while (i < TL_DTYPES && __builtin_memcmp(&tlc_dl_types[i], &type, sizeof type) != 0) i++;
	return TLC_LIKELY(type.bits != 0) ? i : TL_DTYPES;
}

static inline void tlc_dl_describe(tl_dl_tensor* to, tl_tensor_header* held, const tl_dl_tensor* where)
{
	*to = *where;
	to->ndim = held->rank;
	to->dtype = tlc_dl_types[held->dtype];
	to->shape = held->shape;
	to->strides = held->strides;
}

/* Writes the struct of an export, which holds the tensor with this header; where says where its data is. */
static inline void tlc_dl_fill(void* to, tl_tensor_header* held, const tl_dl_tensor* where, bool copied, bool legacy,
                               uintptr_t deleter)
{
	if (legacy) {
		tl_dl_managed* m = to;
		m->manager_ctx = held;
		m->deleter = deleter;
		tlc_dl_describe(&m->tensor, held, where);
		return;
	}
	tl_dl_versioned* m = to;
	m->major = TL_DL_MAJOR;
	m->minor = TL_DL_MINOR;
	m->manager_ctx = held;
	m->deleter = deleter;
	m->flags = copied ? TL_DL_COPIED : (held->flags & TL_TENSOR_READ_ONLY) != 0 ? TL_DL_READ_ONLY : 0;
	tlc_dl_describe(&m->tensor, held, where);
}
