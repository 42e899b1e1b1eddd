package main

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tensorInfoBytes is the struct in its first form, which every caller knows.
const tensorInfoBytes = unsafe.Sizeof(tl_tensor_info{})

// knowsInfo checks that info is a tl_tensor_info of the caller.
func knowsInfo(o *object.Context, info uintptr) bool {
	if !usable(info) {
		fail(o, status.InvalidArgument, "a tl_tensor_info is needed, not NULL")
		return false
	}
	if size := load[uintptr](info); size < tensorInfoBytes {
		fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(tl_tensor_info)", size)
		return false
	}
	return true
}

// fillTensorInfo describes the tensor at t in the caller's struct.
func fillTensorInfo(o *object.Context, t, out uintptr) status.Status {
	if !knowsInfo(o, out) {
		return status.InvalidArgument
	}
	h, st := tensor.Describe(o, t)
	if st != status.OK {
		return st
	}
	info := tl_tensor_info{StructSize: tensorInfoBytes}
	if t != 0 {
		info = tl_tensor_info{
			StructSize: tensorInfoBytes, Data: h.Data, Numel: int64(h.Numel), Nbytes: uintptr(h.Nbytes),
			Shape:   t + unsafe.Offsetof(h.Shape),
			Strides: t + unsafe.Offsetof(h.Strides),
			Dtype:   int32(h.Dtype), Device: int32(h.Device), Rank: int32(h.Rank), Flags: h.Flags, Base: h.Base,
		}
	}
	for i, word := range layout.Slice[uint64](layout.Address(&info), uint64(tensorInfoBytes)/8) {
		store(out+uintptr(i)*8, word)
	}
	return status.OK
}

// wrapTensor makes a tensor over the memory that a tl_tensor_info describes.
func wrapTensor(o *object.Context, at, deleter, ctx uintptr) uintptr {
	if !knowsInfo(o, at) {
		return 0
	}
	info := load[tl_tensor_info](at)
	return tensor.Borrow(o, tensor.Borrowed{
		Dtype: info.Dtype, Device: info.Device, Rank: int64(info.Rank), Shape: info.Shape, Strides: info.Strides,
		Data: info.Data, ReadOnly: info.Flags&layout.TensorReadOnly != 0, Deleter: deleter, Context: ctx,
	})
}
