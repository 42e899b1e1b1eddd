// # Tensors between processes
//
// A tensor of the device TL_DEVICE_SHARED lies in memory of its own, a file
// without a name (memfd), that other processes of the machine can map. One
// process describes the tensor in a tl_tensor_shared, sends the struct and the
// descriptor in it over a Unix socket (SCM_RIGHTS), and the other opens a
// tensor over the same memory. Nothing is copied.
//
//	tl_tensor* t = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_SHARED, 2, shape);
//	tl_tensor_shared s = {.struct_size = sizeof s};
//	tl_tensor_share(t, 0, &s);
//	send(socket, &s, s.fd); close(s.fd);
//
//	receive(socket, &s, &s.fd);                   in the other process
//	tl_tensor* same = tl_tensor_open(&s); close(s.fd);
//
// Each process counts its references to its own tensor. The kernel counts who
// has the memory, so it goes with the last process that has it, also when
// processes are killed. The memory is sealed: no process can shrink it under
// another, and a tensor that was opened can be read and written without a fault
// whatever its sender does. What it contains may change at any time, as long
// as somebody else has it mapped for writing.
package main

import "C"

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tl_tensor_shared describes a tensor to another process of the machine. It has
// no pointers and may be sent as it is. The number of a descriptor means
// something to one process only: send the descriptor with SCM_RIGHTS, and set
// fd to the number that arrives.
//
//	C: typedef struct tl_tensor_shared {
//	    size_t struct_size; /* sizeof(tl_tensor_shared) */
//	    int32_t fd;         /* of the memory */
//	    uint32_t flags;     /* 0, or TL_TENSOR_FLAG_READ_ONLY */
//	    uint64_t offset;    /* of the first element, in bytes from the start of the memory */
//	    int32_t dtype;      /* a tl_dtype */
//	    int32_t rank;
//	    int64_t shape[8];   /* rank extents, then zeros */
//	    int64_t strides[8]; /* rank distances, in elements */
//	} tl_tensor_shared;
const _ = "tl_tensor_shared"

// tl_tensor_share describes a tensor of TL_DEVICE_SHARED, or a view of one, for
// tl_tensor_open in another process. With TL_TENSOR_FLAG_READ_ONLY the kernel
// lets no process map the memory for writing from now on; those that have it
// mapped so already, this one too, go on writing. Memory that was shared so is
// read-only to all later receivers, which flags in *out_shared tells.
//
//	C: tl_status tl_tensor_share(const tl_tensor* tensor, uint32_t flags, tl_tensor_shared* out_shared);
//
// Ownership: out_shared->fd is a new descriptor, closed by exec, that the caller
// closes with close(). The memory exists until it is closed, even if the tensor
// is gone.
// Returns: TL_OK, or why nothing was shared.
// Errors: TL_E_INVALID_ARGUMENT (NULL, a struct_size that is too small, other
// flags, a header that was overwritten), TL_E_UNKNOWN_POINTER,
// TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_UNSUPPORTED (not a tensor, or one
// whose memory other processes cannot map), TL_E_OUT_OF_MEMORY (no file
// descriptor is left), TL_E_DEVICE (the kernel cannot make memory read-only).
// Cost: slow call; four system calls; works in a child of fork().
// Path: fast.
//
//export tlgo_tensor_share
func tlgo_tensor_share(c, t uintptr, flags uint32, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return shareTensor(o, t, flags, out) })
}

// tl_tensor_open returns a tensor over the memory that another process has
// shared. The sender need not be trusted: before the memory is mapped, the
// library makes sure that it is a memory file that cannot shrink and that it
// has room for every element. The tensor is read-only if flags say so, or if
// the descriptor cannot be mapped for writing; a write to its memory is then a
// fault. Only the pages with the elements are mapped, and they count for the
// limits of this process.
//
//	C: tl_tensor* tl_tensor_open(const tl_tensor_shared* shared);
//
// Ownership: the descriptor stays the caller's, who may close it at once; the
// tensor has one of its own. The current scope holds the tensor.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL, a struct_size that is too small, no such
// dtype, rank not 0 to 8, negative or overflowing extents or strides, other
// flags, elements outside the memory, an offset that is no multiple of the
// element size, a descriptor that is not open, is no memory file, or is not
// sealed), TL_E_OUT_OF_MEMORY (a limit, or no file descriptor or mapping is
// left), TL_E_DEVICE (the system has no shared memory), TL_E_ARENA_EXHAUSTED
// (the scope stack is full).
// Cost: slow call; seven system calls, whatever the size; works in a child of fork().
// Path: fast.
//
//export tlgo_tensor_open
func tlgo_tensor_open(c, shared uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return openTensor(o, shared) })
}

// knowsShared checks that at is a tl_tensor_shared of the caller.
func knowsShared(o *object.Context, at uintptr) bool {
	if !usable(at) {
		fail(o, status.InvalidArgument, "a tl_tensor_shared is needed, not NULL")
		return false
	}
	if size := load[uintptr](at); size < unsafe.Sizeof(tl_tensor_shared{}) {
		fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(tl_tensor_shared)", size)
		return false
	}
	return true
}

func shareTensor(o *object.Context, t uintptr, flags uint32, out uintptr) status.Status {
	if flags&^layout.TensorReadOnly != 0 {
		return fail(o, status.InvalidArgument, "flags are %#x; the only one is TL_TENSOR_FLAG_READ_ONLY", flags)
	}
	if !knowsShared(o, out) {
		return status.InvalidArgument
	}
	s, st := tensor.Share(o, t, flags != 0)
	if st == status.OK {
		store(out, tl_tensor_shared(s))
	}
	return st
}

func openTensor(o *object.Context, at uintptr) uintptr {
	if !knowsShared(o, at) {
		return 0
	}
	return tensor.Open(o, tensor.Shared(load[tl_tensor_shared](at)), at)
}
