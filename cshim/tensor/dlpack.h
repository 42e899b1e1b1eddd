/* DLPack between C's files: who ends what. */
#pragma once

#include "../shapes/dlpack.h"
#include "tl_runtime.h"

#pragma GCC visibility push(hidden)

/* tl_tensor_to_dlpack, or tl_tensor_to_dlpack_legacy, for another function. */
void* tlc_to_dlpack(tl_tensor* tensor, bool copy, bool legacy, uint32_t function);

/* The deleters of what these made; consumers call them. */
void tlc_dlpack_delete(void* self);
void tlc_dlpack_delete_legacy(void* self);

/* A tensor over memory of the CPU, which the current scope holds; end(data, managed) ends it. NULL: ask Go, nothing
 * changed. flags may have TL_TENSOR_READ_ONLY (borrowed.c). */
tl_tensor* tlc_borrow(const tl_dl_tensor* from, uint32_t flags, tl_deleter end, void* managed);

/* tl_deleters of imported tensors: call the producer's. */
void tlc_dlpack_end(void* data, void* managed);
void tlc_dlpack_end_legacy(void* data, void* managed);

#pragma GCC visibility pop
