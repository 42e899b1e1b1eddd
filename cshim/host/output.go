package host

// #include "output.h"
import "C"

import (
	"syscall"
	"unsafe"

	"tlruntime/runtime/output"
)

func init() {
	output.System.Tell = func(text []byte) {
		C.tlc_tell_text(unsafe.Pointer(unsafe.SliceData(text)), C.size_t(len(text)))
	}
	output.System.Write = func(file int, text []byte, offset int64) (int, error) {
		var failed C.int
		n := C.tlc_write_file(C.int(file), unsafe.Pointer(unsafe.SliceData(text)), C.size_t(len(text)),
			C.int64_t(offset), &failed)
		if failed != 0 {
			return int(n), syscall.Errno(failed)
		}
		return int(n), nil
	}
}
