/* DLPack's structs: the ABI of version 1, which every producer and consumer has in common.
 * runtime/tensor/dlpack.go is the Go view, and tensor_dlpack.go compares the two. dlpack.h is not
 * included: the tags are those that the public header declares, so that a program may include both.
 */
#ifndef TL_DLPACK_H
#define TL_DLPACK_H

#include <stdint.h>

#include "tl_runtime.h"

enum { TL_DL_MAJOR = 1, TL_DL_MINOR = 3, TL_DL_CPU = 1, TL_DL_TYPES = 24 };

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

/* An unknown major version may change everything except the fields before the tensor. */
struct DLManagedTensorVersioned {
	uint32_t major, minor;
	void* manager_ctx;
	void (*deleter)(struct DLManagedTensorVersioned* self);
	uint64_t flags;
	tl_dl_tensor tensor;
};

struct DLManagedTensor {
	tl_dl_tensor tensor;
	void* manager_ctx;
	void (*deleter)(struct DLManagedTensor* self);
};

/* DLPack's name of an element type, by tl_dtype; bits 0 = no such dtype. */
extern const tl_dl_type tlc_dl_types[TL_DL_TYPES] __attribute__((visibility("hidden")));

#pragma GCC visibility push(hidden)

/* tl_tensor_to_dlpack and tl_tensor_to_dlpack_legacy for another function. */
struct DLManagedTensorVersioned* tlc_to_dlpack(tl_tensor* tensor, bool copy, uint32_t function);
struct DLManagedTensor* tlc_to_dlpack_legacy(tl_tensor* tensor, bool copy, uint32_t function);

/* The deleters of what tl_tensor_to_dlpack made; consumers call them. */
void tlc_dlpack_delete(struct DLManagedTensorVersioned* self);
void tlc_dlpack_delete_legacy(struct DLManagedTensor* self);

/* A tensor over memory of the CPU, which the current scope holds; end(data, managed) ends it. NULL: ask Go, nothing
 * changed. flags may have TL_TENSOR_READ_ONLY (tensor_borrowed.c). */
tl_tensor* tlc_borrow(const tl_dl_tensor* from, uint32_t flags, tl_deleter end, void* managed);

/* tl_deleters of imported tensors: call the producer's. */
void tlc_dlpack_end(void* data, void* managed);
void tlc_dlpack_end_legacy(void* data, void* managed);

#pragma GCC visibility pop

#endif
