/* What the tests of limits share: figures of an account, and limits that end. */
#pragma once

#include "check.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

static inline tl_mem_usage_info usage(int32_t device)
{
	tl_mem_usage_info info;
	memset(&info, 0, sizeof info);
	info.struct_size = sizeof info;
	CHECK_OK(tl_mem_usage(device, &info));
	CHECK_INT(info.struct_size, sizeof info);
	CHECK_INT(info.in_use + info.cached, info.reserved);
	CHECK(info.peak >= info.reserved);
	return info;
}

static inline uint64_t reserved(int32_t device) { return usage(device).reserved; }

/* A limit that leaves room for so many bytes more than are held now. */
static inline void leave_room(int32_t device, uint64_t bytes)
{
	CHECK_OK(tl_mem_set_limit(device, 0, reserved(device) + bytes));
}

static inline void no_limits(void)
{
	CHECK_OK(tl_mem_set_limit(TL_MEM_TOTAL, 0, 0));
	CHECK_OK(tl_mem_set_limit(TL_MEM_OWN_ALLOCATORS, 0, 0));
	CHECK_OK(tl_mem_set_limit(TL_DEVICE_CPU, 0, 0));
	CHECK_OK(tl_mem_set_out_of_memory_callback(NULL, NULL));
	CHECK_OK(tl_mem_purge());
}

static inline bool says(const char* part)
{
	if (strstr(tl_last_error(), part) != NULL) return true;
	fprintf(stderr, "\"%s\" is not in: %s\n", part, tl_last_error());
	return false;
}

/* Tensors of a key in the tensor pool. */
static inline void keep_tensors(int count, int64_t elements)
{
	tl_tensor** held = (tl_tensor**)calloc((size_t)count, sizeof *held);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < count; i++) {
		CHECK((held[i] = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &elements)) != NULL);
		CHECK_OK(tl_tensor_promote(held[i]));
	}
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < count; i++) CHECK_OK(tl_pool_release(held[i], (size_t)elements, TL_DTYPE_U8, TL_DEVICE_CPU));
	free(held);
}
