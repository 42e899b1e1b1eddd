package tensor

// #include "dlpack.h"
import "C"

import "tlruntime/runtime/tensor"

// Go lends memory that C ends, and fills in structs that C ends: it has to know which functions do.
func init() {
	tensor.DLPack.Delete = uintptr(C.tlc_dlpack_delete)
	tensor.DLPack.DeleteLegacy = uintptr(C.tlc_dlpack_delete_legacy)
	tensor.DLPack.End = uintptr(C.tlc_dlpack_end)
	tensor.DLPack.EndLegacy = uintptr(C.tlc_dlpack_end_legacy)
}
