package cshim

/*
#include "tensor_dlpack.h"

enum {
	tlc_dl_size_type = sizeof(tl_dl_type),
	tlc_dl_size_tensor = sizeof(tl_dl_tensor),
	tlc_dl_at_ndim = offsetof(tl_dl_tensor, ndim),
	tlc_dl_at_dtype = offsetof(tl_dl_tensor, dtype),
	tlc_dl_at_strides = offsetof(tl_dl_tensor, strides),
	tlc_dl_at_byte_offset = offsetof(tl_dl_tensor, byte_offset),
	tlc_dl_size_versioned = sizeof(struct DLManagedTensorVersioned),
	tlc_dl_at_deleter = offsetof(struct DLManagedTensorVersioned, deleter),
	tlc_dl_at_tensor = offsetof(struct DLManagedTensorVersioned, tensor),
	tlc_dl_size_legacy = sizeof(struct DLManagedTensor),
	tlc_dl_at_legacy_deleter = offsetof(struct DLManagedTensor, deleter),
};
*/
import "C"

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/tensor"
)

// An array type that names what C has is assigned one that names what Go has: where the
// two views of DLPack's structs differ the build stops and shows both.
var _ [C.tlc_dl_size_type]struct{} = [unsafe.Sizeof(tensor.DLType{})]struct{}{}
var _ [C.tlc_dl_size_tensor]struct{} = [unsafe.Sizeof(tensor.DLTensor{})]struct{}{}
var _ [C.tlc_dl_at_ndim]struct{} = [unsafe.Offsetof(tensor.DLTensor{}.Ndim)]struct{}{}
var _ [C.tlc_dl_at_dtype]struct{} = [unsafe.Offsetof(tensor.DLTensor{}.Dtype)]struct{}{}
var _ [C.tlc_dl_at_strides]struct{} = [unsafe.Offsetof(tensor.DLTensor{}.Strides)]struct{}{}
var _ [C.tlc_dl_at_byte_offset]struct{} = [unsafe.Offsetof(tensor.DLTensor{}.ByteOffset)]struct{}{}
var _ [C.tlc_dl_size_versioned]struct{} = [unsafe.Sizeof(tensor.DLManagedVersioned{})]struct{}{}
var _ [C.tlc_dl_at_deleter]struct{} = [unsafe.Offsetof(tensor.DLManagedVersioned{}.Delete)]struct{}{}
var _ [C.tlc_dl_at_tensor]struct{} = [unsafe.Offsetof(tensor.DLManagedVersioned{}.Tensor)]struct{}{}
var _ [C.tlc_dl_size_legacy]struct{} = [unsafe.Sizeof(tensor.DLManaged{})]struct{}{}
var _ [C.tlc_dl_at_legacy_deleter]struct{} = [unsafe.Offsetof(tensor.DLManaged{}.Delete)]struct{}{}
var _ [C.TL_DL_MAJOR]struct{} = [tensor.DLMajor]struct{}{}
var _ [C.TL_DL_MINOR]struct{} = [tensor.DLMinor]struct{}{}
var _ [C.TL_DL_CPU]struct{} = [tensor.DLCPU]struct{}{}
var _ [C.TL_DL_READ_ONLY]struct{} = [tensor.DLReadOnly]struct{}{}
var _ [C.TL_DL_COPIED]struct{} = [tensor.DLCopied]struct{}{}

// Go fills in structs that C ends, and lends memory that C ends: it has to know
// which functions do.
func init() {
	tensor.DLPack.Types = layout.Slice[tensor.DLType](uintptr(unsafe.Pointer(&C.tlc_dl_types[0])), C.TL_DL_TYPES)
	tensor.DLPack.Delete = uintptr(C.tlc_dlpack_delete)
	tensor.DLPack.DeleteLegacy = uintptr(C.tlc_dlpack_delete_legacy)
	tensor.DLPack.End = uintptr(C.tlc_dlpack_end)
	tensor.DLPack.EndLegacy = uintptr(C.tlc_dlpack_end_legacy)
}
