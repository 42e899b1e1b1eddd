// # Tensors
//
// A tensor is a header (element type, device, shape, strides) and data. Headers
// are objects of the runtime like any other; the data is either the tensor's
// own or a borrowed buffer, for which the lender may give a deleter.
//
// Tensors are large and cross threads, and their memory has to be reusable as
// soon as the last reference is dropped. So a tensor has no owning thread:
// every thread counts it with one atomic operation, and the thread that drops
// the last reference frees it.
//
// The tensors that new, empty, zeros, from_buffer, wrap and clone return are
// registered in the current scope. A tensor in a slot has no heap memory at
// all: header and data stand in the function's frame, which owns it, and
// tl_tensor_prepare_return copies it out when it has to outlive the function.
//
// A shape has at most eight dimensions.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tl_tensor is a tensor. Functions return its properties.
//
//	C: typedef struct tl_tensor tl_tensor;
const _ = "tl_tensor"

// tl_dtype lists the element types. The first seven are those of the TL
// compiler; the numbers are fixed for ever.
//
//	C: enum tl_dtype {
//	    TL_DTYPE_F32 = 0,
//	    TL_DTYPE_F64 = 1,
//	    TL_DTYPE_I32 = 2,
//	    TL_DTYPE_I64 = 3,
//	    TL_DTYPE_U8 = 4,
//	    TL_DTYPE_F16 = 5,
//	    TL_DTYPE_BF16 = 6,
//	    TL_DTYPE_BOOL = 16, /* one byte, 0 or 1 */
//	    TL_DTYPE_I8 = 17,
//	    TL_DTYPE_I16 = 18,
//	    TL_DTYPE_U16 = 19,
//	    TL_DTYPE_U32 = 20,
//	    TL_DTYPE_U64 = 21,
//	    TL_DTYPE_C64 = 22, /* two f32 */
//	    TL_DTYPE_C128 = 23 /* two f64 */
//	};
const _ = "tl_dtype"

// tl_device lists the numbers of devices that every build knows.
//
//	C: enum tl_device {
//	    TL_DEVICE_DEFAULT = -1, /* the one that the option TL_DEVICE names */
//	    TL_DEVICE_CPU = 0,
//	    TL_DEVICE_SHARED = 1 /* memory of the CPU that other processes can map */
//	};
const _ = "tl_device"

// tl_deleter frees a borrowed buffer. The runtime calls it once, with the
// address and the ctx that were given with the buffer, when the last reference
// is dropped.
//
//	C: typedef void (*tl_deleter)(void* ptr, void* ctx);
const _ = "tl_deleter"

// tl_tensor_flag lists the bits of tl_tensor_info.flags.
//
//	C: enum tl_tensor_flag {
//	    TL_TENSOR_FLAG_CONTIGUOUS = 1, /* the elements lie in row-major order without gaps */
//	    TL_TENSOR_FLAG_IN_SLOT = 2,    /* the tensor stands in a slot of a frame, which owns it */
//	    TL_TENSOR_FLAG_LENT = 4,       /* the memory is a borrowed buffer */
//	    TL_TENSOR_FLAG_VIEW = 8,       /* the memory belongs to base */
//	    TL_TENSOR_FLAG_READ_ONLY = 16, /* the lender does not allow writes */
//	    TL_TENSOR_FLAG_ON_DEVICE = 32, /* the memory is a block of the device, or of its default pool */
//	    TL_TENSOR_FLAG_BLOCK = 64      /* the memory of a block of a sparse matrix */
//	};
const _ = "tl_tensor_flag"

// tl_tensor_info describes a tensor: tl_tensor_info_get fills it in,
// tl_tensor_wrap reads it. New versions add fields at the end; struct_size
// tells the library which fields the caller knows.
//
//	C: typedef struct tl_tensor_info {
//	    size_t struct_size;     /* sizeof(tl_tensor_info) */
//	    void* data;             /* the first element; NULL without elements */
//	    const int64_t* shape;   /* rank extents; valid while the tensor is held */
//	    const int64_t* strides; /* rank distances, in elements */
//	    int64_t numel;          /* elements */
//	    size_t nbytes;          /* bytes of the elements */
//	    int32_t dtype;          /* tl_dtype */
//	    int32_t device;
//	    int32_t rank;
//	    uint32_t flags;         /* of tl_tensor_flag */
//	    tl_tensor* base;        /* of a view: the tensor whose memory it shares; else NULL */
//	} tl_tensor_info;
const _ = "tl_tensor_info"

// tl_tensor_new returns an f32 tensor on the CPU with a copy of data.
//
//	C: tl_tensor* tl_tensor_new(const float* data, int64_t rank, const int64_t* shape);
//
// Ownership: the current scope holds the reference; data stays the caller's.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL data or shape, rank not 0 to 8, negative
// or overflowing extents), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; tl_tensor_empty and a copy.
//
//export tlgo_tensor_new
func tlgo_tensor_new(c, data uintptr, rank int64, shape uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.New(o, data, rank, shape) })
}

// tl_tensor_new_i64 returns an i64 tensor on the CPU with a copy of data.
//
//	C: tl_tensor* tl_tensor_new_i64(const int64_t* data, int64_t rank, const int64_t* shape);
//
// As: tl_tensor_new.
//
//export tlgo_tensor_new_i64
func tlgo_tensor_new_i64(c, data uintptr, rank int64, shape uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.NewI64(o, data, rank, shape) })
}

// tl_tensor_empty returns a contiguous tensor with undefined contents. Rank 0 is
// a scalar. On a device other than the CPU the data is a block of its default
// memory pool, and the tensor comes from the device tensor cache if that has one
// of the key.
//
//	C: tl_tensor* tl_tensor_empty(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape);
//
// Ownership: the current scope holds the reference; the caller borrows.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such dtype, rank not 0 to 8, NULL shape,
// negative or overflowing extents), TL_E_DEVICE (no such device, or its driver
// failed), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; about 20 ns; on other devices a slow call.
//
//export tlgo_tensor_empty
func tlgo_tensor_empty(c uintptr, dtype, device int32, rank int64, shape uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.Empty(o, dtype, device, rank, shape) })
}

// tl_tensor_new_zeroed is tl_tensor_empty with every element 0.
//
//	C: tl_tensor* tl_tensor_new_zeroed(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape);
//
// Ownership: the current scope holds the reference; the caller borrows.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such dtype, rank not 0 to 8, NULL shape,
// negative or overflowing extents), TL_E_DEVICE (no such device, or its driver
// failed), TL_E_UNSUPPORTED (a device of the program's own that cannot copy),
// TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; tl_tensor_empty and a memset.
//
//export tlgo_tensor_new_zeroed
func tlgo_tensor_new_zeroed(c uintptr, dtype, device int32, rank int64, shape uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.NewZeroed(o, dtype, device, rank, shape) })
}

// tl_tensor_from_buffer returns a tensor over the caller's memory, without a
// copy. strides count elements and may be NULL for a contiguous buffer; deleter
// may be NULL when the memory outlives the tensor.
//
//	C: tl_tensor* tl_tensor_from_buffer(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape, void* data, const int64_t* strides, tl_deleter deleter, void* ctx);
//
// Ownership: the tensor takes data and frees it with deleter(data, ctx); when the call
// fails data stays the caller's. The current scope holds the tensor.
// Threads: any thread; the deleter runs on the one that drops the last reference.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such dtype, rank not 0 to 8, NULL shape, NULL data
// although there are elements, negative or overflowing extents, overflowing strides),
// TL_E_DEVICE (no such device), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope
// stack is full).
// Cost: fast; about 40 ns with its release, for memory of the CPU; a slow call for that of other devices.
//
//export tlgo_tensor_from_buffer
func tlgo_tensor_from_buffer(c uintptr, dtype, device int32, rank int64, shape, data, strides, deleter,
	ctx uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.Borrow(o, tensor.Borrowed{Dtype: dtype, Device: device, Rank: rank, Shape: shape,
			Strides: strides,
			Data:    data, Deleter: deleter, Context: ctx})
	})
}

// tl_tensor_wrap is tl_tensor_from_buffer with the description in a struct,
// which can also mark the memory as read-only. The function reads these fields
// of info: data, shape, strides (NULL: row-major), dtype, device, rank, and of
// flags TL_TENSOR_FLAG_READ_ONLY.
//
//	C: tl_tensor* tl_tensor_wrap(const tl_tensor_info* info, tl_deleter deleter, void* ctx);
//
// Ownership: data has to stay valid until the runtime calls deleter(data, ctx), once,
// after the last reference; deleter may be NULL. On failure data stays the caller's.
// The current scope holds the tensor.
// Threads: any thread; the deleter runs on the one that drops the last reference.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL info or a struct_size that is too small, no
// such dtype, rank not 0 to 8, NULL shape, NULL data although there are
// elements, negative or overflowing extents, overflowing strides), TL_E_DEVICE
// (no such device), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack
// is full).
// Cost: fast; as tl_tensor_from_buffer.
//
//export tlgo_tensor_wrap
func tlgo_tensor_wrap(c, info, deleter, ctx uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return wrapTensor(o, info, deleter, ctx) })
}

// tl_tensor_in_slot returns a contiguous CPU tensor whose header and data stand
// in a slot of the newest function frame. Contents are undefined at first; in
// the next iteration of a loop the slot still holds what the previous one left
// there. A tensor that is larger than the slot's buffer gets a larger buffer as
// tl_mem_get_buffer says: at the same address, or elsewhere without contents. At
// the same address it takes the place of the tensor before it.
//
//	C: tl_tensor* tl_tensor_in_slot(int64_t slot, int32_t dtype, int64_t rank, const int64_t* shape);
//
// Ownership: the frame owns the tensor until tl_mem_function_exit.
// Threads: the calling thread's frames.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such dtype, rank not 0 to 8, NULL shape,
// negative or overflowing extents), TL_E_NO_FRAME, TL_E_SLOT_OUT_OF_RANGE,
// TL_E_ARENA_EXHAUSTED (the frame stack is full).
// Cost: grows; about 10 ns, no allocation.
//
//export tlgo_tensor_in_slot
func tlgo_tensor_in_slot(c uintptr, slot int64, dtype int32, rank int64, shape uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.InSlot(o, slot, dtype, rank, shape) })
}

// tl_tensor_clone returns a contiguous copy of a tensor on the same device.
//
//	C: tl_tensor* tl_tensor_clone(const tl_tensor* tensor);
//
// Ownership: the current scope holds the copy; the caller borrows.
// Threads: any thread, while no other writes the tensor.
// Returns: the copy, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or a device that cannot copy), TL_E_DEVICE
// (its driver failed), TL_E_INVALID_ARGUMENT (a borrowed buffer that is not
// memory of its device), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope
// stack is full).
// Cost: fast; tl_tensor_empty and a copy: of elements with gaps between them about 0.3 ns each while they are in a
// cache.
// Refuses: tensor.
// Null: NULL.
//
//export tlgo_tensor_clone
func tlgo_tensor_clone(c, t uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.Clone(o, t) })
}

// tl_tensor_acquire adds one reference to a tensor.
//
//	C: tl_tensor* tl_tensor_acquire(tl_tensor* tensor);
//
// Ownership: the caller holds the new reference and gives it back with
// tl_tensor_release.
// Returns: its argument, always; tl_last_status tells whether it was live, if
// tl_clear_error was called before.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; one compare-and-swap.
// Fails: tensor.
// Refuses: tensor.
// Null: tensor.
// LLVM: returned 0.
//
//export tlgo_tensor_acquire
func tlgo_tensor_acquire(c, t uintptr) uintptr {
	return guarded(c, t, func(o *object.Context) uintptr {
		tensor.Acquire(o, t)
		return t
	})
}

// tl_tensor_release drops one reference. At zero the memory returns to the heap,
// on a device to its tensor cache, or the deleter is called.
//
//	C: tl_status tl_tensor_release(tl_tensor* tensor);
//
// Ownership: takes one reference of the caller's.
// Returns: TL_OK, or why nothing was released.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; one compare-and-swap, about 20 ns more for the last one.
// Refuses: tensor.
// Null: TL_OK.
//
//export tlgo_tensor_release
func tlgo_tensor_release(c, t uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return tensor.Release(o, t) })
}

// tl_tensor_release_safe is tl_tensor_release under another name that the TL
// compiler emits.
//
//	C: tl_status tl_tensor_release_safe(tl_tensor* tensor);
//
// As: tl_tensor_release.
// Cost: fast; that of tl_tensor_release.
//
//export tlgo_tensor_release_safe
func tlgo_tensor_release_safe(c, t uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return tensor.Release(o, t) })
}

// tl_tensor_register puts a reference into the current scope: a floating
// reference of the tensor if it has one, else a new one.
//
//	C: tl_status tl_tensor_register(tl_tensor* tensor);
//
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor), TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; about 10 ns.
//
//export tlgo_tensor_register
func tlgo_tensor_register(c, t uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return tensor.Register(o, t) })
}

// tl_tensor_promote removes the newest entry of a tensor from the scopes of
// this function, as tl_mem_unregister does. The reference of this entry floats
// from then on. Use tl_tensor_prepare_return for a tensor that may stand in a
// slot.
//
//	C: tl_status tl_tensor_promote(tl_tensor* tensor);
//
// Ownership: the scope's reference passes to the caller, floating.
// Threads: the calling thread's scopes.
// Returns: TL_OK, or why nothing was taken out.
// Errors: TL_E_NOT_REGISTERED (live, but not in these scopes),
// TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_UNSUPPORTED
// (not a tensor, or one in a slot), TL_E_OVERFLOW (fifteen references float
// already).
// Cost: slow call; that of tl_mem_unregister.
// Refuses: tensor.
// Null: TL_OK.
//
//export tlgo_tensor_promote
func tlgo_tensor_promote(c, t uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return tensor.Promote(o, t) })
}

// tl_tensor_finalize does nothing, because scopes release tensors. It exists
// because the TL compiler emits it.
//
//	C: tl_status tl_tensor_finalize(tl_tensor* tensor);
//
// Ownership: unchanged.
// Returns: TL_OK.
// Errors: none.
//
//export tlgo_tensor_finalize
func tlgo_tensor_finalize(c, t uintptr) int32 {
	return guardedStatus(c, func(*object.Context) status.Status { return status.OK })
}

// tl_tensor_prepare_return makes a tensor ready to be returned from the
// function that made it. It removes the tensor from the function's scopes, or
// copies it to the heap when it stands in a slot.
//
//	C: tl_tensor* tl_tensor_prepare_return(tl_tensor* tensor);
//
// Ownership: the returned tensor floats; its receiver registers it.
// Threads: the calling thread's scopes.
// Returns: the tensor to return: the argument, or the copy of a tensor in a slot. The
// argument is also returned when it stands in none of the scopes, and when the call
// refuses it. NULL when the copy failed, and with TL_E_FORKED and TL_E_BUSY.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor), TL_E_OVERFLOW (fifteen references float
// already), TL_E_OUT_OF_MEMORY.
// Cost: fast; that of tl_mem_unregister, and a copy for a tensor in a slot.
//
//export tlgo_tensor_prepare_return
func tlgo_tensor_prepare_return(c, t uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.PrepareReturn(o, t) })
}

// tl_tensor_free releases a tensor that may still stand in a scope. It removes
// the newest entry that the scopes of this function have for the tensor, if
// there is one, and releases the reference, so that the exit of the scope does
// not release it again. A tensor in a slot stays as it is, because the frame
// owns it.
//
//	C: tl_status tl_tensor_free(tl_tensor* tensor);
//
// Ownership: takes the scope's reference, else one of the caller's.
// Threads: any thread; the calling thread's scopes.
// Returns: TL_OK, or why nothing was released.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; tl_mem_unregister and tl_tensor_release.
// Refuses: tensor.
// Null: TL_OK.
//
//export tlgo_tensor_free
func tlgo_tensor_free(c, t uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return tensor.Free(o, t) })
}
