/* What dlpack.h declares, under its names: the tests are its other users. */
#pragma once

#include <stdint.h>

typedef struct DLDevice {
	int32_t device_type, device_id;
} DLDevice;

typedef struct DLDataType {
	uint8_t code, bits;
	uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
	void* data;
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t* shape;
	int64_t* strides;
	uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
	DLTensor dl_tensor;
	void* manager_ctx;
	void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

typedef struct DLPackVersion {
	uint32_t major, minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
	DLPackVersion version;
	void* manager_ctx;
	void (*deleter)(struct DLManagedTensorVersioned* self);
	uint64_t flags;
	DLTensor dl_tensor;
} DLManagedTensorVersioned;

enum { DL_READ_ONLY = 1, DL_COPIED = 2 };
enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4 };
